// What the probe banks shows. Of one warp's loads, each waited for:
//   bank latency                a load of words in 32 different banks
//   bank latency, random words  a load of words of a random order
//   bank conflict cycles        what each lane more in a bank adds: (32 lanes in one - none) / 31
// Of all warps that fit:
//   bank passes, random words   how many times longer than words without a conflict these take. It is compared with the
//                               largest of 32 bins that get 32 balls.
#include <cmath>

#include "netpipe/model/probes/derivation.hpp"
#include "netpipe/model/probes/probe_rates.hpp"
#include "npgpu/laws.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu::model {

namespace {

constexpr std::uint32_t in_steps = 1, in_any_bank_once = 2, at_random = 3, lanes_of_warp = 32;
constexpr std::uint64_t bytes_of_pattern = 128;
// What is drawn is not what is expected: the mean of 256 patterns is within 3 % of it.
constexpr double for_drawn = 0.03;

// With the largest set, of which most patterns were drawn.
const ProbeResult* of_words(const std::vector<ProbeResult>& rates, std::uint32_t rung, std::uint32_t stride = 1) {
  const ProbeResult* best = nullptr;
  for (const ProbeResult& r : rates)
    if (r.axes.rung == rung && r.axes.stride == stride && r.cycle_rate.value > 0 &&
        (!best || r.axes.bytes > best->axes.bytes))
      best = &r;
  return best;
}

Estimate cycles_of(const ProbeResult& r) { return quotient({exactly(1)}, {r.cycle_rate}, "cycles", text_of(r.axes)); }

}  // namespace

void derive_banks(const ProbeSeries& series, DeviceParameters& into) {
  if (!asks(series.question, ProbeQuestion::bank_conflicts)) return;
  const auto rates = rates_of(series);
  const ProbeResult *const free = of_words(rates, in_any_bank_once), *const random = of_words(rates, at_random),
                           *const all = of_words(rates, in_steps, lanes_of_warp);
  const auto add = [&](const char* name, Estimate value, const char* meaning) {
    Parameter p = parameter(name, std::move(value), meaning);
    leave_unchecked(p, not_reported(into.device));
    into.parameters.push_back(std::move(p));
  };
  if (series.question.operation == Operation::read) {
    if (!free || !random) return into.missing.push_back("bank passes, random words: need rungs 2 and 3 of probe banks");
    Parameter p = parameter("bank passes, random words",
                            quotient({free->cycle_rate}, {random->cycle_rate}, "1",
                                     "cycles of random words / cycles without a conflict: " + text_of(random->axes)),
                            "passes of shared memory that a warp's load of random words takes");
    hold_against(p, expected_random_passes(static_cast<unsigned>(random->axes.bytes / bytes_of_pattern)),
                 "the largest of 32 bins that get 32 balls", for_drawn);
    into.parameters.push_back(std::move(p));
    return;
  }
  if (free) add("bank latency", cycles_of(*free), "a load of a warp with each lane in a bank of its own");
  if (random)
    add("bank latency, random words", cycles_of(*random), "a load of a warp with a random word for each lane");
  if (!free || !all)
    return into.missing.push_back("bank conflict cycles: need rung 2, and rung 1 with stride 32, of probe banks");
  const Estimate without = cycles_of(*free), with = cycles_of(*all);
  constexpr double more = lanes_of_warp - 1;
  add("bank conflict cycles",
      {(with.value - without.value) / more, (with.low - without.high) / more, (with.high - without.low) / more,
       "cycles", "(cycles with 32 lanes in one bank - cycles without a conflict) / 31"},
      "what each lane more in a bank adds to a load that is waited for");
}

}  // namespace npgpu::model

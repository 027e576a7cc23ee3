// How many streams: every candidate is simulated, and the fastest taken.
#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "netpipe/simulate/simulator.hpp"

namespace npgpu {

namespace {

// Times that differ by less are rounding of the same time.
constexpr double same = 1e-9;

StreamRun run(model::Simulator& simulator, const Job& job, std::uint32_t n, const StreamCosts& costs, Order order) {
  return simulator.run(job, n, costs, order, nullptr);
}
StreamRun run(model::Simulator& simulator, const Pipeline& pipeline, std::uint32_t n, const StreamCosts& costs,
              Order order) {
  return simulator.run(pipeline, n, costs, order);
}

template <class Work>
Prediction chosen(const Work& work, const StreamCosts& costs, Order order, std::span<const std::uint32_t> candidates) {
  std::vector<std::uint32_t> counts(candidates.begin(), candidates.end());
  if (std::find(counts.begin(), counts.end(), 1u) == counts.end()) counts.insert(counts.begin(), 1);
  model::Simulator simulator;
  Prediction p;
  const StreamTime* best = nullptr;
  Seconds alone{0};
  p.candidates.reserve(counts.size());
  for (const std::uint32_t n : counts) {
    p.candidates.push_back({n, run(simulator, work, n, costs, order)});
    const StreamTime& one = p.candidates.back();
    if (n == 1) alone = one.run.total;
    const double less = best ? best->run.total.count() - one.run.total.count() : 0;
    const double band = best ? same * best->run.total.count() : 0;
    if (!best || less > band || (less >= -band && n < best->streams)) best = &one;
  }
  p.streams = best->streams;
  p.time = best->run.total;
  if (p.time.count() > 0) p.speed_up = alone / p.time;
  std::tie(p.bound, p.bound_time) = busiest(best->run.busy, costs.copy_engines);
  return p;
}

}  // namespace

std::pair<Bound, Seconds> busiest(const Busy& busy, int copy_engines) {
  const std::array<std::pair<Bound, Seconds>, 4> all{
      {{copy_engines == 1 ? Bound::copy_engine : Bound::h2d_engine, busy.copy_in},
       {Bound::d2h_engine, busy.copy_out},  // 0 of one engine
       {Bound::compute, busy.compute},
       {Bound::host_issue, busy.host}}};
  return *std::ranges::max_element(all, {}, &std::pair<Bound, Seconds>::second);
}

std::vector<std::uint32_t> stream_counts(std::uint32_t most) {
  std::vector<std::uint32_t> counts(most);
  std::iota(counts.begin(), counts.end(), 1u);
  return counts;
}

Prediction choose_streams(const Job& job, const StreamCosts& costs, Order order,
                          std::span<const std::uint32_t> candidates) {
  return chosen(job, costs, order, candidates);
}

Prediction choose_streams(const Pipeline& pipeline, const StreamCosts& costs, Order order,
                          std::span<const std::uint32_t> candidates) {
  return chosen(pipeline, costs, order, candidates);
}

}  // namespace npgpu

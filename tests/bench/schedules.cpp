// The adaptive schedule beside the classic one, on the same channel and buffers, so that only the schedule differs:
// for each size adaptive, classic, adaptive, classic ... in as many rounds as asked for. Prints how many points agree
// within 1 %, by their medians over the rounds and round by round; how many classic measurements agree with the next
// round's of their own kind (more than the machine repeats cannot be asked for); and the times.
// Not a test: it needs a quiet machine.
//
//   npgpu_bench_schedules [--rounds N] [ms:tolerance ...]   3 rounds; other trial lengths and tolerances
//   npgpu_bench_schedules --ramp                    how long a device needs to warm up after 3 s of rest
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "npgpu/measuring/runner.hpp"
#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/units.hpp"

using namespace npgpu;

namespace {

struct Result {
  double us = not_measured;
  double wall_s = 0;
};

Result measured(const TransferCase& c, Runner<Transfers>& runner, Schedule& schedule, std::uint64_t bytes) {
  const auto point = measure(runner, schedule, {c, {bytes}}, {});
  std::vector<double> us;
  for (const TransferSample& s : point->samples)
    if (s.lane == 0)
      us.push_back((c.timing == Timing::host ? s.host_us : s.device_us) / static_cast<double>(s.repeats));
  return {median(us), point->visit.wall_us * 1e-6};
}

std::unique_ptr<Runner<Transfers>> open(const TransferCase& c, std::uint64_t bytes) {
  const Step<Transfers> step{c, {bytes}};
  return find_module(c.module)->open({&step, 1});
}

std::vector<TransferCase> cases() {
  if (devices::gpus().empty()) return {case_on("memcpy", "host", Direction::h2h)};
  const auto of = [](Direction d, Memory m, bool async, Timing t) {
    TransferCase c = case_on("cudaMemcpy", devices::default_device(), d);
    c.memory = m;
    c.async = async;
    c.timing = t;
    return c;
  };
  return {of(Direction::h2d, Memory::pinned, true, Timing::gated),
          of(Direction::d2h, Memory::pinned, true, Timing::gated),
          of(Direction::d2d, Memory::device, true, Timing::gated),
          of(Direction::h2d, Memory::pinned, true, Timing::host),
          of(Direction::h2d, Memory::pinned, false, Timing::host),
          of(Direction::d2h, Memory::pinned, false, Timing::host),
          of(Direction::h2d, Memory::pageable, false, Timing::host),
          of(Direction::d2h, Memory::pageable, false, Timing::host)};
}

constexpr std::uint64_t sizes[] = {1, 64, 1024, 12 * KiB, 64 * KiB, 384 * KiB, 2 * MiB, 12 * MiB, 64 * MiB, 192 * MiB};

bool within(double ratio) { return std::abs(ratio - 1) <= 0.01; }

// Shares of points that agree, counted over a whole run.
struct Agreement {
  int medians = 0, singles = 0;
  double wall_s = 0;
};

void compare(const std::vector<AdaptiveOptions>& variants, int rounds) {
  std::vector<Agreement> adaptive(variants.size());
  Agreement classic;
  int points = 0;
  for (const TransferCase& c : cases()) {
    const auto runner = open(c, std::end(sizes)[-1]);
    runner->prepare({c, {64 * KiB}});
    runner->warm_up(Seconds{0.3});
    for (const std::uint64_t bytes : sizes) {
      std::vector<double> reference;
      std::vector<std::vector<double>> found(variants.size());
      for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < variants.size(); ++i) {
          const Result m = measured(c, *runner, *adaptive_schedule(variants[i]), bytes);
          found[i].push_back(m.us);
          adaptive[i].wall_s += m.wall_s;
        }
        const Result m = measured(c, *runner, *classic_schedule(), bytes);
        if (round > 0) classic.singles += within(m.us / reference.back());
        reference.push_back(m.us);
        classic.wall_s += m.wall_s;
      }
      ++points;
      std::printf("%-52s %10llu B %12.4f us", title(c).c_str(), static_cast<unsigned long long>(bytes),
                  median(reference));
      for (std::size_t i = 0; i < variants.size(); ++i) {
        const double ratio = median(found[i]) / median(reference);
        adaptive[i].medians += within(ratio);
        std::printf("  %+6.2f %% (", (ratio - 1) * 100);
        for (int round = 0; round < rounds; ++round) {
          const double one = found[i][round] / reference[round];
          adaptive[i].singles += within(one);
          std::printf("%s%+.2f", round ? " " : "", (one - 1) * 100);
        }
        std::printf(")");
      }
      std::printf(" | classic");
      for (const double us : reference) std::printf(" %+.2f", (us / median(reference) - 1) * 100);
      std::printf("\n");
      std::fflush(stdout);
    }
  }
  const auto share = [](int agree, int of) {
    char text[64];
    std::snprintf(text, sizeof text, "%d of %d (%.1f %%)", agree, of, 100.0 * agree / of);
    return std::string(text);
  };
  std::printf("within 1 %% of classic, %d rounds:\n", rounds);
  for (std::size_t i = 0; i < variants.size(); ++i)
    std::printf(
        "  trial %g ms, tolerance %g %%: medians over the rounds %s, single rounds %s; time %.2f s against %.2f s: "
        "1/%.1f\n",
        variants[i].trial.count() * 1e3, variants[i].tolerance * 100, share(adaptive[i].medians, points).c_str(),
        share(adaptive[i].singles, points * rounds).c_str(), adaptive[i].wall_s, classic.wall_s,
        classic.wall_s / adaptive[i].wall_s);
  if (rounds > 1)
    std::printf("  classic against its own next round: %s\n", share(classic.singles, points * (rounds - 1)).c_str());
}

void ramp() {
  for (const TransferCase& c : cases()) {
    const auto runner = open(c, 64 * KiB);
    for (const std::uint64_t bytes : {std::uint64_t{64}, 64 * KiB}) {
      std::this_thread::sleep_for(std::chrono::seconds(3));
      std::printf("%s %llu B:", title(c).c_str(), static_cast<unsigned long long>(bytes));
      const Seconds begin = steady_clock().now();
      for (Seconds now = begin, shown{0}; now - begin < Seconds{1}; now = steady_clock().now()) {
        const auto schedule = adaptive_schedule({.budget = Seconds{0.005}});
        const Result m = measured(c, *runner, *schedule, bytes);
        if (now - begin >= shown) {
          std::printf(" %.0f ms %.3f us;", (now - begin).count() * 1e3, m.us);
          shown = (now - begin) * 1.6 + Seconds{0.005};
        }
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc > 1 && std::string(argv[1]) == "--ramp") {
    ramp();
    return exit_code::done;
  }
  std::vector<AdaptiveOptions> variants;
  int rounds = 3;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--rounds" && i + 1 < argc) {
      rounds = std::max(1, std::atoi(argv[++i]));
      continue;
    }
    AdaptiveOptions variant;
    double ms = 0;
    if (std::sscanf(argv[i], "%lf:%lf", &ms, &variant.tolerance) != 2)
      throw Error(ErrorKind::usage, std::string("'") + argv[i] + "' is no ms:tolerance");
    variant.trial = Seconds{ms / 1e3};
    variants.push_back(variant);
  }
  if (variants.empty()) variants.push_back({});
  compare(variants, rounds);
  return exit_code::done;
} catch (const Error& e) {
  std::fprintf(stderr, "npgpu_bench_schedules: %s\n", e.what());
  return exit_code_of(e.kind());
}

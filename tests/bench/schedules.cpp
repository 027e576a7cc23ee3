// The adaptive schedule beside the classic one, on the same channel and buffers, so that only the schedule differs:
// for each size adaptive, classic, adaptive, classic. Prints how many points agree within 1 % with the first classic
// run, how many of the second classic run do (more than the machine repeats cannot be asked for), and the times.
// Not a test: it needs a quiet machine.
//
//   npgpu_bench_schedules [ms:tolerance ...]        other trial lengths and tolerances of the adaptive schedule
//   npgpu_bench_schedules --ramp                    how long a device needs to warm up after 3 s of rest
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "npgpu/engine.hpp"
#include "npgpu/error.hpp"
#include "npgpu/module.hpp"

using namespace npgpu;

namespace {

struct Measured {
  double us = not_measured;
  double wall_s = 0;
  double clock_mhz = not_measured;
};

Measured measure(const Case& c, std::span<Channel* const> channels, Schedule& schedule, std::uint64_t bytes) {
  const auto point = measure_point(c, channels, schedule, bytes, nullptr);
  std::vector<double> us;
  for (const Sample& s : point->samples)
    if (s.lane == 0)
      us.push_back((c.timing == Timing::host ? s.host_us : s.device_us) / static_cast<double>(s.repeats));
  return {median(us), point->point.wall_us * 1e-6, point->point.telemetry.sm_clock_mhz};
}

struct Opened {
  std::vector<std::unique_ptr<Channel>> owned;
  std::vector<Channel*> channels;
};

Opened open(const Case& c, std::uint64_t bytes) {
  Opened o;
  for (const Case& lane : lanes(c)) {
    o.owned.push_back(find_module(c.module)->open(lane, bytes));
    o.channels.push_back(o.owned.back().get());
  }
  return o;
}

std::vector<Case> cases() {
  const Module* cuda = find_module("cudaMemcpy");
  if (!cuda || cuda->devices().empty())
    return {{.module = "memcpy", .device = "host", .direction = Direction::h2h, .memory = Memory::pageable}};
  const auto of = [](Direction d, Memory m, bool async, Timing t, Pattern p = Pattern::stream) {
    return Case{.module = "cudaMemcpy", .device = "cuda:0", .pattern = p, .direction = d, .memory = m, .async = async, .timing = t};
  };
  return {of(Direction::h2d, Memory::pinned, true, Timing::gated),   of(Direction::d2h, Memory::pinned, true, Timing::gated),
          of(Direction::d2d, Memory::device, true, Timing::gated),   of(Direction::h2d, Memory::pinned, true, Timing::host),
          of(Direction::h2d, Memory::pinned, false, Timing::host),   of(Direction::d2h, Memory::pinned, false, Timing::host),
          of(Direction::h2d, Memory::pageable, false, Timing::host), of(Direction::d2h, Memory::pageable, false, Timing::host)};
}

constexpr std::uint64_t sizes[] = {1, 64, 1024, 12 * KiB, 64 * KiB, 384 * KiB, 2 * MiB, 12 * MiB, 64 * MiB, 192 * MiB};

void compare(const std::vector<AdaptiveOptions>& variants) {
  std::vector<int> within(variants.size());
  std::vector<double> adaptive_s(variants.size());
  double classic_s = 0;
  int points = 0, classic_within = 0;
  for (const Case& c : cases()) {
    const Opened o = open(c, std::end(sizes)[-1]);
    warm_up(c, o.channels, 64 * KiB, Seconds{0.3});
    const auto classic = classic_schedule();
    for (const std::uint64_t bytes : sizes) {
      const auto adaptive = [&](const AdaptiveOptions& variant) {
        const auto schedule = adaptive_schedule(variant);
        return measure(c, o.channels, *schedule, bytes);
      };
      std::vector<Measured> before, after;
      for (const auto& variant : variants) before.push_back(adaptive(variant));
      const Measured reference = measure(c, o.channels, *classic, bytes);
      for (const auto& variant : variants) after.push_back(adaptive(variant));
      const double again = measure(c, o.channels, *classic, bytes).us / reference.us - 1;
      classic_within += std::abs(again) <= 0.01;
      ++points;
      classic_s += reference.wall_s;
      std::string line;
      for (std::size_t i = 0; i < variants.size(); ++i) {
        const double first = before[i].us / reference.us - 1, second = after[i].us / reference.us - 1;
        within[i] += std::abs(first) <= 0.01;
        adaptive_s[i] += (before[i].wall_s + after[i].wall_s) / 2;
        char text[64];
        std::snprintf(text, sizeof text, "  %+6.2f %% %+6.2f %%", first * 100, second * 100);
        line += text;
      }
      std::printf("%-52s %10llu B %12.4f us%s | %+6.2f %%  %.0f MHz\n", title(c).c_str(), static_cast<unsigned long long>(bytes),
                  reference.us, line.c_str(), again * 100, reference.clock_mhz);
      std::fflush(stdout);
    }
  }
  for (std::size_t i = 0; i < variants.size(); ++i)
    std::printf("trial %g ms, tolerance %g %%: %d of %d within 1 %% (%.1f %%); "
                "time %.2f s against %.2f s: 1/%.1f\n",
                variants[i].trial.count() * 1e3, variants[i].tolerance * 100, within[i], points, 100.0 * within[i] / points, adaptive_s[i], classic_s,
                classic_s / adaptive_s[i]);
  std::printf("classic again: %d of %d within 1 %% (%.1f %%)\n", classic_within, points, 100.0 * classic_within / points);
}

void ramp() {
  for (const Case& c : cases()) {
    const Opened o = open(c, 64 * KiB);
    for (const std::uint64_t bytes : {std::uint64_t{64}, 64 * KiB}) {
      std::this_thread::sleep_for(std::chrono::seconds(3));
      std::printf("%s %llu B:", title(c).c_str(), static_cast<unsigned long long>(bytes));
      const Seconds begin = steady_clock().now();
      for (Seconds now = begin, shown{0}; now - begin < Seconds{1}; now = steady_clock().now()) {
        const auto schedule = adaptive_schedule({.budget = Seconds{0.005}});
        const Measured m = measure(c, o.channels, *schedule, bytes);
        if (now - begin >= shown) {
          std::printf(" %.0f ms %.3f us %.0f MHz;", (now - begin).count() * 1e3, m.us, m.clock_mhz);
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
  for (int i = 1; i < argc; ++i) {
    AdaptiveOptions variant;
    double ms = 0;
    if (std::sscanf(argv[i], "%lf:%lf", &ms, &variant.tolerance) != 2)
      throw Error(ErrorKind::usage, std::string("'") + argv[i] + "' is no ms:tolerance");
    variant.trial = Seconds{ms / 1e3};
    variants.push_back(variant);
  }
  if (variants.empty()) variants.push_back({});
  compare(variants);
  return exit_code::done;
} catch (const Error& e) {
  std::fprintf(stderr, "npgpu_bench_schedules: %s\n", e.what());
  return exit_code_of(e.kind());
}

// Latency of the host's caches and memory: a pointer chase on one core over growing sets. The steps in it are the
// levels; they are found by whoever reads the points, and no size of a level is used here but for where to stop.
#include <fmt/format.h>

#include <algorithm>

#include "netpipe/devices/host/facts.hpp"
#include "netpipe/devices/host/memory.hpp"
#include "probes/host/probe.hpp"
#include "probes/latency/chase.hpp"
#include "probes/shapes.hpp"

namespace npgpu {

namespace {

constexpr std::uint64_t min_bytes = 4 * KiB;
constexpr int points_of_octave = 8;
constexpr std::uint64_t large_bytes = 16 * MiB;
constexpr std::uint64_t seed = 1;
// The chase stays within so much until all of it is visited: 32 small pages, which every first-level TLB holds, so that
// no more than one load in 64 misses it. A huge page is no help where a virtual machine's host has small ones beneath.
// A window of one page would be too near for comfort: prefetchers then find lines ahead of the chase.
constexpr std::uint64_t window_bytes = 128 * KiB;

class HostLatencyRunner final : public ProbeRunner {
 public:
  // All is taken at once: a set that moved to other pages between two points would be another set, and binding()
  // describes these pages before the first point.
  HostLatencyRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : ProbeRunner(probe, steps), thread_({host::core_cpus().at(0)}), memory_(max_bytes()) {
    thread_.each([&](unsigned) { std::fill_n(memory_.data(), memory_.bytes(), std::byte{1}); });
    huge_bytes_ = memory_.huge_bytes();
  }
  double work() const override { return static_cast<double>(chase::loads_of_repeat); }
  std::string binding() const override {
    return fmt::format("{}; {} of {} bytes lay in huge pages; random order within windows of {} bytes",
                       thread_.binding(), huge_bytes_, memory_.bytes(), window_bytes);
  }

 private:
  void set_up() override {
    const std::uint64_t lines = shape().bytes / chase::line_bytes;
    // Linking writes each line in the order of the chase, and leaves in the caches what a walk around would. Once
    // around besides, for the translations of small sets.
    const std::uint64_t warm = std::min(lines, large_bytes / chase::line_bytes);
    order_ = chase::random_order(lines, window_bytes / chase::line_bytes, seed);
    thread_.each([&](unsigned) {
      chase::link(memory_.data(), order_);
      at_ = chase::walk(memory_.data() + order_[0] * chase::line_bytes, warm);
    });
    loads_ = warm;
  }
  // Goes on where the last run ended: a set larger than one run's loads is visited in all its parts.
  ProbeSample launch(std::uint64_t repeats) override {
    const std::uint64_t loads = repeats * chase::loads_of_repeat;
    ProbeSample sample = thread_.run([&](unsigned) { at_ = chase::walk(at_, loads); });
    loads_ += loads;
    return sample;
  }
  std::optional<std::string> wrong_result() override { return chase::check(memory_.data(), order_, loads_, at_); }

  PinnedThreads thread_;
  host::Pages memory_;
  std::uint64_t huge_bytes_ = 0;
  std::vector<std::uint32_t> order_;
  const void* at_ = nullptr;
  std::uint64_t loads_ = 0;
};

std::optional<std::string> refuses_chase(const ProbeCase& question) {
  if (question.operation != Operation::chase || question.form != Form::dependent)
    return "latency is asked for with a chase, which is dependent";
  if (question.space != Space::host) return "the host has one space for data, which is called host";
  if (question.type != DataType::fp64) return "the chase loads pointers of 8 bytes, which are asked for as fp64";
  return std::nullopt;
}
std::vector<Shape> shapes_of_chase(const ProbeCase&, const Layout& l) {
  const std::uint64_t cache = l.cache_bytes ? l.cache_bytes : assumed_cache;
  const std::uint64_t most = std::max(std::min(cache * far_beyond, l.memory_bytes / 4), min_bytes);
  return chase_shapes(sizeof(void*), chase::line_bytes, min_bytes, most, points_of_octave, large_bytes);
}

const Host latency_on_host({{.name = "latency",
                             .open = runs<HostLatencyRunner>,
                             .cases =
                                 [](const std::string& device) {
                                   return std::vector<ProbeCase>{{"latency", device, Operation::chase, DataType::fp64,
                                                                  Form::dependent, Space::host}};
                                 },
                             .shapes = shapes_of_chase,
                             .refuses_case = refuses_chase,
                             .refuses =
                                 [](const ProbeCase&, const Shape& shape) {
                                   return refuses_chase_shape(shape, sizeof(void*), chase::line_bytes, UINT64_MAX);
                                 },
                             .any_grid = true}});

}  // namespace
}  // namespace npgpu

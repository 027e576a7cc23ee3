// Memory bandwidth of the host: one thread a core, each walking through memory that it touched first. Doubles, so that
// one element is an access of 8 bytes, in scalars or in whole SIMD registers; plain stores, which read a line from
// memory before they write it, and that read is not counted.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "netpipe/devices/host/memory.hpp"
#include "probes/bandwidth/loops.hpp"
#include "probes/host/probe.hpp"

namespace npgpu {

namespace {

constexpr std::uint64_t assumed_middle = 512 * KiB;
// A block's part is walked through until it makes so much: some 30 us at least, beside which reading the clocks is
// nothing, also where the set fits a cache.
constexpr std::uint64_t min_bytes_of_repeat = 8 * MiB;
// A store and a later load whose addresses differ by a multiple of 4 KiB look alike to the load; arrays of one thread
// therefore begin this far off such a multiple.
constexpr std::uint64_t alias_bytes = 4096, skew_bytes = 1536;

// Of one array of one block.
std::uint64_t elements_of(Operation operation, const Shape& shape) {
  return shape.bytes / 8 / shape.blocks / loops::arrays(operation) / loops::granularity * loops::granularity;
}

class HostBandwidthRunner final : public HostRunner {
 public:
  using HostRunner::HostRunner;
  double work() const override {
    return 8.0 * loops::touches(question().operation) * static_cast<double>(slices_[0].elements * passes_of_repeat_) *
           shape().blocks;
  }
  std::string binding() const override {
    if (!threads_) return "one thread a core";
    return fmt::format("{}, {}; {} of the largest set's {} bytes lay in huge pages", threads_->binding(),
                       name(isa_for(shape())), largest_huge_, largest_);
  }

 private:
  void set_up() override {
    loop_ = loops::find(isa_for(shape()), question().operation, question().form, shape().ilp);
    take_threads();
    const unsigned arrays = loops::arrays(question().operation);
    const std::uint64_t elements = elements_of(question().operation, shape()), pass_bytes = elements * 8 * arrays;
    passes_of_repeat_ = (min_bytes_of_repeat + pass_bytes - 1) / pass_bytes;
    run_passes_ = 0;
    // Points with the same slices differ in the loop alone, which goes on where the last one ended: to lay out far more
    // than the caches hold takes longer than to walk through it.
    const Arrangement wanted{question(), shape().blocks, elements};
    if (std::exchange(arrangement_, wanted) == wanted) return;
    lay_out(elements, arrays);
    passes_ = 0;
  }
  ProbeSample launch(std::uint64_t repeats) override {
    run_passes_ = repeats * passes_of_repeat_;
    ProbeSample sample = threads_->run([&](unsigned block) { loop_(slices_[block], passes_, run_passes_); });
    passes_ += run_passes_;
    return sample;
  }
  std::optional<std::string> wrong_result() override {
    std::vector<std::optional<std::string>> wrong(slices_.size());
    threads_->each([&](unsigned block) {
      wrong[block] = loops::check(question().operation, slices_[block], passes_, run_passes_);
    });
    for (std::size_t block = 0; block < wrong.size(); ++block)
      if (wrong[block]) return fmt::format("block {}: {}", block, *wrong[block]);
    return std::nullopt;
  }
  // Every block's arrays in pages of its own, touched first by its own thread.
  void lay_out(std::uint64_t elements, unsigned arrays) {
    const std::uint64_t array = padded(elements * 8, alias_bytes) + skew_bytes;
    const std::uint64_t block =
        padded(arrays * array, arrays * array < host::huge_page_bytes ? alias_bytes : host::huge_page_bytes);
    memory_ = {};  // given back before more is taken
    memory_ = host::Pages(block * shape().blocks);
    slices_.assign(shape().blocks, {});
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      const auto at = [&](unsigned nth) {
        return nth < arrays ? reinterpret_cast<double*>(memory_.data() + i * block + nth * array) : nullptr;
      };
      slices_[i] = {.x = at(0), .y = at(1), .z = at(2), .elements = elements};
    }
    threads_->each([&](unsigned i) { loops::fill(question().operation, slices_[i]); });
    if (memory_.bytes() > largest_) {
      largest_ = memory_.bytes();
      largest_huge_ = memory_.huge_bytes();
    }
  }

  struct Arrangement {
    ProbeCase question;
    std::uint32_t blocks = 0;
    std::uint64_t elements = 0;
    bool operator==(const Arrangement&) const = default;
  };
  Arrangement arrangement_;
  loops::Loop loop_ = nullptr;
  host::Pages memory_;
  std::vector<loops::Slice> slices_;
  std::uint64_t passes_ = 0, run_passes_ = 0, passes_of_repeat_ = 1;
  std::uint64_t largest_ = 0, largest_huge_ = 0;
};

class HostBandwidthProbe final : public HostProbe {
 public:
  std::string_view name() const override { return "bandwidth"; }
  std::string_view summary() const override { return "memory bandwidth of one and all cores, in memory and in cache"; }
  std::vector<ProbeCase> cases(const std::string& device) const override {
    return bandwidth_cases(device, DataType::fp64, Space::host, {Operation::rmw});
  }
  std::optional<std::string> refuses_case(const ProbeCase& question) const override {
    if (question.space != Space::host) return "the host has one space for data, which is called host";
    if (question.type != DataType::fp64)
      return "the host's bandwidth is asked for with fp64, whose elements have 8 bytes";
    if (!loops::arrays(question.operation)) return "bandwidth is asked for with rmw, read, write, copy or triad";
    if (isas_here().empty()) return why_no_isa();
    if (question.form == Form::dependent && question.operation != Operation::rmw)
      return "the dependent form is that of rmw: its next address waits for the sum before";
    return std::nullopt;
  }
  std::optional<std::string> refuses_shape(const ProbeCase& question, const Shape& shape) const override {
    if (auto why = refuses_blocks(shape)) return why;
    const Isa isa = isa_for(shape);
    if (loops::lanes(isa) != shape.threads || shape.access_bytes != 8 * shape.threads)
      return fmt::format("{} lanes of 8 bytes in an access of {} bytes; {} has {} lanes", shape.threads,
                         shape.access_bytes, npgpu::name(isa), loops::lanes(isa));
    if (!loops::find(isa, question.operation, question.form, shape.ilp))
      return fmt::format("{} has no {} accesses side by side with {} lanes", title(question), shape.ilp, shape.threads);
    if (!elements_of(question.operation, shape))
      return fmt::format("{} bytes are less than {} for each of {} blocks", shape.bytes,
                         8 * loops::arrays(question.operation) * loops::granularity, shape.blocks);
    return std::nullopt;
  }
  // Corners far beyond the caches, then inside a core's second level; then the cores one by one.
  std::vector<Shape> shapes(const ProbeCase& question) const override {
    std::vector<Shape> all;
    if (refuses_case(question)) return all;
    const Layout l = host_layout(DataType::fp64);
    const host::Caches caches = host::caches_of(host::core_cpus());
    const std::uint64_t cache = caches.last_bytes_in_all ? caches.last_bytes_in_all : assumed_cache;
    const std::uint64_t far = std::min(cache * far_beyond, l.memory_bytes / 4) / MiB * MiB;
    const std::uint64_t middle = (caches.middle_bytes ? caches.middle_bytes : assumed_middle) / 2;
    const auto add = [&](std::uint32_t blocks, std::uint32_t lanes, std::uint32_t ilp, std::uint64_t bytes) {
      const Shape shape{blocks, lanes, ilp, 8 * lanes, bytes, true};
      if (!refuses_shape(question, shape)) all.push_back(shape);
    };
    add(1, 1, 1, far);
    for (const bool outside : {true, false})
      for (const std::uint32_t blocks : {1u, l.units})
        for (const std::uint32_t lanes : {1u, l.lanes})
          for (const std::uint32_t ilp : loops::ilps) add(blocks, lanes, ilp, outside ? far : middle * blocks);
    for (const std::uint32_t blocks : cores_one_by_one(l.units)) add(blocks, l.lanes, loops::ilps[1], far);
    return each_once(std::move(all));
  }
  std::unique_ptr<Runner<Probes>> open(std::span<const ProbeStep> steps) const override {
    return std::make_unique<HostBandwidthRunner>(*this, steps);
  }

 private:
  Limit limit(const ProbeCase&, const Layout&) const override {
    return {not_measured, "unknown: clock and channels of the memory cannot be read without root"};
  }
};

}  // namespace
}  // namespace npgpu

NPGPU_REGISTERED(Probe, npgpu::HostBandwidthProbe)

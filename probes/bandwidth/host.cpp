// Memory bandwidth of the host: one thread a core, each walking through memory that it touched first. Doubles, so that
// one element is an access of 8 bytes, in scalars or in whole SIMD registers; plain stores, which read a line from
// memory before they write it, and that read is not counted.
#include <fmt/format.h>

#include <algorithm>

#include "netpipe/devices/host/pages.hpp"
#include "npgpu/error.hpp"
#include "probes/host/layout.hpp"
#include "probes/host/probe.hpp"
#include "probes/host/threads.hpp"
#include "probes/bandwidth/loops.hpp"

namespace npgpu {

namespace {

constexpr std::uint64_t far_beyond = 4;  // working set over all last level caches
constexpr std::uint64_t assumed_cache = 32 * MiB, assumed_middle = 512 * KiB;
// A block's part is walked through until it makes so much: some 30 us at least, beside which reading the clocks is
// nothing, also where the set fits a cache.
constexpr std::uint64_t min_bytes_of_repeat = 8 * MiB;
// A store and a later load whose addresses differ by a multiple of 4 KiB look alike to the load; arrays of one thread
// therefore begin this far off such a multiple.
constexpr std::uint64_t alias_bytes = 4096, skew_bytes = 1536;

std::uint64_t up(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

class HostBandwidth final : public Runner<Probes> {
 public:
  HostBandwidth(const ProbeCase& question, std::uint64_t max_bytes)
      : question_(question), max_bytes_(max_bytes), cpus_(host::core_cpus()) {}

  void prepare(const Shape& shape) override {
    if (shape.blocks < 1 || shape.blocks > cpus_.size())
      throw Error(ErrorKind::usage,
                  fmt::format("--shape: {} blocks, but the affinity mask has {} cores", shape.blocks, cpus_.size()));
    const Isa isa = shape.threads == 1 ? Isa::scalar : widest_isa().value_or(Isa::scalar);
    if (streams::lanes(isa) != shape.threads || shape.access_bytes != 8 * shape.threads)
      throw Error(ErrorKind::usage,
                  fmt::format("--shape: {} lanes of 8 bytes in an access of {} bytes; {} has {} lanes", shape.threads,
                              shape.access_bytes, name(isa), streams::lanes(isa)));
    loop_ = streams::find(isa, question_.operation, question_.form, shape.ilp);
    if (!loop_)
      throw Error(ErrorKind::usage, fmt::format("--shape: {} has no {} accesses side by side with {} lanes",
                                                title(question_), shape.ilp, shape.threads));
    if (shape.bytes > max_bytes_)
      throw Error(ErrorKind::usage,
                  fmt::format("--shape: {} bytes, but the kernel was opened for {}", shape.bytes, max_bytes_));
    const unsigned arrays = streams::arrays(question_.operation);
    const std::uint64_t elements =
        shape.bytes / 8 / shape.blocks / arrays / streams::granularity * streams::granularity;
    if (!elements)
      throw Error(ErrorKind::usage, fmt::format("--shape: {} bytes are less than {} for each of {} blocks", shape.bytes,
                                                8 * arrays * streams::granularity, shape.blocks));
    if (!team_ || team_->size() != shape.blocks)
      team_ = std::make_unique<PinnedThreads>(std::vector<unsigned>(cpus_.begin(), cpus_.begin() + shape.blocks));
    shape_ = shape;
    isa_ = isa;
    const std::uint64_t pass_bytes = elements * 8 * arrays;
    passes_of_repeat_ = (min_bytes_of_repeat + pass_bytes - 1) / pass_bytes;
    lay_out(elements, arrays);
    passes_ = run_passes_ = 0;
  }

  double work() const override {
    return 8.0 * streams::touches(question_.operation) * static_cast<double>(slices_[0].elements * passes_of_repeat_) *
           shape_.blocks;
  }

  RunTimes run(std::uint64_t repeats) override {
    run_passes_ = repeats * passes_of_repeat_;
    const RunTimes ran = team_->run([&](unsigned block) { loop_(slices_[block], passes_, run_passes_); });
    passes_ += run_passes_;
    return ran;
  }

  std::optional<std::string> intact() override {
    std::vector<std::optional<std::string>> wrong(slices_.size());
    team_->each([&](unsigned block) {
      wrong[block] = streams::check(question_.operation, slices_[block], passes_, run_passes_);
    });
    for (std::size_t block = 0; block < wrong.size(); ++block)
      if (wrong[block]) return fmt::format("block {}: {}", block, *wrong[block]);
    return std::nullopt;
  }

  const Clock& clock() const override { return steady_clock(); }
  std::string binding() const override {
    if (!team_) return "one thread a core";
    return fmt::format("{}, {}; of the largest set, {} of {} bytes lay in huge pages", team_->binding(), name(isa_),
                       largest_huge_, largest_);
  }

 private:
  // Every block's arrays in pages of its own, touched first by its own thread.
  void lay_out(std::uint64_t elements, unsigned arrays) {
    const std::uint64_t array = up(elements * 8, alias_bytes) + skew_bytes;
    const std::uint64_t block =
        up(arrays * array, arrays * array < host::huge_page_bytes ? alias_bytes : host::huge_page_bytes);
    memory_ = {};  // given back before more is taken
    memory_ = host::Pages(block * shape_.blocks);
    slices_.assign(shape_.blocks, {});
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      const auto at = [&](unsigned nth) {
        return nth < arrays ? reinterpret_cast<double*>(memory_.data() + i * block + nth * array) : nullptr;
      };
      slices_[i] = {.x = at(0), .y = at(1), .z = at(2), .elements = elements};
    }
    team_->each([&](unsigned i) { streams::fill(question_.operation, slices_[i]); });
    if (memory_.bytes() > largest_) {
      largest_ = memory_.bytes();
      largest_huge_ = memory_.huge_bytes();
    }
  }

  ProbeCase question_;
  std::uint64_t max_bytes_;
  std::vector<unsigned> cpus_;
  Isa isa_ = Isa::scalar;
  Shape shape_;
  streams::Loop loop_ = nullptr;
  std::unique_ptr<PinnedThreads> team_;
  host::Pages memory_;
  std::vector<streams::Slice> slices_;
  std::uint64_t passes_ = 0, run_passes_ = 0, passes_of_repeat_ = 1;
  std::uint64_t largest_ = 0, largest_huge_ = 0;
};

class HostBandwidthProbe final : public HostProbe {
 public:
  std::string_view name() const override { return "bandwidth"; }
  std::string_view summary() const override { return "memory bandwidth of one and all cores, in memory and in cache"; }

  std::vector<ProbeCase> cases(const std::string& id) const override {
    std::vector<ProbeCase> all;
    const auto add = [&](Operation operation, Form form) {
      all.push_back({.probe = "bandwidth",
                     .device = device(id).id,
                     .operation = operation,
                     .type = DataType::fp64,
                     .form = form,
                     .space = Space::host});
    };
    for (const Operation operation :
         {Operation::rmw, Operation::read, Operation::write, Operation::copy, Operation::triad})
      add(operation, Form::streaming);
    add(Operation::rmw, Form::dependent);
    return all;
  }

  std::optional<std::string> refuses(const ProbeCase& question) const override {
    if (question.space != Space::host) return "the host has one space for data, which is called host";
    if (question.type != DataType::fp64)
      return "the host's bandwidth is asked for with fp64, whose elements have 8 bytes";
    if (!streams::arrays(question.operation)) return "bandwidth is asked for with rmw, read, write, copy or triad";
    if (isas_here().empty()) return why_no_isa();
    if (question.form == Form::dependent && question.operation != Operation::rmw)
      return "the dependent form is that of rmw: its next address waits for the sum before";
    return std::nullopt;
  }

  Layout layout(const ProbeCase&) const override { return host_layout(DataType::fp64); }
  Limit peak(const ProbeCase&) const override {
    return {not_measured, "unknown: clock and channels of the memory cannot be read without root"};
  }

  // Corners far beyond the caches, then inside a core's second level; then the cores one by one.
  std::vector<Shape> shapes(const ProbeCase& question) const override {
    std::vector<Shape> all;
    if (refuses(question)) return all;
    const Layout l = layout(question);
    const host::Caches caches = host::caches_of(host::core_cpus());
    const std::uint64_t cache = caches.last_bytes_in_all ? caches.last_bytes_in_all : assumed_cache;
    const std::uint64_t far = std::min(cache * far_beyond, l.memory_bytes / 4) / MiB * MiB;
    const std::uint64_t middle = (caches.middle_bytes ? caches.middle_bytes : assumed_middle) / 2;
    const auto add = [&](std::uint32_t blocks, std::uint32_t lanes, std::uint32_t ilp, std::uint64_t bytes) {
      const Isa isa = lanes == 1 ? Isa::scalar : *widest_isa();
      const Shape shape{
          .blocks = blocks, .threads = lanes, .ilp = ilp, .access_bytes = 8 * lanes, .bytes = bytes, .one_block_per_sm = true};
      if (bytes && streams::find(isa, question.operation, question.form, ilp) &&
          std::find(all.begin(), all.end(), shape) == all.end())
        all.push_back(shape);
    };
    add(1, 1, 1, far);
    for (const bool outside : {true, false})
      for (const std::uint32_t blocks : {1u, l.units})
        for (const std::uint32_t lanes : {1u, l.lanes})
          for (const std::uint32_t ilp : streams::ilps) add(blocks, lanes, ilp, outside ? far : middle * blocks);
    for (const std::uint32_t blocks : cores_one_by_one(l.units)) add(blocks, l.lanes, streams::ilps[1], far);
    return all;
  }

  std::unique_ptr<Runner<Probes>> open(const ProbeCase& question, std::uint64_t max_bytes) const override {
    if (const auto why = refuses(question)) throw Error(ErrorKind::usage, title(question) + ": " + *why);
    return std::make_unique<HostBandwidth>(question, max_bytes);
  }
};

}  // namespace
}  // namespace npgpu

NPGPU_PROBE(npgpu::HostBandwidthProbe)

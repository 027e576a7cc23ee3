// Memory bandwidth of the host: one thread a core, each walking through memory that it touched first. Doubles, so that
// one element is an access of 8 bytes, in scalars or in whole SIMD registers; plain stores, which read a line from
// memory before they write it, and that read is not counted.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "netpipe/devices/host/memory.hpp"
#include "probes/bandwidth/loops.hpp"
#include "probes/host/probe.hpp"
#include "probes/shapes.hpp"

namespace npgpu {

namespace {

constexpr std::uint64_t assumed_middle = 512 * KiB;
// A block's part is walked through until it makes so much: some 30 us at least, so that reading the clocks costs
// nothing, also where the set fits a cache.
constexpr std::uint64_t min_bytes_of_repeat = 8 * MiB;
// A part far larger than that is walked through piece by piece, each the next time: what was in a cache of the piece
// before is gone by then, and a repeat takes some 3 ms instead of as long as the whole set.
constexpr std::uint64_t bytes_of_piece = 32 * MiB;
// A store and a later load whose addresses differ by a multiple of 4 KiB look alike to the load; arrays of one thread
// therefore begin this far off such a multiple.
constexpr std::uint64_t alias_bytes = 4096, skew_bytes = 1536;

// Elements of one array of one block.
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
    const std::uint64_t elements = elements_of(question().operation, shape());
    // Points with the same slices differ in the loop alone, which goes on where the last one ended: to lay out far more
    // than the caches hold takes longer than to walk through it.
    const Arrangement wanted{question(), shape().blocks, elements};
    if (std::exchange(arrangement_, wanted) == wanted) return;
    lay_out(elements, arrays);
    const std::uint64_t repeat_bytes = slices_[0].elements * 8 * arrays;
    passes_of_repeat_ = (min_bytes_of_repeat + repeat_bytes - 1) / repeat_bytes;
    passes_.assign(pieces_, 0);
    checked_ = passes_;
    next_ = 0;
  }
  ProbeSample launch(std::uint64_t repeats) override {
    // What is in one piece is walked through in one go.
    const std::uint64_t visits = pieces_ == 1 ? 1 : repeats;
    run_passes_ = pieces_ == 1 ? repeats * passes_of_repeat_ : passes_of_repeat_;
    const auto piece = [&](std::uint64_t visit) { return (next_ + visit) % pieces_; };
    ProbeSample sample = threads_->run([&](unsigned block) {
      for (std::uint64_t visit = 0; visit < visits; ++visit)
        loop_(slice(block, piece(visit)), passes_[piece(visit)] + visit / pieces_ * run_passes_, run_passes_);
    });
    for (std::uint64_t visit = 0; visit < visits; ++visit) passes_[piece(visit)] += run_passes_;
    next_ = piece(visits);
    return sample;
  }
  // All that was walked through since it was looked at last.
  std::optional<std::string> wrong_result() override {
    std::vector<std::optional<std::string>> wrong(shape().blocks);
    threads_->each([&](unsigned block) {
      for (std::uint64_t piece = 0; piece < pieces_ && !wrong[block]; ++piece)
        if (passes_[piece] != checked_[piece])
          wrong[block] = loops::check(question().operation, slice(block, piece), passes_[piece], run_passes_);
    });
    checked_ = passes_;
    for (std::size_t block = 0; block < wrong.size(); ++block)
      if (wrong[block]) return fmt::format("block {}: {}", block, *wrong[block]);
    return std::nullopt;
  }
  loops::Slice& slice(std::size_t block, std::uint64_t piece) { return slices_[block * pieces_ + piece]; }

  // Every block's arrays in pages of its own, touched first by its own thread. Where all cores are of one NUMA node,
  // whoever touched a page first does not matter, and the pages stay: a virtual machine whose host had taken them back
  // waited 3 s for a GiB, and each array of each operation is laid out in turn.
  void lay_out(std::uint64_t elements, unsigned arrays) {
    const std::uint64_t array = padded(elements * 8, alias_bytes) + skew_bytes;
    const std::uint64_t block =
        padded(arrays * array, arrays * array < host::huge_page_bytes ? alias_bytes : host::huge_page_bytes);
    const std::uint64_t wanted = block * shape().blocks;
    if (!one_node_ || memory_.bytes() < wanted) {
      memory_ = {};  // given back before more is taken
      memory_ = host::Pages(one_node_ ? std::max(wanted, most_of_all()) : wanted);
    }
    pieces_ = std::max<std::uint64_t>(1, elements * 8 * arrays / bytes_of_piece);
    const std::uint64_t of_piece = elements / pieces_ / loops::granularity * loops::granularity;
    slices_.assign(shape().blocks * pieces_, {});
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      const auto at = [&](unsigned nth) {
        std::byte* const start = memory_.data() + i / pieces_ * block + nth * array;
        return nth < arrays ? reinterpret_cast<double*>(start) + i % pieces_ * of_piece : nullptr;
      };
      slices_[i] = {.x = at(0), .y = at(1), .z = at(2), .elements = of_piece};
    }
    threads_->each([&](unsigned i) {
      for (std::uint64_t piece = 0; piece < pieces_; ++piece) loops::fill(question().operation, slice(i, piece));
    });
    if (wanted > largest_) {
      largest_ = wanted;
      largest_huge_ = std::min(wanted, memory_.huge_bytes());
    }
  }
  // At least what any of the shapes needs that this runner was opened for, on any number of cores.
  std::uint64_t most_of_all() const {
    return max_bytes() + cpus().size() * (loops::most_arrays * (alias_bytes + skew_bytes) + host::huge_page_bytes);
  }

  struct Arrangement {
    ProbeCase question;
    std::uint32_t blocks = 0;
    std::uint64_t elements = 0;
    bool operator==(const Arrangement&) const = default;
  };
  const bool one_node_ = host::of_one_node(cpus());
  Arrangement arrangement_;
  loops::Loop loop_ = nullptr;
  host::Pages memory_;
  std::uint64_t pieces_ = 1;           // of each block's part, walked through in turn
  std::vector<loops::Slice> slices_;   // block by block, piece by piece
  std::vector<std::uint64_t> passes_;  // over each piece, since it was filled; as many when it was checked last
  std::vector<std::uint64_t> checked_;
  std::uint64_t next_ = 0, run_passes_ = 0, passes_of_repeat_ = 1;
  std::uint64_t largest_ = 0, largest_huge_ = 0;
};

std::optional<std::string> refuses_bandwidth(const ProbeCase& question) {
  if (question.space != Space::host) return "the host has one space for data, which is called host";
  if (question.type != DataType::fp64)
    return "the host's bandwidth is measured with elements of 8 bytes: choose --type fp64";
  if (!loops::arrays(question.operation)) return "bandwidth is asked for with rmw, read, write, copy or triad";
  if (isas_here().empty()) return why_no_isa();
  if (question.form == Form::dependent && question.operation != Operation::rmw)
    return "the dependent form is that of rmw: its next address waits for the sum before";
  return std::nullopt;
}
std::optional<std::string> refuses_accesses(const ProbeCase& question, const Shape& shape) {
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
std::vector<Shape> shapes_of_bandwidth(const ProbeCase&, const Layout& l) {
  std::vector<Shape> all;
  const host::Caches caches = host::caches_of(host::core_cpus());
  const std::uint64_t cache = caches.last_bytes_in_all ? caches.last_bytes_in_all : assumed_cache;
  const std::uint64_t far = std::min(cache * far_beyond, l.memory_bytes / 4) / MiB * MiB;
  const std::uint64_t middle = (caches.middle_bytes ? caches.middle_bytes : assumed_middle) / 2;
  const auto add = [&](std::uint32_t blocks, std::uint32_t lanes, std::uint32_t ilp, std::uint64_t bytes) {
    const Shape shape{blocks, lanes, ilp, 8 * lanes, bytes, true};
    all.push_back(shape);
  };
  add(1, 1, 1, far);
  for (const bool outside : {true, false})
    for (const std::uint32_t blocks : {1u, l.units})
      for (const std::uint32_t lanes : {1u, l.lanes})
        for (const std::uint32_t ilp : loops::ilps) add(blocks, lanes, ilp, outside ? far : middle * blocks);
  for (const std::uint32_t blocks : cores_one_by_one(l.units)) add(blocks, l.lanes, loops::ilps[1], far);
  return each_once(std::move(all));
}

const Host bandwidth_on_host(
    {{.name = "bandwidth",
      .open = runs<HostBandwidthRunner>,
      .cases =
          [](const std::string& device) {
            return bandwidth_cases(device, DataType::fp64, Space::host, {Operation::rmw});
          },
      .shapes = shapes_of_bandwidth,
      .refuses_case = refuses_bandwidth,
      .refuses = refuses_accesses,
      .limit = [](const ProbeCase&, const Layout&) -> Limit {
        return {not_measured, "unknown: clock and channels of the memory cannot be read without root"};
      }}});

}  // namespace
}  // namespace npgpu

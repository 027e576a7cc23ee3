// A host's roofline: one thread a core, each walking through memory of its own, far more than the caches hold, with
// multiply-adds in whole SIMD registers on what it reads.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "netpipe/devices/host/memory.hpp"
#include "probes/host/probe.hpp"
#include "probes/roofline/walks.hpp"

namespace npgpu {

namespace {

constexpr std::uint32_t least_intensity = 64, most_intensity = 256 * 1024;  // for each KiB: 1/16 to 256 a byte
// A repeat is one piece of each block's part, the next one each time: what was in a cache of it is gone by then. With
// 256 operations a byte it takes some 10 ms.
constexpr std::uint64_t bytes_of_piece_walked = 4 * MiB;

std::uint64_t bytes_of_block(const Shape& s) { return s.bytes / s.blocks / walks::granularity * walks::granularity; }

class HostRooflineRunner final : public HostRunner {
 public:
  using HostRunner::HostRunner;
  double work() const override {
    return intensity_of(shape()) * static_cast<double>(parts_.front().bytes) * shape().blocks;
  }
  std::string binding() const override {
    return threads_ ? fmt::format("{}, {}", threads_->binding(), name(isa_for(shape()))) : "one thread a core";
  }

 private:
  void set_up() override {
    walk_work_ = walks::work_of(question().type, shape().intensity).value_or(walks::Work{});
    walk_ = walks::find(isa_for(shape()), question().type, walk_work_);
    take_threads();
    const Arrangement wanted{question().type, shape().blocks, bytes_of_block(shape())};
    if (std::exchange(arrangement_, wanted) != wanted) lay_out(wanted.bytes);
  }
  // Every block's part in pages of its own, touched first by its own thread.
  void lay_out(std::uint64_t bytes) {
    const std::uint64_t block = (bytes + host::huge_page_bytes - 1) / host::huge_page_bytes * host::huge_page_bytes;
    memory_ = {};  // given back before more is taken
    memory_ = host::Pages(block * shape().blocks);
    pieces_ = std::max<std::uint64_t>(1, bytes / bytes_of_piece_walked);
    const std::uint64_t piece = bytes / pieces_ / walks::granularity * walks::granularity;
    parts_.assign(shape().blocks * pieces_, {});
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      parts_[i].elements = memory_.data() + i / pieces_ * block + i % pieces_ * piece;
      parts_[i].bytes = piece;
    }
    threads_->each([&](unsigned i) {
      for (std::uint64_t p = 0; p < pieces_; ++p) walks::fill(question().type, part(i, p));
    });
    next_ = 0;
  }
  ProbeSample launch(std::uint64_t repeats) override {
    ProbeSample sample = threads_->run([&](unsigned block) {
      for (std::uint64_t i = 0; i < repeats; ++i) walk_(part(block, (next_ + i) % pieces_), walk_work_.times, 1);
    });
    walked_ = std::min(repeats, pieces_);
    next_ = (next_ + repeats) % pieces_;
    return sample;
  }
  // The pieces of the last run, each after its last pass.
  std::optional<std::string> wrong_result() override {
    std::vector<std::optional<std::string>> wrong(shape().blocks);
    threads_->each([&](unsigned block) {
      for (std::uint64_t i = 1; i <= walked_ && !wrong[block]; ++i)
        wrong[block] =
            walks::check(isa_for(shape()), question().type, walk_work_, part(block, (next_ + pieces_ - i) % pieces_));
    });
    for (std::size_t block = 0; block < wrong.size(); ++block)
      if (wrong[block]) return fmt::format("block {}: {}", block, *wrong[block]);
    return std::nullopt;
  }
  walks::Part& part(std::size_t block, std::uint64_t piece) { return parts_[block * pieces_ + piece]; }

  struct Arrangement {
    DataType type = DataType::fp32;
    std::uint32_t blocks = 0;
    std::uint64_t bytes = 0;
    bool operator==(const Arrangement&) const = default;
  };
  Arrangement arrangement_;
  walks::Work walk_work_;
  walks::Walk walk_ = nullptr;
  host::Pages memory_;
  std::vector<walks::Part> parts_;  // block by block, piece by piece
  std::uint64_t pieces_ = 1, next_ = 0, walked_ = 0;
};

class HostRooflineProbe final : public ProbeOf<HostProbe, HostRooflineRunner> {
 public:
  std::string_view name() const override { return "roofline"; }
  std::string_view summary() const override { return "multiply-adds on what all cores read from memory, by intensity"; }
  std::vector<ProbeCase> cases(const std::string& device) const override {
    std::vector<ProbeCase> all;
    for (const DataType type : {DataType::fp32, DataType::fp64})
      all.push_back({.probe = "roofline", .device = device, .type = type, .space = Space::host});
    return all;
  }
  std::optional<std::string> refuses_case(const ProbeCase& question) const override {
    if (question.operation != Operation::fma || question.space != Space::host || question.form != Form::streaming)
      return "the host's roofline is that of fma in its memory, which is called host";
    if (question.type != DataType::fp32 && question.type != DataType::fp64)
      return fmt::format("the host's roofline is that of fp32 and fp64, not of {}", npgpu::name(question.type));
    if (isas_here().empty()) return why_no_isa();
    return std::nullopt;
  }
  std::optional<std::string> refuses_shape(const ProbeCase& question, const Shape& shape) const override {
    if (auto why = refuses_blocks(shape)) return why;
    const std::size_t bytes = chains::find(isa_for(shape), question.type, 1).lanes * chains::bytes_of(question.type);
    if (shape.threads * chains::bytes_of(question.type) != bytes || shape.access_bytes != bytes ||
        shape.ilp != walks::chains_of_step)
      return fmt::format("{} lanes in accesses of {} bytes, ilp {}; {} has {} lanes of {}, {} bytes, and ilp is 8",
                         shape.threads, shape.access_bytes, shape.ilp, npgpu::name(isa_for(shape)),
                         bytes / chains::bytes_of(question.type), npgpu::name(question.type), bytes);
    if (shape.intensity < least_intensity || shape.intensity > most_intensity ||
        !walks::work_of(question.type, shape.intensity))
      return fmt::format("an intensity of {}: it takes powers of two from {} to {} operations for each KiB",
                         shape.intensity, least_intensity, most_intensity);
    if (!bytes_of_block(shape))
      return fmt::format("{} bytes are less than {} for each of {} blocks", shape.bytes, walks::granularity,
                         shape.blocks);
    return std::nullopt;
  }
  std::vector<Shape> shapes(const ProbeCase& question) const override {
    std::vector<Shape> all;
    if (refuses_case(question)) return all;
    const Layout l = host_layout(question.type);
    const host::Caches caches = host::caches_of(host::core_cpus());
    const std::uint64_t cache = caches.last_bytes_in_all ? caches.last_bytes_in_all : assumed_cache;
    for (std::uint32_t intensity = least_intensity; intensity <= most_intensity; intensity *= 2)
      all.push_back({.blocks = l.units,
                     .threads = l.lanes,
                     .ilp = walks::chains_of_step,
                     .access_bytes = static_cast<std::uint32_t>(l.lanes * chains::bytes_of(question.type)),
                     .bytes = std::min(cache * far_beyond, l.memory_bytes / 4) / MiB * MiB,
                     .one_block_per_sm = 1,
                     .intensity = intensity});
    return all;
  }

 private:
  Limit limit(const ProbeCase& question, const Layout& l) const override {
    return multiply_add_limit(question.type, l);
  }
};

}  // namespace
}  // namespace npgpu

NPGPU_REGISTERED(Probe, npgpu::HostRooflineProbe)

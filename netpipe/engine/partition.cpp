#include "npgpu/vocabulary/partition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "npgpu/measuring/campaign.hpp"
#include "npgpu/model/result.hpp"

namespace npgpu {

namespace {

constexpr std::uint32_t max_partition_chunks = 4096, max_sub_system = 1u << 20;
constexpr std::uint64_t max_unknowns = std::uint64_t{1} << 32;
// What the chunks of a run by stages may be: all of them stand behind one gate.
constexpr std::uint32_t max_gated_chunks = 40;

PipelineStage copy(Stage stage, std::string_view buffer, Precision type, const PartitionShape& shape) {
  const PartitionBuffer& b = partition_buffers[buffer_named(buffer)];
  const std::uint64_t each = b.of_rows ? shape.size : sub_systems_of(shape);
  return {.stage = stage, .name = std::string(buffer), .bytes = each * b.values * bytes_of(type)};
}

}  // namespace

std::string title(const PartitionCase& c) {
  return fmt::format("partitions {} {} {}", c.device, name(c.type), name(c.timed));
}

Seconds Partitions::timed(const PartitionCase&, std::span<const PartitionSample> trial) {
  return from_microseconds(trial.front().host_us);
}

std::optional<std::string> flaw_of(const PartitionShape& shape) {
  if (shape.chunks == 0 || shape.streams == 0 || shape.sub_system == 0)
    return fmt::format("has {} chunks, {} streams, sub-systems of {}", shape.chunks, shape.streams, shape.sub_system);
  constexpr std::uint64_t most = 1ULL << 40;  // 32 TiB of doubles
  if (shape.size == 0 || shape.size >= most) return fmt::format("has a system of {} unknowns", shape.size);
  return std::nullopt;
}

std::string text_of(const PartitionShape& shape) {
  return fmt::format("{} unknowns in sub-systems of {}, {} chunk{} in {} stream{}", shape.size, shape.sub_system,
                     shape.chunks, shape.chunks == 1 ? "" : "s", shape.streams, shape.streams == 1 ? "" : "s");
}

PartitionChunk chunk_of(const PartitionShape& shape, std::uint32_t chunk) {
  const std::uint64_t all = sub_systems_of(shape);
  const auto border = [&](std::uint64_t c) { return all * c / shape.chunks; };
  const std::uint64_t first = border(chunk), end = border(std::uint64_t{chunk} + 1);
  const std::uint64_t end_row = end == all ? shape.size : end * shape.sub_system;
  return {first, end - first, first * shape.sub_system, end_row - first * shape.sub_system};
}

BufferRange range_of(const PartitionBuffer& buffer, const PartitionChunk& chunk) {
  return {buffer.values * (buffer.of_rows ? chunk.first_row : chunk.first_system),
          buffer.values * (buffer.of_rows ? chunk.rows : chunk.systems)};
}

std::size_t buffer_named(std::string_view name) {
  for (std::size_t i = 0; i < partition_buffers.size(); ++i)
    if (partition_buffers[i].name == name) return i;
  throw std::out_of_range("no buffer of the partition method: " + std::string(name));
}

Pipeline partition_pipeline(Precision type, const PartitionShape& shape) {
  PipelinePart down, up;
  for (const std::string_view array : {"a", "b", "c", "d"}) down.stages.push_back(copy(Stage::h2d, array, type, shape));
  down.stages.push_back({.stage = Stage::kernel, .name = "stage1"});
  down.stages.push_back(copy(Stage::d2h, "interface", type, shape));
  down.host_work = "stage2";
  up.stages.push_back(copy(Stage::h2d, "ends", type, shape));
  up.stages.push_back({.stage = Stage::kernel, .name = "stage3"});
  up.stages.push_back(copy(Stage::d2h, "x", type, shape));
  return {down, up};
}

std::optional<std::string> refuses(const PartitionStep& step) {
  const auto& [c, shape] = step;
  if (shape.sub_system < 2 || shape.sub_system > max_sub_system)
    return fmt::format("sub-systems of {} rows: 2 to {} are taken", shape.sub_system, max_sub_system);
  if (shape.size > max_unknowns) return fmt::format("{} unknowns: at most {} are taken", shape.size, max_unknowns);
  if (shape.chunks < 1 || shape.chunks > max_partition_chunks)
    return fmt::format("{} chunks: 1 to {} are taken", shape.chunks, max_partition_chunks);
  if (shape.streams < 1 || shape.streams > shape.chunks)
    return fmt::format("{} streams for {} chunks: 1 to {} are taken", shape.streams, shape.chunks, shape.chunks);
  if (sub_systems_of(shape) < shape.chunks)
    return fmt::format("{} unknowns in sub-systems of {} are {} sub-systems: too few for {} chunks", shape.size,
                       shape.sub_system, sub_systems_of(shape), shape.chunks);
  if (c.timed == PartitionTiming::stages && shape.streams > 1)
    return "stages are timed one after the other: in one stream";
  if (c.timed == PartitionTiming::stages && shape.chunks > max_gated_chunks)
    return fmt::format("{} chunks timed by stages: a gate holds {}", shape.chunks, max_gated_chunks);
  return std::nullopt;
}

std::vector<std::uint64_t> paper_partition_sizes() {
  return {1'000,      4'000,      5'000,      8'000,      10'000,     40'000,     50'000,     80'000,    100'000,
          400'000,    500'000,    800'000,    1'000'000,  2'500'000,  4'000'000,  5'000'000,  7'500'000, 8'000'000,
          10'000'000, 25'000'000, 40'000'000, 50'000'000, 75'000'000, 80'000'000, 100'000'000};
}

std::vector<PartitionStep> partition_steps(const std::string& device, std::span<const Precision> types,
                                           std::span<const std::uint64_t> sizes, std::uint32_t sub_system,
                                           std::span<const std::uint32_t> streams) {
  std::vector<PartitionStep> steps;
  if (streams.empty()) return steps;
  const std::uint32_t most = *std::max_element(streams.begin(), streams.end());
  const std::set<std::uint32_t> parts{1, std::min(4u, most), std::min(most, max_gated_chunks)};
  for (const Precision type : types)
    for (const std::uint64_t size : sizes) {
      for (const std::uint32_t n : streams)
        steps.push_back({{device, type, PartitionTiming::whole}, {size, sub_system, n, n}});
      for (const std::uint32_t n : parts)
        steps.push_back({{device, type, PartitionTiming::stages}, {size, sub_system, n, 1}});
    }
  return steps;
}

// ---- how it is repeated, what a point costs, what its figure counts -------------------------------------------------

// A trial is one run, as it is one job of those.
Repetition Partitions::repetition() { return Jobs::repetition(); }

PointCost Partitions::cost(const DeviceInfo& device, const Step<Partitions>& step) {
  if (device.simulated) return {Seconds{0}, Seconds{0}};
  constexpr double copied_values = 6;  // of each unknown: four down, one up, and what goes to the host and back
  const auto unknowns = static_cast<double>(step.axes.size);
  const double sub_systems = unknowns / step.axes.sub_system;
  if (device.id == "host") return {Seconds{20e-6 + 40e-9 * unknowns}, Seconds{50e-9 * unknowns}};
  const Seconds copies =
      PointCost::moving(copied_values * static_cast<double>(bytes_of(step.question.type)) * unknowns, 4e10);
  return {Seconds{100e-6 + 14e-9 * sub_systems} + copies, Seconds{0.005} + copies};
}

std::string_view Partitions::counted(const PartitionCase&, const PartitionResult&) { return "time of a solution"; }

}  // namespace npgpu

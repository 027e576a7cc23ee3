// Measured runs of the tridiagonal partition method on streams (Veneva & Imamura 2025; Austin, Berndt & Moulton 2004).
//
// A system of `size` unknowns, row i: a_i x_{i-1} + b_i x_i + c_i x_{i+1} = d_i, is cut into sub-systems of
// `sub_system` rows; the last one also has the remaining rows.
//   stage 1  on the device, a thread a sub-system: eliminates its inner unknowns, which leaves two rows between its
//            first and its last unknown
//   stage 2  on the host: the interface system of these rows, tridiagonal too, two unknowns a sub-system
//   stage 3  on the device, a thread a sub-system: the inner unknowns, from the first and the last
// The sub-systems are cut into chunks, and chunk c goes to stream c % streams; stage 2 waits for all of them.
//
// Example:
//   const npgpu::PartitionShape shape{.size = 1'000'000, .sub_system = 10, .chunks = 8, .streams = 4};
//   std::cout << npgpu::text_of(shape) << '\n';
//   for (std::uint32_t c = 0; c < shape.chunks; ++c) {
//     const npgpu::PartitionChunk chunk = npgpu::chunk_of(shape, c);
//     std::cout << "stream " << c % shape.streams << ": " << chunk.rows << " rows from " << chunk.first_row << " on\n";
//   }
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/measuring/runner.hpp"
#include "npgpu/model/simulate.hpp"
#include "npgpu/vocabulary/field.hpp"

namespace npgpu {

enum class Precision { fp32, fp64 };
// The part of a run that is timed.
enum class PartitionTiming {
  whole,   // all of it by the host's clock, as in a program
  stages,  // each stage by the device, with everything in one stream behind a gate
};
template <> inline constexpr std::array<std::string_view, 2> names_of<Precision>{"fp32", "fp64"};
template <> inline constexpr std::array<std::string_view, 2> names_of<PartitionTiming>{"whole", "stages"};

struct PartitionCase {
  std::string device{};  // cuda:0
  Precision type = Precision::fp64;
  PartitionTiming timed = PartitionTiming::whole;

  auto operator<=>(const PartitionCase&) const = default;
};
template <>
inline constexpr auto fields_of<PartitionCase> = fields(field("device", &PartitionCase::device),
                                                        field("type", &PartitionCase::type),
                                                        field("timed", &PartitionCase::timed));
inline std::string device_of(const PartitionCase& c) { return c.device; }
inline bool is_host_timed(const PartitionCase& c) { return c.timed == PartitionTiming::whole || c.device == "host"; }
std::string title(const PartitionCase&);  // "partitions cuda:0 fp64 whole"

struct PartitionShape {
  std::uint64_t size = 0;         // unknowns
  std::uint32_t sub_system = 10;  // rows of a sub-system
  std::uint32_t chunks = 1;
  std::uint32_t streams = 1;

  auto operator<=>(const PartitionShape&) const = default;
};
template <>
inline constexpr auto fields_of<PartitionShape> = fields(field("size", &PartitionShape::size),
                                                         field("sub_system", &PartitionShape::sub_system),
                                                         field("chunks", &PartitionShape::chunks),
                                                         field("streams", &PartitionShape::streams));

// One run, exactly as it came.
struct PartitionSample {
  std::uint32_t visit = 0;
  std::uint32_t trial = 0;
  std::int32_t intact = -1;            // 1 the solution was compared and right, 0 wrong, -1 not compared
  double host_us = not_measured;       // first call to the end of the last copy
  double stage2_us = not_measured;     // of it, the interface system on the host
  double stage1_in_us = not_measured;  // of all chunks together, as the five below; timed by stages only
  double stage1_kernel_us = not_measured;
  double stage1_out_us = not_measured;
  double stage3_in_us = not_measured;
  double stage3_kernel_us = not_measured;
  double stage3_out_us = not_measured;
  double residual = not_measured;  // see backward_error; of the trial that was compared

  bool operator==(const PartitionSample&) const = default;
};

// A stage on the device: its column, and its time in the paper.
struct PartitionStage : Field<PartitionSample, double> {
  std::string_view in_paper;
};
// The stages of each part in turn, as names_of<Stage>.
inline constexpr std::array<PartitionStage, 6> partition_stages{{
    {field("stage1_in_us", &PartitionSample::stage1_in_us, "us"), "T1 H2D"},
    {field("stage1_kernel_us", &PartitionSample::stage1_kernel_us, "us"), "T1 kernel"},
    {field("stage1_out_us", &PartitionSample::stage1_out_us, "us"), "T1 D2H"},
    {field("stage3_in_us", &PartitionSample::stage3_in_us, "us"), "T3 H2D"},
    {field("stage3_kernel_us", &PartitionSample::stage3_kernel_us, "us"), "T3 kernel"},
    {field("stage3_out_us", &PartitionSample::stage3_out_us, "us"), "T3 D2H"},
}};
constexpr std::size_t place_of(std::size_t part, Stage stage) {
  return part * names_of<Stage>.size() + static_cast<std::size_t>(stage);
}
template <>
inline constexpr auto fields_of<PartitionSample> = joined(
    fields(field("visit", &PartitionSample::visit), field("trial", &PartitionSample::trial),
           field("intact", &PartitionSample::intact, "1", intact_codes),
           field("host_us", &PartitionSample::host_us, "us"), field("stage2_us", &PartitionSample::stage2_us, "us")),
    [](auto&& visit) {
      for (const PartitionStage& stage : partition_stages) visit(stage);
    },
    fields(field("residual", &PartitionSample::residual)));

inline TimeClass class_of(const PartitionCase&) { return TimeClass::jobs; }

struct Partitions : UsualKind {
  static constexpr std::string_view name = "partitions";
  static constexpr std::string_view singular = "partition";
  static constexpr std::string_view command = "partition";
  static constexpr std::string_view smaller = "measure smaller systems (--size)";
  using Case = PartitionCase;
  using Axes = PartitionShape;
  using Sample = PartitionSample;
  struct Details {
    Estimate stage2_us, rest_us;                                // of the whole, on the host; and all else
    std::array<Estimate, partition_stages.size()> stages_us{};  // timed by stages only
    double residual = not_measured;                             // the largest

    const Estimate& of(std::size_t part, Stage stage) const { return stages_us[place_of(part, stage)]; }
  };
  static Seconds timed(const Case&, std::span<const Sample> trial);  // host_us
  static Repetition repetition();
  static PointCost cost(const DeviceInfo&, const Step<Partitions>&);
  static std::vector<Result<Partitions>> results(const Series<Partitions>&);
  static std::string_view counted(const Case&, const Result<Partitions>&);
};
using PartitionSeries = Series<Partitions>;
using PartitionPoint = Point<Partitions>;
using PartitionResult = Result<Partitions>;
using PartitionStep = Step<Partitions>;

std::optional<std::string> flaw_of(const PartitionShape&);
std::string text_of(const PartitionShape&);  // "1000000 unknowns in sub-systems of 10, 8 chunks in 8 streams"

// ---- how a system is cut and solved ---------------------------------------------------------------------------------

inline std::uint64_t bytes_of(Precision type) { return type == Precision::fp64 ? 8 : 4; }
inline std::uint64_t sub_systems_of(const PartitionShape& shape) { return shape.size / shape.sub_system; }

struct PartitionChunk {
  std::uint64_t first_system = 0, systems = 0;
  std::uint64_t first_row = 0, rows = 0;
};
// Sub-systems from c*all/chunks to (c+1)*all/chunks, with their rows.
PartitionChunk chunk_of(const PartitionShape&, std::uint32_t chunk);

// The buffers of a run. Each is on the host and on the device; `values` are numbers of the case's type.
struct PartitionBuffer {
  std::string_view name;
  bool of_rows = true;       // else of sub-systems
  std::uint32_t values = 1;  // for each row or sub-system
};
inline constexpr std::array<PartitionBuffer, 7> partition_buffers{
    {{"a"}, {"b"}, {"c"}, {"d"}, {"interface", false, 8}, {"ends", false, 2}, {"x"}}};
// The values of a chunk in a buffer: how many come before them, and how many there are.
struct BufferRange {
  std::uint64_t first = 0, count = 0;
};
BufferRange range_of(const PartitionBuffer&, const PartitionChunk&);
std::size_t buffer_named(std::string_view);  // index in partition_buffers; throws std::out_of_range

// The stages as data. First part: a, b, c and d are copied to the device, kernel "stage1" runs, the interface rows (two
// rows of a, b, c, d for each sub-system) are copied back. Then the host solves these. Second part: their solution, the
// ends of each sub-system, is copied to the device, kernel "stage3" runs, x is copied back. Times are not set.
Pipeline partition_pipeline(Precision, const PartitionShape&);
// Chunks are issued one after the other.
inline constexpr Order partition_order = Order::depth_first;

// Why no device can run this.
std::optional<std::string> refuses(const PartitionStep&);

// The paper's sizes: 25 from 1e3 to 1e8.
std::vector<std::uint64_t> paper_partition_sizes();
// Each size: whole in each number of streams; and timed by stages, unsplit and in the numbers of parts that a model
// needs: 1, 4 and the largest.
std::vector<PartitionStep> partition_steps(const std::string& device, std::span<const Precision>,
                                           std::span<const std::uint64_t> sizes, std::uint32_t sub_system,
                                           std::span<const std::uint32_t> streams);

}  // namespace npgpu

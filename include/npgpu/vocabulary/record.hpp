// What an application asked of its GPUs, and when they did it: copies, kernels, memsets, waits and calls, as NVIDIA's
// profiling interface (CUPTI) reported them. npgpu itself measured nothing here: a case is what was done, its
// axes are how large, and its samples are every time it was done.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("app.h5");  // of npgpu record -o app.h5 -- ./app
//   for (const npgpu::RecordSeries& series : trace.of<npgpu::Records>())
//     for (const npgpu::RecordResult& r : npgpu::results(series))
//       std::cout << title(series.question) << ", " << text_of(r.axes) << ": " << r.trials << " times "
//                 << r.time_us.value << " us\n";
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "npgpu/vocabulary/series.hpp"

namespace npgpu {

enum class Activity {
  copy,
  kernel,
  memset,
  wait,  // of the host or of a stream; its name says for what
  call,  // of the CUDA runtime or driver, on the host
};
template <>
inline constexpr std::array<std::string_view, 5> names_of<Activity>{"copy", "kernel", "memset", "wait", "call"};

// Where an end of a copy lies, in the order of CUPTI's codes.
enum class RecordMemory { unknown, pageable, pinned, device, array, managed, device_static, managed_static };
template <>
inline constexpr std::array<std::string_view, 8> names_of<RecordMemory>{
    "unknown", "pageable", "pinned", "device", "array", "managed", "device-static", "managed-static"};

struct RecordCase {
  std::string device{};       // cuda:0; host: what a thread of the application did
  std::uint32_t process = 0;  // of those that used a GPU, in the order of their first event
  Activity activity = Activity::kernel;
  std::string name{};  // of a kernel or call, as CUPTI has it; what is waited for; empty of copies and memsets
  RecordMemory source = RecordMemory::unknown, target = RecordMemory::unknown;  // of copies; target also of memsets

  auto operator<=>(const RecordCase&) const = default;
};
template <>
inline constexpr auto fields_of<RecordCase> = fields(field("device", &RecordCase::device),
                                                     field("process", &RecordCase::process),
                                                     field("activity", &RecordCase::activity),
                                                     field("name", &RecordCase::name),
                                                     field("source", &RecordCase::source),
                                                     field("target", &RecordCase::target));
inline std::string device_of(const RecordCase& c) { return c.device; }
inline bool is_host_timed(const RecordCase& c) { return c.activity == Activity::call || c.activity == Activity::wait; }
std::string title(const RecordCase&);  // "copy cuda:0 pageable to device", "kernel cuda:0 axpy(float*)"

struct RecordShape {
  std::uint64_t bytes = 0;                                                                  // of copies and memsets
  std::uint32_t grid_x = 0, grid_y = 0, grid_z = 0, block_x = 0, block_y = 0, block_z = 0;  // of kernels, as below
  std::uint32_t registers = 0, static_shared_bytes = 0,
                dynamic_shared_bytes = 0;  // of a thread, of a block, of a block

  std::uint64_t blocks() const { return std::uint64_t{grid_x} * grid_y * grid_z; }
  std::uint32_t threads() const { return block_x * block_y * block_z; }
  auto operator<=>(const RecordShape&) const = default;
};
template <>
inline constexpr auto fields_of<RecordShape> =
    fields(field("bytes", &RecordShape::bytes, "B"), field("grid_x", &RecordShape::grid_x),
           field("grid_y", &RecordShape::grid_y), field("grid_z", &RecordShape::grid_z),
           field("block_x", &RecordShape::block_x), field("block_y", &RecordShape::block_y),
           field("block_z", &RecordShape::block_z), field("registers", &RecordShape::registers),
           field("static_shared_bytes", &RecordShape::static_shared_bytes, "B"),
           field("dynamic_shared_bytes", &RecordShape::dynamic_shared_bytes, "B"));

// It was done once.
struct RecordSample {
  std::uint32_t visit = 0;
  std::uint32_t trial = 0;
  std::int32_t intact = -1;                               // never compared
  double start_us = not_measured, end_us = not_measured;  // since the recording's first event, on one clock for all
  std::uint32_t correlation = 0;                          // the call that asked for it has the same, within a process
  std::uint32_t stream = 0;                               // CUPTI's number within a process
  std::uint32_t thread = 0;                               // of calls: the system's number, cut to 32 bits
  std::uint32_t graph = 0;                                // the graph that it is a node of; 0: none

  bool operator==(const RecordSample&) const = default;
};
template <>
inline constexpr auto fields_of<RecordSample> =
    fields(field("visit", &RecordSample::visit), field("trial", &RecordSample::trial),
           field("intact", &RecordSample::intact, "1", intact_codes), field("start_us", &RecordSample::start_us, "us"),
           field("end_us", &RecordSample::end_us, "us"), field("correlation", &RecordSample::correlation),
           field("stream", &RecordSample::stream), field("thread", &RecordSample::thread),
           field("graph", &RecordSample::graph));

TimeClass class_of(const RecordCase&);

// All samples of a point are in one visit: it was one run.
struct Records : UsualKind {
  static constexpr std::string_view name = "records";
  static constexpr std::string_view singular = "record";
  static constexpr std::string_view command = "record";
  static constexpr bool is_compared = false;   // what an application did depends on more than the node
  static constexpr bool is_of_device = false;  // nor is a device judged by it
  using Case = RecordCase;
  using Axes = RecordShape;
  using Sample = RecordSample;
  struct Details {
    double total_us = 0;  // of all times that it was done
  };
  static Seconds timed(const Case&, std::span<const Sample> trial);
  static Repetition repetition();
  static std::vector<Result<Records>> results(const Series<Records>&);
  static std::string_view counted(const Case&, const Result<Records>&);
};
using RecordSeries = Series<Records>;
using RecordPoint = Point<Records>;
using RecordResult = Result<Records>;

std::optional<std::string> flaw_of(const RecordShape&);
std::optional<std::string> flaw_of(const RecordSample&);
std::string text_of(const RecordShape&);  // "64 MiB"; "132x1x1 blocks of 256x1x1, 32 registers"; empty of calls

}  // namespace npgpu

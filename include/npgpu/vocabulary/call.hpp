// Calls of the CUDA runtime: what they cost the host, and how long their work takes. A case with a CallShape is a
// point.
//
// Example:
//   const npgpu::DeviceInfo gpu = npgpu::devices::find("sim:h200");  // or cuda:0
//   std::vector<npgpu::Step<npgpu::Calls>> steps = npgpu::all_calls(gpu);
//   std::erase_if(steps, [](const auto& step) { return step.question.call != npgpu::Call::graph_launch; });
//   for (const auto& step : steps) std::cout << title(step.question) << ", " << text_of(step.axes) << '\n';
//   npgpu::Plan plan;  // for npgpu::measure()
//   npgpu::add<npgpu::Calls>(plan, *npgpu::reaching(npgpu::backends<npgpu::Calls>(), "sim").at(0), gpu, steps);
//   std::cout << plan.points() << " points\n";
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/field.hpp"

namespace npgpu {

enum class Call {
  launch,              // cudaLaunchKernel of an empty kernel
  cooperative_launch,  // cudaLaunchCooperativeKernel of an empty kernel
  signal,              // launch of a kernel that writes a word to host memory; done: the host sees the word
  event_record,        // cudaEventRecord
  event_wait,          // cudaStreamWaitEvent on an event that has happened
  event_elapsed,       // cudaEventElapsedTime
  stream_synchronize,  // cudaStreamSynchronize of an idle stream
  callback,            // cudaLaunchHostFunc of an empty function
  memset,              // cudaMemsetAsync
  malloc_free,         // cudaMalloc and cudaFree
  pool_alloc_free,     // cudaMallocAsync and cudaFreeAsync, from a pool that keeps its memory
  copy_in,             // cudaMemcpy from pageable memory to the device; small ones return before they are done
  copy_within,         // cudaMemcpy within the device's memory, which returns before it is done
  launches,            // the kernels of a graph, launched call by call
  default_launches,    // the same, every other one in the default stream, which other streams wait for
  graph_launch,        // cudaGraphLaunch of a graph of empty kernels
  graph_instantiate,   // cudaGraphInstantiate
  graph_update,        // cudaGraphExecUpdate with a graph of the same nodes
  // What follows after memory is freed. The work is done when reads of the device's memory take no longer than before.
  free,          // cudaFree
  pool_free,     // cudaFreeAsync into a pool that keeps the memory
  pool_trim,     // cudaFreeAsync, and cudaMemPoolTrimTo of all that the pool has
  managed_free,  // cudaFree of managed memory that is on the device
  // These two are of older traces, and not measured.
  process_free,  // cudaFree by another process
  process_end,   // the end of another process, and of its context
  function,      // a function of the user's own (npgpu/measuring/campaign.hpp)
};
// Not part of all_calls(): see calls_of_frees().
constexpr bool frees_memory(Call call) { return call >= Call::free && call != Call::function; }
// Whether the device still works when the call has returned, so that the end of the work has a time of its own. After a
// free and in a user's function it may.
constexpr bool leaves_work(Call call) {
  switch (call) {
    case Call::event_elapsed:
    case Call::stream_synchronize:
    case Call::malloc_free:
    case Call::graph_instantiate:
    case Call::graph_update: return false;
    default: return call < Call::free;
  }
}
enum class Spacing {
  alone,         // the device is idle before every call
  back_to_back,  // all calls of a trial in a row, then one wait
  gated,         // the same behind a gate, and the work's time is the device's own; of functions
};
enum class GraphForm {
  none,   // not a call about graphs
  chain,  // each kernel waits for the one before
  fork,   // no kernel waits for another
};

template <>
inline constexpr std::array<std::string_view, 25> names_of<Call>{"launch",
                                                                 "cooperative-launch",
                                                                 "signal",
                                                                 "event-record",
                                                                 "event-wait",
                                                                 "event-elapsed",
                                                                 "stream-synchronize",
                                                                 "callback",
                                                                 "memset",
                                                                 "malloc-free",
                                                                 "pool-alloc-free",
                                                                 "copy-in",
                                                                 "copy-within",
                                                                 "launches",
                                                                 "default-launches",
                                                                 "graph-launch",
                                                                 "graph-instantiate",
                                                                 "graph-update",
                                                                 "free",
                                                                 "pool-free",
                                                                 "pool-trim",
                                                                 "managed-free",
                                                                 "process-free",
                                                                 "process-end",
                                                                 "function"};
template <> inline constexpr std::array<std::string_view, 3> names_of<Spacing>{"alone", "back-to-back", "gated"};
template <> inline constexpr std::array<std::string_view, 3> names_of<GraphForm>{"none", "chain", "fork"};

struct CallCase {
  std::string device{};  // cuda:0, sim:h200
  Call call = Call::launch;
  Spacing spacing = Spacing::alone;
  GraphForm form = GraphForm::none;
  std::string beside = "nobody";  // see is_beside()
  std::string function{};         // the name of the user's function

  auto operator<=>(const CallCase&) const = default;
};
template <>
inline constexpr auto fields_of<CallCase> = fields(field("device", &CallCase::device), field("call", &CallCase::call),
                                                   field("manner", &CallCase::spacing), field("form", &CallCase::form),
                                                   optional_field("beside", &CallCase::beside),
                                                   optional_field("function", &CallCase::function));
inline std::string device_of(const CallCase& c) { return c.device; }
inline bool is_host_timed(const CallCase& c) { return c.spacing != Spacing::gated; }
// "calls cuda:0 launch alone", "calls cuda:0 graph-launch back-to-back chain", "calls cuda:0 launch alone beside=idle",
// "calls cuda:0 function gated saxpy"
std::string title(const CallCase&);

struct CallShape {
  std::uint64_t bytes = 0;   // of a kernel's arguments, or of memory that is set, copied, allocated or freed; 0: none
  std::uint32_t blocks = 0;  // of a kernel; 0: no kernel
  std::uint32_t nodes = 0;   // kernels of a graph, or launched instead of it; 0: no graph

  auto operator<=>(const CallShape&) const = default;
};
template <>
inline constexpr auto fields_of<CallShape> = fields(field("bytes", &CallShape::bytes, "B"),
                                                    field("blocks", &CallShape::blocks),
                                                    field("nodes", &CallShape::nodes));

// One trial of `repeats` calls. A pair such as malloc and free counts as one call, and so do all launches of
// `launches` and `default_launches`.
struct CallSample {
  std::uint32_t visit = 0;
  std::uint32_t trial = 0;
  std::int32_t intact = -1;  // 1 the call's work was checked and right, 0 wrong, -1 not checked after this trial
  std::uint64_t repeats = 0;
  double host_us = not_measured;  // of all repeats together, from each call (back-to-back: the first) to its return
  double done_us = not_measured;  // the same until the host knows that the work is done; NaN where a call leaves none
  // For calls that free memory: the median time of a read of the device's memory until the work is done, divided by the
  // time of a read alone. NaN: no read was slower.
  double slowed = not_measured;

  bool operator==(const CallSample&) const = default;
};
template <>
inline constexpr auto fields_of<CallSample> = fields(field("visit", &CallSample::visit),
                                                     field("trial", &CallSample::trial),
                                                     field("intact", &CallSample::intact, "1", intact_codes),
                                                     field("repeats", &CallSample::repeats),
                                                     field("host_us", &CallSample::host_us, "us"),
                                                     field("done_us", &CallSample::done_us, "us"),
                                                     optional_field("slowed", &CallSample::slowed));

inline TimeClass class_of(const CallCase& c) { return is_host_timed(c) ? TimeClass::calls : TimeClass::kernels; }

struct Calls : UsualKind {
  static constexpr std::string_view name = "calls";
  static constexpr std::string_view singular = "call";
  static constexpr std::string_view command = "calls";
  using Case = CallCase;
  using Axes = CallShape;
  using Sample = CallSample;
  struct Details {
    Estimate host_us;  // until the call returns; back-to-back: its share of the row
    Estimate done_us;  // until its work is done; NaN where it leaves none
    Estimate slowed;   // of frees: a read's time until then over that of one alone; NaN where none took longer
  };
  static Seconds timed(const Case&, std::span<const Sample> trial);  // until done, where that is measured
  static Repetition repetition();
  static std::vector<Result<Calls>> results(const Series<Calls>&);
  static std::string_view counted(const Case&, const Result<Calls>&);
  static std::vector<FigureChoice> key_figures(const Case&, std::uint32_t lane);
};
using CallSeries = Series<Calls>;
using CallPoint = Point<Calls>;
using CallResult = Result<Calls>;

std::optional<std::string> flaw_of(const CallShape&);
// "4 KiB", "132 blocks", "chain of 64"
std::string text_of(const CallShape&);

// Every call but those that free memory, alone and, where that has a meaning, back to back: kernels by bytes of
// arguments and by blocks, up to 100 blocks for each multiprocessor; memory by bytes; graphs of 1 to 1024 kernels.
std::vector<Step<Calls>> all_calls(const DeviceInfo&);
// Every call that frees memory, over sizes of 256 MiB up to 16 GiB and a quarter of the device's memory; managed memory
// up to 1 GiB.
std::vector<Step<Calls>> calls_of_frees(const DeviceInfo&);

}  // namespace npgpu

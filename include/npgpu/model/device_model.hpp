// One description of a device: the figures by which kernels take their time. A trace gives it with intervals
// (device_models()), and the spec of a simulated device gives it without (npgpu info --device sim:NAME): both by the
// same names, which are the keys of data/devices/README.md.
//
// From it follows how long a kernel takes that nobody has run yet, and what bounds it. Perez & Piccoli 2011 measure
// the four corners for that purpose. The model is Little's law as Volkov 2016 uses it, with a smooth knee between
// latency and rate, the rate at which blocks are dispatched, and the turnaround of a block.
//
// Example:
//   const auto devices = npgpu::device_models(npgpu::read_trace("node.h5"));
//   const npgpu::KernelCounts axpy{.flops = 2e9, .bytes = 12e9, .blocks = 3906250, .threads = 256};
//   const npgpu::KernelTime time = npgpu::time_of_kernel(devices.at(0), axpy);
//   std::cout << npgpu::microseconds(time.likely) << " us, bound by " << npgpu::name(time.bound) << '\n';
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu {

struct DeviceModel {
  std::string device{}, device_name{}, device_uuid{};
  bool simulated = false;
  std::string compute_capability{};  // "9.0", of a GPU of NVIDIA; empty where nobody says
  // By key; the method says where a figure comes from: measured by which probe, reported by the driver, or assumed. A
  // key that is not there is not known.
  std::map<std::string, Estimate, std::less<>> figures{};
  std::vector<std::string> warnings{};  // a sentence each: where what was measured contradicts what the driver reports

  double at(std::string_view key) const;                    // NaN where it is not known
  double at(std::string_view key, double otherwise) const;  // with what holds where it is not known
};

// One for each device of the trace with a series of compute or bandwidth.
std::vector<DeviceModel> device_models(const Trace&);
// The same from the facts of a simulated device's spec.
DeviceModel device_model(const DeviceInfo&);

// A kernel as its author counts it: the whole of it.
struct KernelCounts {
  double flops = 0;  // a multiply-add is two, and so is any other operation that takes an instruction of its own
  double bytes = 0;  // between registers and memory, read and written
  // How many of these are written; NaN: not known, and half of them are taken to be.
  double bytes_written = not_measured;
  DataType type = DataType::fp32;
  std::uint32_t word_bytes = 4;  // of one access of a thread
  bool random = false;           // a thread's words lie anywhere
  std::uint64_t blocks = 1;
  std::uint32_t threads = 256;  // of a block
  // What a thread has, and a block besides what each takes; 0: they set no limit.
  std::uint32_t registers = 0, shared_bytes = 0;
  // Loads, or operations, of a thread that wait for none of each other; 0: not known.
  std::uint32_t in_flight = 0;
  std::uint32_t source_registers = 0;  // different ones that an operation reads; 0: not known, and 3 are taken

  auto operator<=>(const KernelCounts&) const = default;
};

enum class KernelBound {
  arithmetic,            // the lanes are busy
  dependent_operations,  // each waits for the one before it, and there are too few warps to fill the time
  memory_rate,
  memory_latency,  // too few bytes are under way
  path_to_memory,  // of one multiprocessor: too few of them work
  block_dispatch,  // blocks come no faster
  launch,          // the kernel is shorter than what an empty one takes
};
template <>
inline constexpr std::array<std::string_view, 7> names_of<KernelBound>{"arithmetic",
                                                                       "operations that wait for each other",
                                                                       "the memory's rate",
                                                                       "the memory's latency",
                                                                       "a multiprocessor's way to memory",
                                                                       "the dispatch of blocks",
                                                                       "its launch"};

struct KernelTime {
  Seconds likely{0}, low{0}, high{0};  // 95 %; see time_of_kernel()
  KernelBound bound = KernelBound::launch;
  Seconds arithmetic{0}, memory{0}, launch{0};  // each alone
  std::uint64_t slots = 0;                      // blocks that the device holds at once
  double waves = 0;                             // blocks over slots
  double last_wave = 1;                         // how many times longer it takes because its last wave is not full
  struct Used {
    std::string key{};
    Estimate figure{};
    double longer = 0;  // by how much the kernel takes longer if this figure is at the worse end of its interval
  };
  std::vector<Used> used{};          // figures on which the time rests, in the order of their keys
  std::vector<std::string> notes{};  // what is not known of the kernel or the device, a sentence each
};

// Its interval holds the figures' own intervals, what is not known of the kernel (how many accesses are in flight,
// where `in_flight` is 0), and the model's own error: 4 % shorter to 10 % longer where arithmetic bounds it, 7 to 11 %
// where memory does, 11 to 16 % in loops, 9 to 11 % where both count, 20 % of fp16 and bf16, and 17 % or more where
// `in_flight` is 0. So far off were 95 % of kernels on an H200 (see docs/dev/predictions.md). Throws Error(usage) where
// the counts are of no kernel, no block fits the device, or a figure that it takes is not known: the sentence names the
// probe that measures it.
KernelTime time_of_kernel(const DeviceModel&, const KernelCounts&);

// The likely time alone: without intervals, for sweeps.
Seconds likely_time(const DeviceModel&, const KernelCounts&);

}  // namespace npgpu

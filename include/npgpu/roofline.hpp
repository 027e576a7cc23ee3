// The roofline of a device: the rates at which its memories and its arithmetic can go at most, and kernels of the
// user's own. A kernel that does W operations on B bytes takes no less than W / P and B / Q at a roof of P operations
// and one of Q bytes a second; the two are the same at an intensity of P / Q operations a byte, the ridge (Williams,
// Waterman & Patterson 2009, CACM 52(4)).
//
// Example:
//   for (const npgpu::Roofline& device : npgpu::rooflines_of(npgpu::read_trace("node.h5"))) {
//     for (const npgpu::Roof& roof : device.roofs) std::cout << roof.name << ": " << roof.rate.value << '\n';
//     const npgpu::UserKernel mine{"mine", {{"fp32", 2e12}, {"memory", 1e11}}, npgpu::Seconds{0.05}};
//     const npgpu::PlacedKernel placed = npgpu::placed(device, mine);
//     std::cout << placed.bound << ": " << 100 * placed.share << " %\n";
//   }
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "npgpu/probe.hpp"
#include "npgpu/result.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

// The best rate of a series of the trace, with the interval of that point. Of L2 that of the largest set that is no
// more than half of it: of smaller ones the blocks of a multiprocessor meet at the same lines, which leave L2 once for
// both. Of tensor cores that have wgmma, where the trace has mma alone, which does not keep them busy, there is a
// second roof: their documented rate.
struct Roof {
  std::string name{};      // "memory", "L2", "shared"; "fp32", "tensor fp16 mma", "tensor fp16 peak"
  bool is_memory = false;  // B/s; else operations a second
  Estimate rate{};
  double clock_mhz = not_measured;  // at which it was measured
  std::string at{};                 // the shape; of a documented rate its source
  std::vector<std::string> doubts{};
};

// Where a roof of arithmetic meets one of a memory.
struct Ridge {
  std::string arithmetic{}, memory{};
  Estimate intensity{};  // operations a byte; its interval holds the quotients of all rates in both intervals
};

struct Roofline {
  std::string device{}, device_name{}, device_uuid{};
  bool simulated = false;
  std::vector<Roof> roofs{};           // memories, the slowest first; then arithmetic, as the trace has it
  std::vector<Ridge> ridges{};         // of each arithmetic with each memory
  std::vector<std::string> missing{};  // a sentence each: which roof is not known, and what would measure it

  // Null where there is none. Of "tensor fp16", which leaves the instruction open, the faster.
  const Roof* roof(const std::string& name) const;
};
// One for each device of the trace that has a roof of its memory or its arithmetic.
std::vector<Roofline> rooflines_of(const Trace&);

// What a kernel did, by the roofs that it is compared with: operations of a type, bytes of a memory.
struct KernelWork {
  std::string roof{};  // "fp32", "tensor fp16", "memory", "L2"
  double amount = 0;
};
struct UserKernel {
  std::string name{};
  std::vector<KernelWork> work{};
  Seconds time{0};
  std::size_t launches = 1;  // of which these are the sums

  double operations() const;
  double bytes() const;  // of the memory
};

struct PlacedKernel {
  UserKernel kernel{};
  double intensity = not_measured;  // operations for each byte of the memory; infinite where it has none
  double rate = not_measured;       // operations a second
  std::string unit = "FLOP/s";      // of the rate; "OP/s" where all of them are of whole numbers
  struct Use {
    std::string roof{};
    double share = not_measured;  // of the kernel's time that this work takes at its roof
  };
  std::vector<Use> uses{};  // the largest first
  std::string bound{};      // the first of them
  bool is_bound_by_memory = false;
  double share = not_measured;  // of its time that it could not do without
  double least_us = not_measured;
  std::vector<std::string> unknown{};  // roofs that the trace does not have

  bool is_beyond() const { return share > 1.03; }  // counts or time are not those of this device
};
PlacedKernel placed(const Roofline&, const UserKernel&);

// The kernels of a profile by Nsight Compute (`ncu --csv`, of either page), those of one name together. Throws
// Error(usage) with what it lacks.
std::vector<UserKernel> kernels_of_profile(std::string_view csv, const std::string& name);

}  // namespace npgpu

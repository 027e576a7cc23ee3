// The experiments of `npgpu streams`: lists of jobs, each once. What is asked of a device is decided here and nowhere
// else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npgpu/vocabulary/job.hpp"

namespace npgpu {

// What a user may ask of whole jobs; an empty list stands for the experiment's own values.
struct JobChoice {
  std::string device;
  std::vector<Workload> workloads{Workload::increment};
  std::vector<Order> orders{Order::breadth_first};
  std::vector<StreamPool> pools{};
  std::vector<Issuing> issues{Issuing::streams};
  std::vector<std::uint64_t> bytes_in{}, bytes_out{}, iterations{}, chunks{}, streams{};
  std::uint32_t threads = 512;
};

// Gomez-Luna et al. 2012, experiment 1: 15*2^20 ints each way, unsplit and in all divisors of that up to 64, which
// divide its 30720 blocks of 512, with 20 lengths of kernel: the paper's iterations on its GPUs; on others, kernels 0.1
// to 4 times as long as the copies (kernel_ratio). In streams that are there, and in ones that are made for the job.
// `device_name`: as the driver has it.
std::vector<JobStep> fixed_experiment(const JobChoice&, const std::string& device_name);
// Gomez-Luna et al. 2012, experiment 2: 24 MiB in both directions together, from 1 in and 23 out to 23 in and 1 out;
// unsplit and in 16, with five lengths of kernel and both pools. All divisions have the same iterations, as in the
// paper's figures, which no ratio gives: on other GPUs than the paper's they are 8 to 128.
std::vector<JobStep> asymmetric_experiment(const JobChoice&, const std::string& device_name);
// Every combination of the user's own lists; as many streams as chunks where none are given.
std::vector<JobStep> chosen_jobs(const JobChoice&);

// The cost of each part of a job by itself: what a simulator of streams takes as input. `in_a_hurry`: a third of the
// points, without how kernels of some blocks go in parts.
std::vector<JobStep> overheads_experiment(const std::string& device, bool in_a_hurry = false);

// Bytes of the chunks for which the host's time of calls is measured. A driver takes short copies another way than long
// ones: on an H200 a call to copy 24 KiB takes 2.7 us, and one to copy 26 KiB 1.3.
inline constexpr std::uint64_t call_sizes[] = {128,      1 * KiB,  4 * KiB,  8 * KiB, 16 * KiB,
                                               24 * KiB, 26 * KiB, 32 * KiB, 64 * KiB};

// Workloads that no fit has seen: sizes in and out together 64 KiB..512 MiB, shares 1:23..23:1, kernels of 1..10,000
// blocks and of 0.05..20 times the copies' time (kernel_ratio), all uniform in their logarithm; the kernels in turn.
// Each unsplit and in up to 15 counts of chunks, and issued in each of these ways, all points in one random order.
// Another seed is another design; the same one is the same everywhere.
constexpr std::uint64_t usual_seed = 20'000'924;
std::vector<JobStep> design_experiment(const std::string& device, std::uint32_t workloads,
                                       std::uint64_t seed = usual_seed,
                                       const std::vector<Issuing>& issues = {Issuing::streams});

}  // namespace npgpu

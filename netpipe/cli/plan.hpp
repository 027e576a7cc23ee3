// What will be measured, decided and checked before anything is: a pure list of sweeps, with what was left out
// and why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "netpipe/jobs/experiments.hpp"
#include "npgpu/runner.hpp"
#include "npgpu/statistics.hpp"
#include "npgpu/module.hpp"
#include "npgpu/probe.hpp"

namespace npgpu::cli {

struct PlannedSweep {
  const Module* module;
  DeviceInfo device;
  TransferCase question;
  std::vector<std::uint64_t> sizes;
  MemoryNeed need;  // all lanes together
};

struct PlannedProbe {
  const Probe* probe;
  DeviceInfo device;
  ProbeCase question;
  std::vector<Shape> shapes;
};

// In the order in which they run; one runner serves all of a device's.
struct PlannedStreams {
  const Backend<Jobs>* backend;
  DeviceInfo device;
  std::vector<PlannedJob> jobs;
  MemoryNeed need;
};

// Transfers first, then probes, then jobs in streams.
struct Plan {
  std::vector<PlannedSweep> sweeps;
  std::vector<PlannedProbe> probes;
  std::vector<PlannedStreams> streams;
  std::vector<std::string> left_out;  // a sentence each

  std::vector<DeviceInfo> devices() const;  // each once, in order
  std::size_t jobs() const;    // in streams
  std::size_t points() const;  // and shapes and jobs
  bool empty() const { return sweeps.empty() && probes.empty() && streams.empty(); }
  MemoryNeed max_needed() const;
};

// The module that reaches a device when the user names none: cudaMemcpy, memcpy or simulated. Throws Error:
// usage for a word that is no device, nothing where this build or machine has no such device.
const Module& default_module(const std::string& device);
// Throws Error(usage) naming the modules there are, or why this one was left out of the build.
const Module& module_named(const std::string& name);
// What a transfer measures when the user names no device: the first GPU, or the host.
std::string default_device();

// Adds a sweep, or leaves it out with the reason: refused by its module, or larger than what memory is free.
void add(Plan&, const Module&, const DeviceInfo&, const TransferCase&, const std::vector<std::uint64_t>& sizes);

// Adds a probe with these shapes, or all that answer the case, or leaves it out with the reason: refused, or a shape
// that its kernel does not take.
void add(Plan&, const Probe&, const DeviceInfo&, const ProbeCase&, const std::vector<Shape>& shapes = {});

// Adds jobs, but not those that cannot be: each reason is told once, and of how many.
void add(Plan&, const Backend<Jobs>&, const DeviceInfo&, const std::vector<PlannedJob>&);

// One of each kind, to guess times by.
struct Schedules {
  const Schedule& of_sweeps;
  const Schedule& of_probes;
  const Schedule& of_jobs;
};
// The plan as a table for --dry-run, with a guess of the time each sweep takes.
std::string plan_text(const Plan&, const Schedules&);
std::string plan_json(const Plan&, const Schedules&);
// A guess of one point's wall time: a copy at a plausible rate under this schedule, and its check.
Seconds guess(const Schedule&, const TransferCase&, std::uint64_t bytes);
Seconds guess(const Schedule&, const Shape&);
Seconds guess(const Schedule&, const PlannedJob&);

}  // namespace npgpu::cli

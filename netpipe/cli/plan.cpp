#include "netpipe/cli/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "npgpu/error.hpp"
#include "npgpu/report.hpp"

namespace npgpu::cli {

namespace {

bool starts(const std::string& text, std::string_view prefix) { return text.rfind(prefix, 0) == 0; }

// Why this sweep does not fit into what is free now; nothing if it does.
std::optional<std::string> too_large(const PlannedSweep& sweep) {
  const MemoryNeed free = sweep.module->available(sweep.question);
  const auto sentence = [&](std::string_view where, std::uint64_t need, std::uint64_t have) {
    return fmt::format("needs {} of {} memory for sizes up to {}, and {} are free: lower --end or --sizes",
                       size_text(need), where, size_text(sweep.sizes.back()), size_text(have));
  };
  if (sweep.need.host_bytes > free.host_bytes) return sentence("host", sweep.need.host_bytes, free.host_bytes);
  if (sweep.need.device_bytes > free.device_bytes) return sentence("device", sweep.need.device_bytes, free.device_bytes);
  return std::nullopt;
}

// Why a kernel does not take one of these shapes; nothing if it does. Whatever else goes wrong with a device here goes
// wrong again when it is measured, and is told then.
std::optional<std::string> impossible(const Probe& probe, const ProbeCase& question, const std::vector<Shape>& shapes) {
  const std::uint64_t free = shapes.empty() ? 0 : probe.layout(question).memory_bytes;
  for (const Shape& shape : shapes) {
    if (free > 0 && shape.bytes > free)
      return fmt::format("--shape: a working set of {}, and {} are free", size_text(shape.bytes), size_text(free));
    try {
      probe.open(question, shape.bytes)->prepare(shape);
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::usage) return e.what();
    }
  }
  return std::nullopt;
}

// Sums that stay at the top instead of wrapping: an absurd --end must still be refused as too large.
std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

}  // namespace

std::vector<DeviceInfo> Plan::devices() const {
  std::vector<DeviceInfo> all;
  const auto add = [&](const DeviceInfo& device) {
    const auto same = [&](const DeviceInfo& have) { return have.id == device.id; };
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(device);
  };
  for (const PlannedSweep& sweep : sweeps) add(sweep.device);
  for (const PlannedProbe& probe : probes) add(probe.device);
  for (const PlannedStreams& one : streams) add(one.device);
  return all;
}

std::size_t Plan::jobs() const {
  std::size_t sum = 0;
  for (const PlannedStreams& one : streams) sum += one.jobs.size();
  return sum;
}

std::size_t Plan::points() const {
  std::size_t sum = jobs();
  for (const PlannedSweep& sweep : sweeps) sum += sweep.sizes.size();
  for (const PlannedProbe& probe : probes) sum += probe.shapes.size();
  return sum;
}

MemoryNeed Plan::max_needed() const {
  MemoryNeed most;
  for (const PlannedSweep& sweep : sweeps) {
    most.host_bytes = std::max(most.host_bytes, sweep.need.host_bytes);
    most.device_bytes = std::max(most.device_bytes, sweep.need.device_bytes);
  }
  for (const PlannedStreams& one : streams) {
    most.host_bytes = std::max(most.host_bytes, one.need.host_bytes);
    most.device_bytes = std::max(most.device_bytes, one.need.device_bytes);
  }
  return most;
}

const Module& module_named(const std::string& name) {
  if (const Module* module = find_module(name)) return *module;
  for (const MissingModule& missing : missing_modules())
    if (missing.name == name)
      throw Error(ErrorKind::usage, fmt::format("--module: {} is not in this build: it {}", name, missing.reason));
  std::string names;
  for (const auto& module : modules()) names += (names.empty() ? "" : ", ") + std::string(module->name());
  throw Error(ErrorKind::usage, fmt::format("--module: '{}' is no module; there are {}", name, names));
}

const Module& default_module(const std::string& device) {
  if (device == "host") return module_named("memcpy");
  if (starts(device, "sim:")) return module_named("simulated");
  if (starts(device, "cuda:")) {
    if (const Module* module = find_module("cudaMemcpy")) return *module;
    for (const MissingModule& missing : missing_modules())
      if (missing.name == "cudaMemcpy")
        throw Error(ErrorKind::nothing,
                    fmt::format("--device: {} cannot be measured by this build: it {}", device, missing.reason));
  }
  throw Error(ErrorKind::usage,
              fmt::format("--device: '{}' is no device; write host, cuda:N or sim:NAME (npgpu list shows them)", device));
}

std::string default_device() {
  if (const Module* module = find_module("cudaMemcpy")) {
    const std::vector<DeviceInfo> gpus = module->devices();
    if (!gpus.empty()) return gpus.front().id;
  }
  return "host";
}

void add(Plan& plan, const Module& module, const DeviceInfo& device, const TransferCase& question,
         const std::vector<std::uint64_t>& sizes) {
  PlannedSweep sweep{&module, device, question, sizes, {}};
  if (const auto why = module.refuses(question)) {
    plan.left_out.push_back(title(question) + ": " + *why);
    return;
  }
  for (const TransferCase& lane : lanes(question)) {
    const MemoryNeed need = module.needs(lane, sizes.back());
    sweep.need.host_bytes = plus(sweep.need.host_bytes, need.host_bytes);
    sweep.need.device_bytes = plus(sweep.need.device_bytes, need.device_bytes);
  }
  if (const auto why = too_large(sweep)) {
    plan.left_out.push_back(title(question) + ": " + *why);
    return;
  }
  plan.sweeps.push_back(std::move(sweep));
}

Seconds guess(const Schedule& schedule, const TransferCase& question, std::uint64_t bytes) {
  // Round figures that only weigh one point against another; the time left is corrected by what points really take.
  constexpr double start_s = 5e-6;
  const double bytes_per_s = question.direction == Direction::d2d ? 1e12 : 1.5e10;
  const int legs = question.pattern == Pattern::stream ? 1 : 2;
  const Seconds copy{start_s + static_cast<double>(bytes) / bytes_per_s};
  const Seconds check{static_cast<double>(bytes) / 4e9 * legs};
  return schedule.guess(copy * legs) + check;
}

void add(Plan& plan, const Probe& probe, const DeviceInfo& device, const ProbeCase& question,
         const std::vector<Shape>& shapes) {
  if (const auto why = probe.refuses(question)) {
    plan.left_out.push_back(title(question) + ": " + *why);
    return;
  }
  if (const auto why = impossible(probe, question, shapes)) {
    plan.left_out.push_back(title(question) + ": " + *why);
    return;
  }
  plan.probes.push_back({&probe, device, question, shapes.empty() ? probe.shapes(question) : shapes});
}

Seconds guess(const Schedule& schedule, const Shape&) {
  constexpr Seconds repeat{1e-6};  // short against a trial
  return schedule.guess(repeat);
}

void add(Plan& plan, const Backend<Jobs>& backend, const DeviceInfo& device, const std::vector<PlannedJob>& jobs) {
  PlannedStreams planned{&backend, device, {}, {}};
  struct Refused {
    JobCase first;
    std::size_t jobs = 0;
  };
  std::map<std::string, Refused> refused;  // by reason
  std::vector<JobStep> questions;
  for (const PlannedJob& job : jobs) {
    auto why = refuses(job.step.question, job.step.job);
    if (!why) why = backend.refuses(job.step);
    if (why) {
      ++refused.try_emplace(*why, Refused{job.step.question}).first->second.jobs;
      continue;
    }
    planned.jobs.push_back(job);
    questions.push_back(job.step);
  }
  for (const auto& [why, those] : refused) {
    const std::string sentence = title(those.first) + ": " + why;
    plan.left_out.push_back(those.jobs > 1 ? fmt::format("{} (and {} more such jobs)", sentence, those.jobs - 1)
                                           : sentence);
  }
  if (questions.empty()) return;
  planned.need = backend.needs(device.id, questions);
  const MemoryNeed free = backend.available(device.id);
  for (const auto& [where, need, have] : {std::tuple{"pinned host", planned.need.host_bytes, free.host_bytes},
                                          std::tuple{"device", planned.need.device_bytes, free.device_bytes}})
    if (need > have) {
      plan.left_out.push_back(fmt::format("jobs in streams on {}: need {} of {} memory, and {} are free: lower --bytes-in or --bytes-out",
                                          device.id, size_text(need), where, size_text(have)));
      return;
    }
  plan.streams.push_back(std::move(planned));
}

Seconds guess(const Schedule& schedule, const PlannedJob& planned) {
  // Round figures of a GPU on PCIe 5; the time left is corrected by what points really take.
  constexpr double start_s = 20e-6, bytes_per_s = 4e10, word_rounds_per_s = 1e12;
  const JobShape& job = planned.step.job;
  const double copies = static_cast<double>(job.bytes_in + job.bytes_out) / bytes_per_s;
  const double kernel = planned.ratio > 0 ? planned.ratio * copies
                                          : static_cast<double>(job.kernel_bytes / 4 * job.iterations) / word_rounds_per_s;
  // As much again to set up and to check.
  return schedule.guess(Seconds{start_s + copies + kernel}) + Seconds{0.005 + 3 * copies};
}

std::string plan_text(const Plan& plan, const Schedules& by) {
  std::string text = fmt::format("{:<72} {:>6} {:>9} {:>11} {:>11}\n", "sweep", "points", "about", "host mem", "device mem");
  Seconds total{0};
  for (const PlannedSweep& sweep : plan.sweeps) {
    Seconds time{0};
    for (const std::uint64_t bytes : sweep.sizes) time += guess(by.of_sweeps, sweep.question, bytes);
    total += time;
    text += fmt::format("{:<72} {:>6} {:>7.1f} s {:>11} {:>11}\n", title(sweep.question), sweep.sizes.size(), time.count(),
                        size_text(sweep.need.host_bytes), size_text(sweep.need.device_bytes));
  }
  for (const PlannedProbe& probe : plan.probes) {
    Seconds time{0};
    for (const Shape& shape : probe.shapes) time += guess(by.of_probes, shape);
    total += time;
    text += fmt::format("{:<72} {:>6} {:>7.1f} s\n", title(probe.question), probe.shapes.size(), time.count());
  }
  for (const PlannedStreams& streams : plan.streams) {
    Seconds time{0};
    for (const PlannedJob& job : streams.jobs) time += guess(by.of_jobs, job);
    total += time;
    text += fmt::format("{:<72} {:>6} {:>7.1f} s {:>11} {:>11}\n", "jobs in streams " + streams.device.id, streams.jobs.size(),
                        time.count(), size_text(streams.need.host_bytes), size_text(streams.need.device_bytes));
  }
  text += fmt::format("{} sweeps, {} probes, {} jobs in streams, {} points, about {:.0f} s\n", plan.sweeps.size(),
                      plan.probes.size(), plan.jobs(), plan.points(), total.count());
  if (!plan.sweeps.empty()) text += "schedule: " + by.of_sweeps.text() + '\n';
  if (!plan.probes.empty()) text += "schedule of probes: " + by.of_probes.text() + '\n';
  if (!plan.streams.empty()) text += "schedule of jobs in streams: " + by.of_jobs.text() + '\n';
  for (const std::string& why : plan.left_out) text += "left out: " + why + '\n';
  return text;
}

std::string plan_json(const Plan& plan, const Schedules& by) {
  nlohmann::ordered_json all;
  all["schedule"] = by.of_sweeps.text();
  all["schedule_of_probes"] = by.of_probes.text();
  all["schedule_of_jobs"] = by.of_jobs.text();
  all["sweeps"] = nlohmann::ordered_json::array();
  double total = 0;
  for (const PlannedSweep& sweep : plan.sweeps) {
    double time = 0;
    for (const std::uint64_t bytes : sweep.sizes) time += guess(by.of_sweeps, sweep.question, bytes).count();
    total += time;
    all["sweeps"].push_back({{"title", title(sweep.question)},
                             {"sizes_bytes", sweep.sizes},
                             {"about_s", time},
                             {"host_bytes", sweep.need.host_bytes},
                             {"device_bytes", sweep.need.device_bytes}});
  }
  all["probes"] = nlohmann::ordered_json::array();
  for (const PlannedProbe& probe : plan.probes) {
    double time = 0;
    for (const Shape& shape : probe.shapes) time += guess(by.of_probes, shape).count();
    total += time;
    all["probes"].push_back({{"title", title(probe.question)}, {"shapes", probe.shapes.size()}, {"about_s", time}});
  }
  all["streams"] = nlohmann::ordered_json::array();
  for (const PlannedStreams& streams : plan.streams) {
    double time = 0;
    for (const PlannedJob& job : streams.jobs) time += guess(by.of_jobs, job).count();
    total += time;
    all["streams"].push_back({{"device", streams.device.id},
                              {"jobs", streams.jobs.size()},
                              {"about_s", time},
                              {"host_bytes", streams.need.host_bytes},
                              {"device_bytes", streams.need.device_bytes}});
  }
  all["about_s"] = total;
  all["left_out"] = plan.left_out;
  return all.dump(2) + '\n';
}

}  // namespace npgpu::cli

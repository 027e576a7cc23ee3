// Campaigns over a backend made for the purpose, whose times, refusals and failures are given.
#pragma once

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <tuple>

#include "netpipe/campaign/guess.hpp"
#include "netpipe/campaign/visitor.hpp"
#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/terminal.hpp"
#include "tests/made_trace.hpp"

namespace made_campaign {

using namespace npgpu;
using namespace npgpu::cli;

struct Made {
  bool allows_context_reset = true;
  Workload fails = Workload::none;  // of this workload every job fails, but of none
  ErrorKind fails_as = ErrorKind::failed;
  bool opens = true;
  int opened = 0, runs = 0, calibrations = 0, warm_ups = 0;
  std::vector<double> clocks_mhz{};  // of visits, in their order
  int stops_at = 0;                  // this run asks the program to stop
};

// Copies take 1 ms; a kernel 1 us an iteration.
class MadeRunner final : public Runner<Jobs> {
 public:
  explicit MadeRunner(Made& made) : made_(made) {}
  void prepare(const JobStep& step) override {
    if (step.question.workload != Workload::none && step.question.workload == made_.fails)
      throw Error(made_.fails_as, "it broke");
    job_ = step.axes;
  }
  bool run(std::uint64_t, std::vector<JobSample>& samples) override {
    if (++made_.runs == made_.stops_at) raise(SIGTERM);
    samples.emplace_back().host_us = 1e3 + static_cast<double>(job_.iterations);
    return true;
  }
  std::optional<std::string> check(std::span<JobSample> last) override {
    last[0].intact = 1;
    return std::nullopt;
  }
  JobStep settled(const JobStep& step, std::span<const JobShape> known) override {
    JobStep chosen = step;
    if (step.axes.kernel_ratio > 0) {
      made_.calibrations += known.empty();
      chosen.axes.iterations =
          known.empty() ? static_cast<std::uint64_t>(1000 * step.axes.kernel_ratio) : known[0].iterations;
      chosen.axes.kernel_ratio = 0;
    }
    return chosen;
  }
  void warm_up(Seconds) override { ++made_.warm_ups; }
  Telemetry telemetry() override {
    Telemetry now;
    if (!made_.clocks_mhz.empty()) {
      now.sm_clock_mhz = made_.clocks_mhz.front();
      made_.clocks_mhz.erase(made_.clocks_mhz.begin());
    }
    return now;
  }
  const Clock& clock() const override { return steady_clock(); }
  std::string binding() const override { return "made"; }

 private:
  Made& made_;
  JobShape job_;
};

class MadeBackend final : public Backend<Jobs> {
 public:
  explicit MadeBackend(Made& made, MemoryNeed need = {}) : made_(made), need_(need) {}
  std::string_view name() const override { return "made"; }
  std::string_view device_kind() const override { return "made"; }
  std::string_view summary() const override { return "made"; }
  std::optional<std::string> refuses(const JobStep& step) const override {
    if (step.axes.streams > 100) return "too many streams";
    return std::nullopt;
  }
  MemoryNeed needs(std::span<const JobStep>) const override { return need_; }
  MemoryNeed available(const JobCase&) const override { return {GiB, GiB}; }
  bool allows_context_reset() const override { return made_.allows_context_reset; }
  std::unique_ptr<Runner<Jobs>> open(std::span<const JobStep>) const override {
    ++made_.opened;
    if (!made_.opens) throw Error(made_.fails_as, "out of memory");
    return std::make_unique<MadeRunner>(made_);
  }

 private:
  Made& made_;
  MemoryNeed need_;
};

inline JobStep step(Workload workload, std::uint32_t chunks, double ratio = 0) {
  return {{.device = "made:0", .workload = workload},
          {.bytes_in = MiB,
           .bytes_out = MiB,
           .kernel_bytes = MiB,
           .iterations = ratio > 0 ? 0u : 7u,
           .chunks = chunks,
           .streams = chunks,
           .kernel_ratio = ratio}};
}

inline DeviceInfo made_device() {
  DeviceInfo device;
  device.id = "made:0";
  device.simulated = true;  // nothing to warm up
  return device;
}

inline MeasureOptions options_for(const std::filesystem::path& path, IfExists if_exists = IfExists::refuse,
                                  std::uint32_t rounds = 1, std::uint64_t seed = 1) {
  MeasureOptions options;
  options.output = path;
  options.plan = "made";
  options.if_exists = if_exists;
  options.progress = ProgressForm::none;
  options.seed = seed;
  for_each_kind([&]<class K>() {
    auto& repetition = std::get<RepetitionOf<K>>(options.repetitions);
    repetition.is_classic = true;
    repetition.rounds = rounds;
    repetition.classic.trials = 2;
    repetition.classic.fixed_repeats = 1;
  });
  return options;
}

struct Ran {
  CampaignResult campaign;
  Trace trace;
};

inline Ran run(const std::filesystem::path& path, Made& made, const std::vector<JobStep>& steps,
               IfExists if_exists = IfExists::refuse, DeviceInfo device = made_device(), std::uint32_t rounds = 1,
               std::uint64_t seed = 1) {
  const MadeBackend backend(made);
  Plan plan;
  add<Jobs>(plan, backend, device, steps);
  Ran ran;
  ran.campaign = run_campaign(plan, options_for(path, if_exists, rounds, seed));
  ran.trace = read_trace(path);
  return ran;
}

// Counts how often its devices were begun anew; their links are trained as `links` says, look by look.
class MadeFamily final : public DeviceFamily {
 public:
  explicit MadeFamily(std::vector<std::string>& anew, std::vector<LinkState> links = {})
      : anew_(anew), links_(std::move(links)) {}
  std::string_view kind() const override { return "made"; }
  bool has_gpus() const override { return false; }
  std::vector<DeviceInfo> list() const override { return {}; }
  void reset_context(const std::string& id) const override { anew_.push_back(id); }
  LinkState link_state(const std::string&) const override { return links_.at(looks_++); }

 private:
  std::vector<std::string>& anew_;
  std::vector<LinkState> links_;
  mutable std::size_t looks_ = 0;
};

struct JoinedFamily {
  explicit JoinedFamily(std::vector<std::string>& anew, std::vector<LinkState> links = {}) {
    join<DeviceFamily>(std::make_unique<MadeFamily>(anew, std::move(links)));
  }
  ~JoinedFamily() {
    std::erase_if(registered<DeviceFamily>(), [](const auto& family) { return family->kind() == "made"; });
  }
};

}  // namespace made_campaign

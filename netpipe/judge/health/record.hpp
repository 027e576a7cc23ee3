// What a trace holds of one device, and where the health of devices and of the node is judged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "npgpu/judge/health.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu::model {

// Findings of each device of the trace in its order, then of the host.
std::vector<HealthFinding> health_of_devices(const Trace&, const HealthRules&);

// Values that cannot be and so are not used (Trace::doubts): such a trace is not judged. Nothing where it has none.
std::optional<HealthFinding> judge_values(const Trace&);

// Findings of the node, and of no single device: GPUs that do not answer, copies between GPUs, collectives.
std::vector<HealthFinding> health_of_node(const Trace&);

// What a trace holds of one device: its series, and what was recorded of it before, during and after the run.

template <class K> using SeriesOf = std::vector<const Series<K>*>;

// It lives as long as the trace.
struct DeviceRecord {
  std::string id, name, uuid;
  bool simulated = false;
  Facts before, after;  // `after`: counters at the end of the run, and the link while copying; empty in older traces
  // The same of each run of a continued trace, also of those that measure again what a check leaves open.
  struct Run {
    Facts before, after;
  };
  std::vector<Run> runs{};
  Facts host;
  // What series say of it that stopped because it did not answer any more, or reported a defect of its hardware; also
  // series of another device with which it exchanged bytes.
  std::vector<std::string> lost{}, defects{};
  Kinds::Tuple<SeriesOf> series{};
  // With a second process: their times say nothing of its health, but their results must be right.
  Kinds::Tuple<SeriesOf> beside{};

  template <class K> const SeriesOf<K>& all() const { return std::get<SeriesOf<K>>(series); }

  bool is_host() const { return id == "host"; }
  // Whether its calls are CUDA's, of which it is known what they usually cost.
  bool has_cuda_calls() const { return text("opencl_version").empty(); }
  // NaN or empty where the trace does not say.
  double fact(std::string_view key) const { return number_fact(before, key); }
  std::string text(std::string_view key) const { return text_fact(before, key); }
  // A counter at the end of the run, or at its begin where the end is not known; and how much it rose in all runs of
  // the trace together, NaN if not known.
  double counter(std::string_view key) const;
  double rise(std::string_view key) const;
  // A text at the end of the run, or at its begin; empty where the trace does not say.
  std::string state(std::string_view key) const;
  // Why what `unread_<group>` stands for is not in the trace: "not supported by this GPU", "needs root (no
  // permission)", "NVML error 999 (Unknown Error)".
  std::string why_unread(std::string_view group) const;

  // Whether a series of it failed so.
  bool has_failure(Failure kind) const {
    bool any = false;
    for_each_kind([&]<class K>() {
      for (const Series<K>* one : all<K>()) any = any || one->failure == kind;
    });
    return any;
  }
  // Calls visit(VisitInfo) for each visit to a point of this kind but for windows at rest, where a device lowers its
  // clocks.
  template <class K, class Visit> void each_loaded(Visit visit) const {
    for (const Series<K>* one : all<K>()) {
      if constexpr (requires { is_idle(one->question.work); })
        if (is_idle(one->question.work)) continue;
      for (const auto& info : one->visits) visit(static_cast<const VisitInfo&>(info));
    }
  }
  // Calls visit(VisitInfo, bool is_copy) for each of them, of all kinds.
  template <class Visit> void each_visit(Visit visit) const {
    for_each_kind([&]<class K>() { each_loaded<K>([&](const VisitInfo& info) { visit(info, K::is_copy); }); });
  }
};

// What was read and cannot be is not known: clocks and powers of 0, or of a device that there is not, and temperatures
// that no device works at. Some drivers answer so where they cannot read.
Telemetry believable(Telemetry);
bool is_temperature(double celsius);

// Every device that has series, and every one that a series names and that the trace describes; a host last.
std::vector<DeviceRecord> records_of(const Trace&);

}  // namespace npgpu::model

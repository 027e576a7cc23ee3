// From a trace to what a fleet keeps of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <variant>

#include "netpipe/model/compare/curves.hpp"
#include "netpipe/model/compare/questions.hpp"
#include "netpipe/model/fleet/key_figures.hpp"
#include "netpipe/model/health/device_health.hpp"
#include "netpipe/model/health/findings.hpp"
#include "netpipe/model/health/models.hpp"
#include "netpipe/model/health/soak.hpp"
#include "npgpu/fleet.hpp"

namespace npgpu {

namespace {

// The case as every GPU of every node asks it; of copies between two GPUs the other one is a peer.
template <class Case> Case without_names(const Case& question, const std::string& own) {
  std::map<std::string, std::string> names;
  model::each_device(question, [&](const std::string& device) {
    names[device] = device == own ? "gpu" : device == "host" ? "host" : "peer";
  });
  return model::renamed(question, names);
}

// Copies of several GPUs at once say nothing of one of them, and neither does what was measured with a second
// process.
bool is_of_one_gpu(const TransferCase& c) { return c.more_lanes.empty() && !is_beside(c); }
bool is_of_one_gpu(const auto& c) { return !is_beside(c); }

// A lane's points in order of their axes: the question and its answer.
struct OneLane {
  FleetQuestion question{};
  FleetCurve curve{};
};

template <class K> std::map<std::uint32_t, OneLane> lanes_of(const Series<K>& series) {
  std::map<std::uint32_t, OneLane> all;
  for (const Result<K>& time : results(series)) {
    OneLane& one = all[time.lane];
    const double us = time.time_us.value;
    const bool is_valid = time.usable() && model::is_figure(us);
    one.question.axes.push_back(text_of(time.axes));
    one.question.sizes.push_back(model::size_of(time.axes));
    one.curve.us.push_back(is_valid ? us : not_measured);
    one.curve.disturbed += (time.causes & ~model::own_causes) != 0;
    if (one.curve.why.empty())
      one.curve.why = !time.why.empty() ? time.why : is_valid ? "" : "no trial has a valid time";
  }
  return all;
}

template <class K> void add_series(FleetGpu& gpu, const Series<K>& series) {
  if (!is_of_one_gpu(series.question)) return;
  const auto question = without_names(series.question, gpu.id);
  auto lanes = lanes_of(series);
  if (lanes.empty()) lanes[0];  // it stopped before its first point, and its error says why
  for (auto& [lane, one] : lanes) {
    one.question.kind = K::name;
    one.question.title = title(question) + (lanes.size() > 1 ? fmt::format(", lane {}", lane) : "");
    one.question.lane = lane;
    one.question.time_class = class_of(question);
    if (!series.error.empty()) one.curve.why = series.error;
    else if (one.curve.us.empty()) one.curve.why = "it has no visit";
    one.curve.question = std::make_shared<const FleetQuestion>(std::move(one.question));
    gpu.curves.push_back(std::move(one.curve));
  }
}

// What may explain why one GPU is unlike others, where it is set differently.
void add_settings(FleetGpu& gpu, const model::DeviceRecord& of) {
  const auto add = [&](const Facts& facts, std::string_view name) {
    const Fact* const fact = find_fact(facts, name);
    if (!fact) return;
    std::string value = std::visit([](const auto& is) { return fmt::format("{}", is); }, *fact);
    if (!value.empty()) gpu.settings.push_back({std::string(name), std::move(value)});
  };
  for (const char* name : {"power_limit_w", "iommu_domain", "acs_redirects", "numa_node", "ecc", "mig_mode",
                           "persistence_mode", "vbios_version", "max_sm_clock_mhz", "nvlinks_active"})
    add(of.before, name);
  for (const char* name : {"cpu_model", "kernel", "mps_daemon", "numa_balancing", "transparent_huge_pages"})
    add(of.host, name);
}

void set_facts(FleetGpu& gpu, const model::DeviceRecord& of, const std::vector<SoakDevice>& soaked) {
  const HealthRules none;
  model::Findings findings(of, none);
  findings.throttled_since = model::throttled_since_text(soaked, of.id);
  model::judge_runs(findings);
  model::judge_link(findings);
  model::judge_clocks(findings);
  model::judge_copies(findings);
  model::judge_kernels(findings);
  model::judge_soak(findings, soaked);
  model::judge_counters(findings);
  model::explain(findings);
  const auto value = [&](std::string_view metric) {
    const HealthFinding* const finding = findings.find(metric);
    return finding ? finding->value : not_measured;
  };
  double visits = 0;
  of.each_visit([&](const VisitInfo&, bool) { ++visits; });
  const double generation = number_fact(of.after, "pcie_generation_copying"),
               lanes = number_fact(of.after, "pcie_lanes_copying");
  const HealthFinding* const throttle = findings.find("throttle");
  const bool is_read = throttle && throttle->health != Health::skip;
  const auto set = [&](FleetFact which, double is) { gpu.facts[static_cast<std::size_t>(which)] = is; };
  set(FleetFact::sm_clock_mhz, value("sm_clock"));
  set(FleetFact::memory_clock_mhz, value("memory_clock"));
  set(FleetFact::multiprocessors, value("sms"));
  set(FleetFact::pcie_generation, generation > 0 ? generation : not_measured);
  set(FleetFact::pcie_lanes, lanes > 0 ? lanes : of.fact("pcie_lanes_now"));
  set(FleetFact::throttled, !is_read ? not_measured : throttle->value > 0 ? throttle->value / visits : 0);
  set(FleetFact::temperature_c, value("temperature"));
  set(FleetFact::power_w, value("power"));
  if (is_read && throttle->value > 0) gpu.throttle = throttle->text;
  for (const HealthFinding& finding : findings.all) {
    const FleetDefect defect{finding.metric, finding.text,
                             finding.explanations.empty() ? std::string() : finding.explanations.front().remedy};
    if (finding.if_failed == CheckVerdict::slow && finding.health == Health::fail) gpu.slow.push_back(defect);
    if (finding.if_failed != CheckVerdict::broken) continue;
    if (finding.health == Health::fail) gpu.defects.push_back(defect);
    if (finding.health == Health::warn) gpu.signs.push_back(defect);
  }
}

// What check says of the node, and not of one of its GPUs.
std::vector<FleetDefect> defects_of_node(const Trace& trace) {
  std::vector<FleetDefect> defects;
  for (const HealthFinding& one : model::health_of_node(trace))
    if (one.health == Health::fail && one.if_failed == CheckVerdict::broken)
      defects.push_back(
          {one.metric, one.text, one.explanations.empty() ? std::string() : one.explanations.front().remedy});
  return defects;
}

// What a run of one GPU asked of it, whichever of its node's that was.
std::string plan_without_device(std::string plan) {
  const std::string option = " --device ";
  const std::size_t from = plan.find(option);
  if (from == std::string::npos) return plan;
  const std::size_t to = plan.find(" --", from + option.size());
  return plan.erase(from, to == std::string::npos ? to : to - from);
}

std::string link_of(const model::DeviceRecord& of) {
  const double generation = of.fact("max_pcie_generation"), lanes = of.fact("max_pcie_lanes");
  if (generation > 0 && lanes > 0) return fmt::format("PCIe Gen{:g} x{:g}", generation, lanes);
  const std::string source = of.text("link_source");
  return source.substr(0, source.find(':'));
}

}  // namespace

FleetRun fleet_run(const Trace& trace) {
  FleetRun run;
  run.run_uuid = trace.root.run_uuid;
  run.host = trace.root.hostname;
  run.date = trace.root.start_time_utc;
  run.complete = trace.root.complete;
  run.defects = defects_of_node(trace);
  const std::vector<SoakDevice> soaked = soak_devices(trace);
  for (const model::DeviceRecord& of : model::records_of(trace)) {
    if (of.is_host()) continue;
    FleetGpu& gpu = run.gpus.emplace_back();
    gpu.id = of.id;
    gpu.name = of.name;
    if (of.fact("mig_mode") > 0 && !model::names_part_of_gpu(of.name)) gpu.name += ", part of it (MIG)";
    gpu.uuid = of.uuid;
    gpu.bus = of.text("pci_bus_id");
    gpu.simulated = of.simulated;
    gpu.is_under_load = !of.soaks.empty();
    of.each_loaded_window([&](const VisitInfo&) { gpu.is_under_load = true; });
    gpu.driver = of.text("driver_version");
    gpu.link = link_of(of);
    const auto add = [&](const auto& all) {
      for (const auto* series : all) add_series(gpu, *series);
    };
    add(of.transfers);
    add(of.probes);
    add(of.jobs);
    add(of.calls);
    add(of.partitions);
    gpu.figures = model::key_figures_of(of);
    for (FleetFigure& figure : model::peer_figures_of(trace, of.id)) gpu.figures.push_back(std::move(figure));
    gpu.courses = model::courses_of(of);
    add_settings(gpu, of);
    set_facts(gpu, of, soaked);
  }
  if (!trace.root.plan.empty())
    run.plan = fmt::format("{}\n{} {}", run.gpus.size() == 1 ? plan_without_device(trace.root.plan) : trace.root.plan,
                           trace.root.tool_version, trace.root.git_commit);
  return run;
}

}  // namespace npgpu

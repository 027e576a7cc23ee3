// From a trace to what a fleet keeps of it: key figures, which are the numbers of a GPU that an administrator acts on,
// out of all that a trace holds of it; facts and settings; what is wrong with it whatever others do.
#include "netpipe/judge/health/record.hpp"

#include <fmt/format.h>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/judge/compare/curves.hpp"
#include "netpipe/judge/health/metrics.hpp"
#include "netpipe/judge/health/references.hpp"
#include "netpipe/judge/judge.hpp"
#include "netpipe/judge/matrix/findings.hpp"
#include "npgpu/judge/fleet.hpp"
#include "npgpu/vocabulary/questions.hpp"

namespace npgpu::model {

namespace {

constexpr double least_link_bytes = 1 << 20, most_latency_bytes = 64 << 10, caches_left_behind = 4,
                 unknown_cache = 128 << 20;
constexpr std::size_t few_smallest = 3;

// Which of a series' points a figure is made of: those of at least an eighth of the largest size; the three smallest;
// the one with the best rate.
enum class Taken { largest, smallest, best };

struct KeyFigureOf {
  FigureKind kind = FigureKind::link;
  std::string name{};
  FigureUnit unit = FigureUnit::us;
  Taken of = Taken::largest;
  double least_bytes = 0;  // of a point
  std::uint32_t lane = 0;
  double most_bytes = std::numeric_limits<double>::infinity();

  bool takes(double bytes) const { return bytes >= least_bytes && bytes <= most_bytes; }
};

std::string way_of(Direction direction) {
  return direction == Direction::h2d ? "host to device" : direction == Direction::d2h ? "device to host" : "";
}

// What a check has no figure of.

std::vector<KeyFigureOf> key_figures_in(const TransferSeries& series) {
  constexpr auto rate = FigureUnit::bytes_per_s;
  const TransferCase& c = series.question;
  const std::string way = way_of(c.direction);
  const auto question = question_of(c);
  if (question == CopyQuestion::both_ways)
    return {{FigureKind::both_ways, "both ways, " + way, rate, Taken::largest, least_link_bytes, 0},
            {FigureKind::both_ways, "both ways, " + way_of(reversed(c.direction)), rate, Taken::largest,
             least_link_bytes, 1}};
  if (question == CopyQuestion::to_host_blocking)
    return {{FigureKind::call, "smallest blocking copy, " + way, FigureUnit::us, Taken::smallest, 0, 0,
             most_latency_bytes}};
  return {};
}

std::vector<KeyFigureOf> key_figures_in(const ProbeSeries& series) {
  const ProbeCase& c = series.question;
  const double cache = static_cast<double>(series.layout.cache_bytes);
  const auto question = question_of(c);
  if (question == ProbeQuestion::matrix_products)
    return {{FigureKind::matrix, fmt::format("gemm, {}", name(c.type)),
             is_whole_number(c.type) ? FigureUnit::operations_per_s : FigureUnit::flop_per_s, Taken::best}};
  if (question == ProbeQuestion::memory_latency)
    return {{FigureKind::latency, "memory latency", FigureUnit::us_a_load, Taken::largest,
             cache > 0 ? caches_left_behind * cache : unknown_cache}};
  return {};
}

std::vector<KeyFigureOf> key_figures_in(const CallSeries& series) {
  if (question_of(series.question) != CallQuestion::signal) return {};
  return {{FigureKind::call, "launch until the host sees it", FigureUnit::us, Taken::smallest}};
}

template <class K> double log_rate_at(const Result<K>& point) { return std::log(point.work / point.time_us.value); }

// Points in order of their axes.
template <class K>
std::vector<const Result<K>*> points_for(const std::vector<Result<K>>& times, const KeyFigureOf& want) {
  std::vector<const Result<K>*> points;
  for (const Result<K>& time : times)
    if (time.usable() && time.lane == want.lane && is_figure(time.time_us.value) && want.takes(size_of(time.axes)) &&
        (want.of != Taken::best || std::isfinite(log_rate_at(time))))
      points.push_back(&time);
  if (points.empty()) return points;
  std::ranges::sort(points, {}, [](const auto* one) { return one->axes; });
  if (want.of == Taken::best) {
    const auto best = std::ranges::max_element(points, {}, [](const auto* one) { return log_rate_at(*one); });
    return {*best};
  }
  if (want.of == Taken::smallest) {
    points.resize(std::min(points.size(), few_smallest));
    return points;
  }
  double most = 0;
  for (const auto* point : points) most = std::max(most, size_of(point->axes));
  std::erase_if(points, [&](const auto* point) { return size_of(point->axes) < most / 8; });
  return points;
}

// Geometric means over the points, in the unit: of the values, and of both ends of their intervals.
template <class K> FleetFigure key_figure_of(const KeyFigureOf& want, const std::vector<Result<K>>& times) {
  FleetFigure figure{want.kind, want.name, {}, want.unit};
  const auto points = points_for(times, want);
  if (points.empty()) return figure;
  const auto mean = [&](double Estimate::*which) {
    double log = 0;
    for (const auto* point : points) {
      const double us = point->time_us.*which, work = point->work;
      log += std::log(want.unit == FigureUnit::us          ? us
                      : want.unit == FigureUnit::us_a_load ? us / work
                                                           : work / us * 1e6);
    }
    return std::exp(log / static_cast<double>(points.size()));
  };
  figure.value = mean(&Estimate::value);
  figure.low = mean(is_rate(want.unit) ? &Estimate::high : &Estimate::low);
  figure.high = mean(is_rate(want.unit) ? &Estimate::low : &Estimate::high);
  if (want.of == Taken::best) {
    figure.at = fmt::format("best of {} shape{}", times.size(), times.size() == 1 ? "" : "s");
  } else {
    figure.at = text_of(points.front()->axes);
    if (points.size() > 1) figure.at += " .. " + text_of(points.back()->axes);
  }
  std::size_t by_others = 0;
  for (const auto* point : points) by_others += (point->causes & ~own_causes) != 0;
  figure.disturbed = 2 * by_others > points.size();
  return figure;
}

template <class K> void add_key_figures(std::vector<FleetFigure>& all, const std::vector<const Series<K>*>& some) {
  for (const Series<K>* series : some) {
    const std::vector<KeyFigureOf> wanted = key_figures_in(*series);
    if (wanted.empty()) continue;
    const auto times = results(*series);
    for (const KeyFigureOf& want : wanted) {
      // The first of several modules.
      if (std::ranges::find(all, want.name, &FleetFigure::name) != all.end()) continue;
      FleetFigure figure = key_figure_of(want, times);
      if (std::isfinite(figure.value)) all.push_back(std::move(figure));
    }
  }
}

FigureKind kind_of(const KeyFigure& figure) {
  const bool is_time = figure.unit == "us";
  const SlowedBy by = metric_row(figure.metric)->by;
  if (by == SlowedBy::link) return is_time ? FigureKind::small_copy : FigureKind::link;
  if (by == SlowedBy::calls) return is_time ? FigureKind::call : FigureKind::pageable_copy;
  if (by == SlowedBy::memory) return FigureKind::memory;
  return figure.metric.starts_with("tensor_") ? FigureKind::matrix : FigureKind::compute;
}

// A probe's figure is the best of so many shapes: the best of more of them is better.
std::string points_of_figure(const Findings& findings, const std::string& metric) {
  for (const ProbeSeries* series : findings.device.all<Probes>()) {
    if (title(series->question) != findings.find(metric)->of_case) continue;
    const std::size_t shapes = points_of(*series).size();
    return fmt::format("best of {} shape{}", shapes, shapes == 1 ? "" : "s");
  }
  return {};
}

// Figures as check has them, with their titles, and those that it has not. In the order of kinds.
std::vector<FleetFigure> figures_of(const Findings& findings) {
  std::vector<FleetFigure> all;
  for (const KeyFigure& figure : key_figures(findings.all)) {
    if (figure.metric.ends_with("_1mib")) continue;  // it says nothing of a GPU that the large ones do not say
    // Those of key_figures_in() are compared, of their own scatter; L2 differs from card to card.
    if (figure.metric.ends_with("_duplex") || figure.metric == "memory_latency" || figure.metric == "l2_rate") continue;
    const auto unit = std::ranges::find(names_of<FigureUnit>, figure.unit) - names_of<FigureUnit>.begin();
    all.push_back({kind_of(figure), title_of(figure.metric), points_of_figure(findings, figure.metric),
                   static_cast<FigureUnit>(unit), figure.value, figure.low, figure.high,
                   findings.beside_others.contains(figure.metric)});
  }
  const DeviceRecord& of = findings.device;
  add_key_figures<Transfers>(all, of.all<Transfers>());
  add_key_figures<Probes>(all, of.all<Probes>());
  add_key_figures<Calls>(all, of.all<Calls>());
  sort_stably(all, {}, &FleetFigure::kind);
  return all;
}

// Copies between this GPU and others, of the slowest pair on each kind of link: "copy to another GPU", "copy from
// another GPU".
std::vector<FleetFigure> peer_figures_of(const Trace& trace, const Links& links, const std::string& id) {
  std::map<std::pair<bool, std::string>, FleetFigure> slowest;  // to others, from others; by kind of link
  for (const TransferSeries& series : trace.of<Transfers>()) {
    const TransferCase& c = series.question;
    if (question_of(c) != CopyQuestion::to_peer || c.access == Access::staged || (c.source != id && c.target != id))
      continue;
    const bool is_from = c.target == id;
    const std::string other = is_from ? c.source : c.target;
    FleetFigure figure =
        key_figure_of<Transfers>({FigureKind::link, is_from ? "copy from another GPU" : "copy to another GPU",
                                  FigureUnit::bytes_per_s, Taken::largest, least_link_bytes},
                                 results(series));
    if (!std::isfinite(figure.value)) continue;
    const std::string kind = links.kind(c.source, c.target);
    if (!kind.empty()) figure.at += ", " + kind;
    const auto [known, is_new] = slowest.try_emplace({is_from, kind}, figure);
    if (!is_new && figure.value < known->second.value) known->second = figure;
  }
  std::vector<FleetFigure> all;
  for (auto& [which, figure] : slowest) all.push_back(std::move(figure));
  return all;
}

}  // namespace

}  // namespace npgpu::model

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

bool is_between_gpus(const TransferCase& c) { return c.direction == Direction::peer; }
bool is_between_gpus(const auto&) { return false; }

// Copies of several GPUs at once say nothing of one of them, and neither does what was measured with a second process.
// Flags between two GPUs are of both: a pair has them once.
bool is_of_one_gpu(const TransferCase& c) {
  return c.more_lanes.empty() && !is_beside(c) && !(is_between_gpus(c) && c.pattern == Pattern::flag);
}
bool is_of_one_gpu(const auto& c) { return !is_beside(c); }

template <class K> void add_series(FleetGpu& gpu, const Series<K>& series) {
  if (!is_of_one_gpu(series.question)) return;
  const auto question = without_names(series.question, gpu.id);
  std::map<std::uint32_t, FleetSeries> lanes;
  for (const Result<K>& time : results(series)) {
    FleetSeries& one = lanes[time.lane];
    const bool is_valid = time.usable() && model::is_figure(time.time_us.value);
    one.is_measured |= is_valid;
    if (one.why.empty()) one.why = !time.why.empty() ? time.why : is_valid ? "" : "no trial has a valid time";
  }
  if (lanes.empty()) lanes[0].why = "it has no visit";  // it stopped before its first point, and its error says why
  for (auto& [lane, one] : lanes) {
    one.kind = K::name;
    one.title = title(question) + (lanes.size() > 1 ? fmt::format(", lane {}", lane) : "");
    if (!series.error.empty()) one.why = series.error;
    // Bytes that arrive wrong between GPUs are a defect of the node.
    one.is_measured |= is_between_gpus(series.question) && series.failure == Failure::wrong;
    gpu.series.push_back(std::move(one));
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

FleetDefect defect_of(const HealthFinding& of) {
  FleetDefect defect{of.metric, of.text, {}};
  if (of.explanations.empty()) return defect;
  const Explanation& first = of.explanations.front();
  defect.remedy = first.remedy;
  defect.cause = first.cause;
  defect.what = first.what;
  return defect;
}

// What check says of it.
void judge_alone(model::Findings& findings, const std::vector<SoakDevice>& soaked) {
  const model::DeviceRecord& of = findings.device;
  findings.throttled_since = model::throttled_since_text(soaked, of.id);
  model::judge_runs(findings);
  model::judge_gpu(findings, soaked);
  model::explain(findings);
}

void set_facts(FleetGpu& gpu, const model::Findings& findings) {
  const model::DeviceRecord& of = findings.device;
  const auto value = [&](std::string_view metric) {
    const HealthFinding* const finding = findings.find(metric);
    return finding ? finding->value : not_measured;
  };
  double visits = 0;
  of.each_visit([&](const VisitInfo&, bool) { ++visits; });
  const model::LinkRead link = model::trained_link(of);
  const HealthFinding* const throttle = findings.find("throttle");
  const bool is_read = throttle && throttle->health != Health::skip;
  const auto set = [&](FleetFact which, double is) { gpu.facts[static_cast<std::size_t>(which)] = is; };
  set(FleetFact::sm_clock_mhz, value("sm_clock"));
  set(FleetFact::memory_clock_mhz, value("memory_clock"));
  set(FleetFact::multiprocessors, value("sms"));
  set(FleetFact::pcie_generation, link.is_copying && !link.is_void ? link.generation : not_measured);
  set(FleetFact::pcie_lanes, link.is_void ? not_measured : link.lanes);
  set(FleetFact::throttled, !is_read ? not_measured : throttle->value > 0 ? throttle->value / visits : 0);
  set(FleetFact::temperature_c, value("temperature"));
  set(FleetFact::power_w, value("power"));
  if (is_read && throttle->value > 0) gpu.throttle = throttle->text;
  for (const HealthFinding& finding : findings.all) {
    const FleetDefect defect = defect_of(finding);
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
    if (one.health == Health::fail && one.if_failed == CheckVerdict::broken) defects.push_back(defect_of(one));
  return defects;
}

// What check says is slow of copies between GPUs, by GPU: it compares pairs that are alike.
std::map<std::string, std::vector<FleetDefect>> slow_peers_of(const Trace& trace) {
  std::map<std::string, std::vector<FleetDefect>> all;
  for (const NodeFinding& one : model::findings_between_gpus(trace))
    if (one.health == Health::fail && one.if_failed == CheckVerdict::slow)
      for (const std::string& id : one.devices) all[id].push_back(defect_of(one));
  return all;
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
  if (const auto values = model::judge_values(trace)) run.open.push_back(defect_of(*values));
  const std::vector<SoakDevice> soaked = soak_devices(trace);
  const auto slow_peers = slow_peers_of(trace);
  const model::Links links(trace);
  for (const model::DeviceRecord& of : model::records_of(trace)) {
    if (of.is_host()) continue;
    FleetGpu& gpu = run.gpus.emplace_back();
    gpu.id = of.id;
    gpu.name = of.name;
    if (of.fact("mig_mode") > 0 && !model::names_part_of_gpu(of.name)) gpu.name += ", part of it (MIG)";
    gpu.uuid = of.uuid;
    gpu.bus = of.text("pci_bus_id");
    gpu.simulated = of.simulated;
    gpu.is_under_load = !of.all<Soaks>().empty();
    of.each_loaded<Energies>([&](const VisitInfo&) { gpu.is_under_load = true; });
    gpu.driver = of.text("driver_version");
    gpu.link = link_of(of);
    const auto add = [&](const auto& all) {
      for (const auto* series : all) add_series(gpu, *series);
    };
    add(of.all<Transfers>());
    add(of.all<Probes>());
    add(of.all<Jobs>());
    add(of.all<Calls>());
    add(of.all<Partitions>());
    const HealthRules none;
    model::Findings findings(of, none);
    judge_alone(findings, soaked);
    gpu.key_figures = key_figures(findings.all);
    gpu.figures = model::figures_of(findings);
    if (slow_peers.empty())  // else both ends of a slow copy would be suspects
      for (FleetFigure& figure : model::peer_figures_of(trace, links, of.id)) gpu.figures.push_back(std::move(figure));
    add_settings(gpu, of);
    set_facts(gpu, findings);
    if (const auto slow = slow_peers.find(of.id); slow != slow_peers.end())
      std::ranges::copy(slow->second, std::back_inserter(gpu.slow));
  }
  if (!trace.root.plan.empty())
    run.plan = fmt::format("{}\n{} {}", run.gpus.size() == 1 ? plan_without_device(trace.root.plan) : trace.root.plan,
                           trace.root.tool_version, trace.root.git_commit);
  return run;
}

}  // namespace npgpu

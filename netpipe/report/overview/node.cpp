// What the overview says of the whole node: its GPUs one below the other, how far the numbers can be trusted, and what
// was not measured.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/model/run_facts.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/overview/sections.hpp"
#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

const CopyCurve* usual_curve(const DeviceOverview& device, Pattern pattern, Direction direction) {
  for (const CopyCurve& curve : device.copies)
    if (curve.is_usual && curve.question.pattern == pattern && curve.question.direction == direction) return &curve;
  return nullptr;
}
std::string largest_rate(const DeviceOverview& device, Pattern pattern, Direction direction) {
  const CopyCurve* const curve = usual_curve(device, pattern, direction);
  const TransferResult* const end = curve ? curve->largest() : nullptr;
  return end ? digits_text(end->rate.value * 1e-9, screen_digits) + marks_of(*end) : "-";
}
// The key figure, marked as the largest copy is.
std::string copy_cell(const Overview& all, const DeviceOverview& device, Direction direction) {
  const CopyCurve* const curve = usual_curve(device, Pattern::stream, direction);
  const TransferResult* const end = curve ? curve->largest() : nullptr;
  const std::string metric = std::string(name(direction)) + "_rate";
  for (const KeyFigure& figure : key_figures(all.health))
    if (end && figure.device == device.id && figure.metric == metric)
      return digits_text(figure.value * 1e-9, screen_digits) + marks_of(*end);
  return largest_rate(device, Pattern::stream, direction);
}
std::string figure_cell(const std::vector<Figure>& figures, std::string_view called, double scale) {
  const auto found = std::ranges::find(figures, called, &Figure::name);
  return found == figures.end() ? "-" : digits_text(found->value.value * scale, screen_digits) + marks_of(*found);
}
std::string memory_latency(const DeviceOverview& device) {
  const auto level = std::ranges::find(device.levels, "memory", &MemoryLevel::name);
  if (level == device.levels.end() || !level->latency) return "-";
  return digits_text(level->latency->estimate.value, screen_digits);
}
std::string most(double value) { return std::isfinite(value) ? fmt::format("{:.0f}", value) : "-"; }

// Facts in which GPUs of one model should not differ.
struct SharedFact {
  const char* key;
  const char* what;
};
constexpr SharedFact shared_facts[] = {{"driver_version", "driver"},
                                       {"vbios_version", "firmware"},
                                       {"multiprocessors", "SMs"},
                                       {"memory_bytes", "memory"},
                                       {"max_pcie_generation", "PCIe generation, at most"},
                                       {"max_pcie_lanes", "PCIe lanes, at most"},
                                       {"pcie_generation_now", "PCIe generation"},
                                       {"pcie_lanes_now", "PCIe lanes"},
                                       {"power_limit_w", "power limit in W"},
                                       {"max_sm_clock_mhz", "highest SM clock in MHz"},
                                       {"ecc", "ECC"},
                                       {"mig_mode", "MIG"},
                                       {"persistence_mode", "persistence mode"}};

void add_differing_facts(Section& section, const std::vector<DeviceOverview>& gpus) {
  for (const SharedFact& shared : shared_facts) {
    std::vector<std::string> items;
    std::set<std::string> values;
    for (const DeviceOverview& gpu : gpus) {
      const Fact* const fact = find_fact(gpu.facts, shared.key);
      if (!fact || gpu.name != gpus.front().name) continue;
      values.insert(fact_text(*fact));
      items.push_back(gpu.id + ' ' + fact_text(*fact));
    }
    if (values.size() > 1) section.entries.push_back({shared.what, items, true});
  }
}

// "cuda:1" where that is the only other one of its model.
std::string others_text(const Overview& all, const std::string& device) {
  const auto own = std::ranges::find(all.gpus, device, &DeviceOverview::id);
  std::vector<std::string> others;
  for (const DeviceOverview& gpu : all.gpus)
    if (own != all.gpus.end() && gpu.id != device && gpu.name == own->name) others.push_back(gpu.id);
  return others.size() == 1 ? others.front() : "the median of the others";
}

constexpr double worth_saying_of_drift = 0.01, worth_saying_of_siblings = 0.05;

// A figure is marked with a "?".
bool has_doubts(const DeviceOverview& device) {
  const auto is_marked = [](const Figure& f) { return marks_of(f) == "?"; };
  const auto is_noted = [](const std::optional<Parameter>& p) { return p && !p->note.empty(); };
  return std::ranges::any_of(device.bandwidth, is_marked) || std::ranges::any_of(device.compute, is_marked) ||
         std::ranges::any_of(device.tensor, is_marked) || std::ranges::any_of(device.stream_costs, is_marked) ||
         std::ranges::any_of(device.levels,
                             [&](const MemoryLevel& level) { return is_noted(level.latency) || is_noted(level.size); });
}

std::string percent_of(double share) {
  const double percent = std::round(1000 * share) / 10;
  return percent == 0 ? "0.0 %" : fmt::format("{:+.1f} %", percent);
}

// "PASS", or how many of its checks fail or warn.
std::string health_cell(const Overview& all, const std::string& device) {
  std::size_t failed = 0, warned = 0, passed = 0;
  for (const HealthFinding& f : all.health) {
    if (f.device != device) continue;
    failed += f.health == Health::fail;
    warned += f.health == Health::warn;
    passed += f.health == Health::pass;
  }
  if (failed) return fmt::format("{} FAIL", failed);
  if (warned) return fmt::format("{} WARN", warned);
  return passed ? "PASS" : "-";
}

}  // namespace

Section gpus_section(const Overview& all, std::size_t least) {
  Section section{"GPUS"};
  if (all.gpus.size() < least) return section;
  const bool any_bus = std::ranges::any_of(
      all.gpus, [](const DeviceOverview& gpu) { return !fact_text(gpu.facts, "pci_bus_id").empty(); });
  std::vector<std::vector<std::string>> figures;  // of each GPU
  for (const DeviceOverview& gpu : all.gpus)
    figures.push_back({copy_cell(all, gpu, Direction::h2d), copy_cell(all, gpu, Direction::d2h),
                       largest_rate(gpu, Pattern::duplex, Direction::h2d), copy_cell(all, gpu, Direction::d2d),
                       figure_cell(gpu.bandwidth, "read", 1e-9), figure_cell(gpu.compute, "fp32", 1e-12),
                       memory_latency(gpu), figure_cell(gpu.calls, "launch", 1)});
  const std::pair<const char*, int> headers[] = {{"H2D", 0},  {"D2H", 0},          {"both ways", 3}, {"D2D", 2},
                                                 {"read", 1}, {"fp32 TFLOP/s", 4}, {"memory ns", 6}, {"launch us", 7}};
  std::vector<Column> columns{left("GPUS (GB/s)"), left("health"), left("PCI", 5, any_bus)};
  bool any_figure = false;
  for (std::size_t i = 0; i < std::size(headers); ++i) {
    const bool is_any = std::ranges::any_of(figures, [&](const auto& its) { return its[i] != "-"; });
    columns.push_back(decimal(headers[i].first, headers[i].second, is_any));
    any_figure = any_figure || is_any;
  }
  columns.insert(columns.end(), {right("max W", 8), right("max C", 9), left("", 0, is_simulated(all))});
  Table table(std::move(columns));
  for (std::size_t i = 0; i < all.gpus.size(); ++i) {
    const DeviceOverview& gpu = all.gpus[i];
    const Fact* const bus = find_fact(gpu.facts, "pci_bus_id");
    const TelemetryRange range = range_of(gpu.telemetry);
    std::vector<std::string> cells{"  " + gpu.id + (all.gpus.front().name == gpu.name ? "" : " " + gpu.name),
                                   health_cell(all, gpu.id), bus ? fact_text(*bus) : "-"};
    cells.insert(cells.end(), figures[i].begin(), figures[i].end());
    cells.insert(cells.end(),
                 {most(range.max_power_w), most(range.max_temperature_c), gpu.simulated ? "SIMULATED" : ""});
    table.row(std::move(cells));
  }
  // Without one, as of collectives, energy and soaks, the table would be of dashes.
  if (any_figure) section.table = std::move(table);
  if (all.gpus.size() < 2) return section;
  add_differing_facts(section, all.gpus);
  constexpr std::size_t few = 6;
  for (std::size_t i = 0; i < std::min(few, all.differences.size()); ++i) {
    const Difference& d = all.differences[i];
    section.entries.push_back({"differs",
                               {fmt::format("{}: {} is {:.1f} % worse than {}", d.device, d.what, 100 * d.worse_by,
                                            others_text(all, d.device))},
                               true});
  }
  if (all.differences.size() > few)
    section.notes.push_back(fmt::format("{} more numbers differ", all.differences.size() - few));
  const auto comparable = std::ranges::count(all.gpus, all.gpus.front().name, &DeviceOverview::name);
  if (any_figure && section.entries.empty() && comparable > 1)
    section.notes.emplace_back(comparable == 2 ? "neither is more than 3 % worse than the other"
                                               : "none is more than 3 % worse than the median of the others");
  return section;
}

Section quality_section(const Overview& all, Extent extent, std::size_t series_in_trace) {
  Section section{"QUALITY"};
  const Quality& q = all.quality;
  Entry points;
  if (!all.run.complete) {
    points.items.emplace_back("INCOMPLETE: the run did not reach its end");
    points.alarm = true;
  }
  if (series_in_trace > all.series)
    points.items.push_back(fmt::format("shown are {} of {} series", all.series, series_in_trace));
  const bool is_glance = extent == Extent::glance;
  points.items.push_back(counted(q.all.points, "point") + (is_glance ? "" : fmt::format(" in {} series", all.series)));
  if (q.compared)
    points.items.push_back(q.wrong ? fmt::format("{} of {} compared results were WRONG", q.wrong, q.compared)
                                   : fmt::format("{} results, all right", q.compared));
  if (is_glance) points.items.push_back(q.all.unsteady ? fmt::format("{} unsteady", q.all.unsteady) : "all steady");
  else if (std::ranges::any_of(all.gpus, has_doubts) || (all.host && has_doubts(*all.host)))
    points.items.emplace_back("?: see npgpu derive");
  points.alarm |= q.wrong > 0;
  if (is_glance && q.all.disturbed) points.items.push_back(fmt::format("{} disturbed", q.all.disturbed));
  if (is_glance && q.all.unusable) points.items.push_back(fmt::format("{} without a usable result", q.all.unusable));
  if (is_glance && !q.errors.empty()) points.items.push_back(counted(q.errors.size(), "series") + " with errors");
  section.entries.push_back(std::move(points));
  if (is_glance) return section;

  const auto by_class = [&](const char* label, const char* what, std::size_t PointCounts::*count) {
    if (q.all.*count == 0) return;
    std::vector<std::string> items;
    for (const auto& [time_class, counts] : q.classes)
      if (counts.*count)
        items.push_back(is_brief(extent)
                            ? fmt::format("{} {}", class_text(time_class), counts.*count)
                            : fmt::format("{} {} of {}", class_text(time_class), counts.*count, counts.points));
    items.front() = fmt::format("{} {}: {}", q.all.*count, what, items.front());
    section.entries.push_back({label, std::move(items)});
  };
  by_class("*", "unsteady", &PointCounts::unsteady);
  by_class("d", "disturbed by others", &PointCounts::disturbed);
  by_class("!", "without a usable result", &PointCounts::unusable);

  const bool brief = is_brief(extent);
  Entry drift{"drift", {}, false, 1};
  std::vector<Drift> drifts = q.drift;
  sort_stably(drifts, std::ranges::greater{}, [](const Drift& d) { return std::abs(d.most()); });
  for (const Drift& d : drifts)
    if (!brief || std::abs(d.most()) >= worth_saying_of_drift)
      drift.items.push_back(fmt::format("{} {}", class_text(d.time_class), percent_of(d.most())));
  if (!drifts.empty() && drift.items.empty())
    drift.items.push_back(fmt::format("below {:.0f} % in all classes", 100 * worth_saying_of_drift));
  else if (!drifts.empty()) drift.items.front() = "of the round furthest off: " + drift.items.front();
  if (!drift.items.empty()) section.entries.push_back(std::move(drift));
  if (q.siblings.points >= 5 && (!brief || std::abs(q.siblings.adds) >= worth_saying_of_siblings))
    section.entries.push_back({"siblings",
                               {fmt::format("a busy hyperthread of the same core added {:+.0f} % to times of the host",
                                            100 * q.siblings.adds)}});
  // The most of each kind of point, over the GPUs.
  std::map<std::string, double> slower;
  for (const BesideOthers& b : q.beside) {
    const auto known = slower.try_emplace(b.what, b.slower()).first;
    if (std::abs(b.slower()) > std::abs(known->second)) known->second = b.slower();
  }
  if (!slower.empty()) {
    Entry entry{"at once", {}, std::ranges::any_of(slower, [](const auto& one) { return one.second > 0.05; }), 1};
    for (const auto& [what, share] : slower) entry.items.push_back(fmt::format("{} {}", what, percent_of(share)));
    entry.items.front() = "time with the other GPUs busy over time alone, at most: " + entry.items.front();
    section.entries.push_back(std::move(entry));
  }
  constexpr std::size_t few = 3;
  const std::size_t shown = brief ? std::min(few, q.errors.size()) : q.errors.size();
  for (std::size_t i = 0; i < shown; ++i)
    section.entries.push_back({"x", {q.errors[i].first + ": " + q.errors[i].second}, true, brief ? 2u : 0u});
  if (shown < q.errors.size())
    section.entries.push_back({"", {fmt::format("and {} more series with errors", q.errors.size() - shown)}, true});
  return section;
}

std::vector<Section> sections_of(const Overview& all, Extent extent, std::size_t series_in_trace) {
  std::vector<Section> sections{gpus_section(all)};
  if (!all.gpus.empty()) {
    const DeviceOverview& first = all.gpus.front();
    std::vector<Section> its = sections_of(first, extent);
    if (all.gpus.size() > 1 && !its.empty())
      sections.push_back({"DETAIL", {}, {{"", {"of " + first.id + "; the page (--html) has all GPUs"}}}, {}});
    std::ranges::move(its, std::back_inserter(sections));
    if (all.host) sections.push_back(host_section(*all.host));
  } else if (all.host) {
    for (Section& section : sections_of(*all.host, extent)) sections.push_back(std::move(section));
  }
  sections.push_back(quality_section(all, extent, series_in_trace));
  if (!all.missing.empty()) sections.push_back({"MISSING", {}, {{"", all.missing, false, 2}}});
  std::erase_if(sections, &Section::is_empty);
  return sections;
}

}  // namespace npgpu

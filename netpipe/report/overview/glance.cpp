// What stands on the screen that a run ends with: the verdict, and of each question one figure with its interval, its
// share of what the device could do, and the limit that it is judged by.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "netpipe/report/format.hpp"
#include "netpipe/report/overview/sections.hpp"

namespace npgpu {

namespace {

constexpr double wide = 0.1;  // an interval that a reader should know of

// As many digits as the interval leaves.
std::string figure_text(double value, double error) {
  constexpr double half = 0.5;
  return digits_text(value, error >= half ? 1 : error >= wide ? 2 : screen_digits);
}

struct ScreenScale {
  double by;
  const char* unit;
};
ScreenScale scale_of(const std::string& unit, double most) {
  constexpr double tera = 1e12;
  if (unit == "W" || unit == "pJ") return {1, unit == "W" ? "W" : "pJ"};
  if (unit == "us") return most < 1 ? ScreenScale{1e3, "ns"} : ScreenScale{1, "us"};
  if (!unit.ends_with("OP/s")) return {1e-9, "GB/s"};
  if (most < tera) return {1e-9, unit == "OP/s" ? "GOP/s" : "GFLOP/s"};
  return {1e-12, unit == "OP/s" ? "TOP/s" : "TFLOP/s"};
}

// One or two figures of one question.
struct FigureRow {
  std::string name{};
  std::vector<Estimate> values{};
  std::vector<double> percents{};      // of what the device could do; NaN: not known
  std::vector<const char*> metrics{};  // of their findings
  std::string doubt{};
};

class Glance {
 public:
  Glance(const Overview& all, const DeviceOverview& device)
      : all_(all), device_(device), key_figures_(key_figures(all.health)) {}

  std::vector<Section> sections() {
    copy("host to GPU, pinned", Pattern::stream, Direction::h2d, Memory::pinned, "h2d_rate");
    copy("GPU to host, pinned", Pattern::stream, Direction::d2h, Memory::pinned, "d2h_rate");
    copy("both ways, pinned", Pattern::duplex, Direction::h2d, Memory::pinned, "");
    copy("host to GPU, pageable", Pattern::stream, Direction::h2d, Memory::pageable, "h2d_pageable_rate");
    copy("copy within the GPU", Pattern::stream, Direction::d2d, std::nullopt, "d2d_rate");
    add_host();
    figures("memory", device_.bandwidth, {{"read", "memory_read_rate"}, {"write", "memory_write_rate"}});
    figures("", device_.compute, {{"fp32", "compute_fp32_rate"}, {"fp64", "compute_fp64_rate"}});
    figures("tensor", device_.tensor, {{"fp16", ""}, {"fp8", ""}});
    std::size_t rows = asked_.size();
    Section rates = table("rate", "of peak");
    asked_.clear();
    smallest_copies();
    figures("launch", device_.calls, {{"in a row", "launch_time"}, {"until done", "launch_done_time"}});
    const auto memory = std::ranges::find(device_.levels, "memory", &MemoryLevel::name);
    if (memory != device_.levels.end() && memory->latency) {
      Estimate us = memory->latency->estimate;  // ns
      for (double* value : {&us.value, &us.low, &us.high}) *value *= 1e-3;
      us.unit = "us";
      ask({"load from memory", {us}, {not_measured}, {""}, {}});
    }
    constexpr std::size_t fewest = 3;  // of fewer, the trace is of something else
    if ((rows += asked_.size()) < fewest) return {};
    Section times = table("time", "");
    times.is_joined = true;
    if (!device_.advice.empty()) {
      const StreamAdvice& a = device_.advice.front();
      times.notes.push_back(fmt::format("predicted of {} in, a kernel of {:g} ms, {} out:", size_text(a.job.in_bytes),
                                        a.job.kernel.count() * 1e3, size_text(a.job.out_bytes)));
      times.notes.push_back(split_time_text(a.job, a.enough_chunks, a.enough, a.enough_us, a.one_us));
    }
    asked_.clear();
    constexpr std::size_t most_energies = 6;
    for (const Figure& f : device_.energy)
      if (f.is_known() && asked_.size() < most_energies)
        ask({f.name, {f.value}, {not_measured}, {""}, f.disturbed.empty() ? "" : "disturbed"});
    Section energies = table("energy each", "");
    energies.is_joined = true;
    std::vector<Section> both{std::move(rates), std::move(times), std::move(energies)};
    std::erase_if(both, &Section::is_empty);
    return both;
  }

 private:
  // The key figure in place of the value, where it is one.
  void add(FigureRow& to, Estimate value, double percent, const char* metric, bool is_unsteady,
           const std::string& disturbed) {
    for (const KeyFigure& figure : key_figures_) {
      if (figure.device != device_.id || figure.metric != metric) continue;
      percent *= figure.value / value.value;
      std::tie(value.value, value.low, value.high) = std::tie(figure.value, figure.low, figure.high);
    }
    to.values.push_back(value);
    to.percents.push_back(percent);
    to.metrics.push_back(metric);
    if (!disturbed.empty()) to.doubt = "disturbed";
    else if (is_unsteady && to.doubt.empty() && plus_minus(value) >= wide) to.doubt = "unsteady";
  }
  struct Named {
    const char *name, *metric;
  };

  void ask(FigureRow one) {
    if (!one.values.empty()) asked_.push_back(std::move(one));
  }
  void add_host() {
    const DeviceOverview* const host = all_.host ? &*all_.host : device_.id == "host" ? &device_ : nullptr;
    if (!host) return;
    for (const CopyCurve& curve : host->copies) {
      const TransferResult* const end = curve.largest();
      if (!curve.is_usual || !end) continue;
      FigureRow one{"copy within the host"};
      add(one, end->rate, end->percent_of_limit, "", end->unsteady, end->disturbed);
      return ask(std::move(one));
    }
  }
  const CopyCurve* curve_of(Pattern pattern, Direction direction, std::optional<Memory> memory) const {
    for (const CopyCurve& curve : device_.copies) {
      const TransferCase& c = curve.question;
      const bool is_it = c.pattern == pattern && c.direction == direction && (!memory || c.memory == *memory);
      if (is_it && curve.is_usual && curve.largest()) return &curve;
    }
    return nullptr;
  }
  void copy(const char* name, Pattern pattern, Direction direction, std::optional<Memory> memory, const char* metric) {
    const CopyCurve* const curve = curve_of(pattern, direction, memory);
    if (!curve) return;
    const TransferResult& end = *curve->largest();
    FigureRow one{name};
    add(one, end.rate, end.percent_of_limit, metric, end.unsteady, end.disturbed);
    ask(std::move(one));
  }
  void smallest_copies() {
    constexpr std::uint64_t few_bytes = 64;
    FigureRow one{"smallest copy"};
    std::vector<std::string> ways;
    for (const auto& [way, direction, metric] :
         {std::tuple{"in", Direction::h2d, "h2d_time"}, {"out", Direction::d2h, "d2h_time"}})
      if (const CopyCurve* const curve = curve_of(Pattern::stream, direction, Memory::pinned)) {
        const TransferResult& first = curve->points.front();
        if (first.axes.bytes > few_bytes) continue;
        add(one, first.time_us, not_measured, metric, first.unsteady, first.disturbed);
        ways.emplace_back(way);
      }
    one.name += fmt::format(" {}", fmt::join(ways, "/"));
    ask(std::move(one));
  }
  void figures(const std::string& name, const std::vector<Figure>& among, const std::vector<Named>& wanted) {
    FigureRow one{name};
    std::vector<std::string> names;
    for (const auto& [figure, metric] : wanted) {
      const auto found = std::ranges::find(among, figure, &Figure::name);
      if (found == among.end() || !found->is_known()) continue;
      add(one, found->value, found->percent_of_peak, metric, found->unsteady, found->disturbed);
      names.emplace_back(figure);
    }
    one.name += (name.empty() ? "" : " ") + fmt::format("{}", fmt::join(names, "/"));
    ask(std::move(one));
  }

  // "≥ 52.7": what the check compares the figure with, and what is to be known of it.
  std::string judged(const FigureRow& of, double scale) const {
    std::vector<std::string> limits, words;
    for (const char* metric : of.metrics)
      for (const HealthFinding& f : all_.health) {
        if (f.device != device_.id || f.metric != metric || !std::isfinite(f.limit)) continue;
        limits.push_back(digits_text(f.limit * scale, screen_digits));
        if (f.health == Health::fail || f.health == Health::undecided)
          words.push_back(upper_case(f.health == Health::fail ? name(f.if_failed) : name(CheckVerdict::undecided)));
      }
    if (!limits.empty())
      words.push_back(fmt::format("{} {}", of.values.front().unit == "us" ? "≤" : "≥", fmt::join(limits, "/")));
    if (!of.doubt.empty()) words.push_back(of.doubt);
    return fmt::format("{}", fmt::join(words, ", "));
  }

  Section table(const char* what, const char* share) {
    Section section{what};
    if (asked_.empty()) return section;
    Table rows({left("of " + device_.id), right(what), right("± 95 %"), right(share, 0, *share != 0), left("limit")});
    for (const FigureRow& of : asked_) {
      double most = 0, error = not_measured;
      for (const Estimate& e : of.values) most = std::fmax(most, e.value), error = std::fmax(error, plus_minus(e));
      const ScreenScale scale = scale_of(of.values.front().unit, most);
      std::vector<std::string> values, percents;
      for (const Estimate& e : of.values) values.push_back(figure_text(e.value * scale.by, plus_minus(e)));
      for (const double percent : of.percents)
        if (std::isfinite(percent)) percents.push_back(fmt::format("{:.0f}", percent));
      rows.row({"  " + of.name, fmt::format("{} {}", fmt::join(values, "/"), scale.unit), plus_minus_text(error),
                percents.empty() ? "" : fmt::format("{} %", fmt::join(percents, "/")), judged(of, scale.by)});
    }
    section.table = std::move(rows);
    return section;
  }

  const Overview& all_;
  const DeviceOverview& device_;
  const std::vector<KeyFigure> key_figures_;
  std::vector<FigureRow> asked_;
};

}  // namespace

std::vector<Section> glance_of(const Overview& all, std::size_t series_in_trace) {
  std::vector<Section> sections;
  const DeviceOverview* const first = !all.gpus.empty() ? &all.gpus.front() : all.host ? &*all.host : nullptr;
  if (!first) return sections;
  std::vector<Section> figures = Glance(all, *first).sections();
  if (figures.empty()) return sections;
  sections.push_back(health_section(all, Extent::glance));
  sections.push_back(gpus_section(all));
  std::ranges::move(figures, std::back_inserter(sections));
  sections.push_back(quality_section(all, Extent::glance, series_in_trace));
  std::erase_if(sections, &Section::is_empty);
  return sections;
}

}  // namespace npgpu

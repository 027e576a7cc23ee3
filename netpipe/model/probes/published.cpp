#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "netpipe/model/probes/derivation.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "npgpu_published.hpp"

namespace npgpu {

namespace {

constexpr double near_enough = 0.03, near_cycles = 2;

struct Publication {
  std::string capability;
  std::vector<PublishedFigure> figures;
};

Publication read_publication(const char* text) {
  const auto all = nlohmann::json::parse(text);
  Publication made{all.at("capability"), {}};
  for (const auto& one : all.at("figures")) {
    PublishedFigure& figure = made.figures.emplace_back();
    for (const auto& source : all.at("sources"))
      if (source.at("key") == one.at("source"))
        figure.source = {source.at("arxiv"), source.at("title"), source.at("card"), source.at("units"),
                         source.at("clock_mhz")};
    figure.parameter = one.at("parameter");
    figure.minus = one.value("minus", "");
    figure.value = one.at("value");
    figure.unit = one.at("unit");
    figure.definition = one.value("definition", "");
    figure.differs = one.value("differs", "");
    figure.checked = one.at("checked");
    if (figure.source.arxiv.empty())
      throw Error(ErrorKind::failed, "data/published: a figure of no source: " + figure.parameter);
  }
  return made;
}

const std::vector<Publication>& publications() {
  static const std::vector<Publication> all = [] {
    std::vector<Publication> made;
    for (const char* text : model::shipped_publications) made.push_back(read_publication(text));
    return made;
  }();
  return all;
}

bool is_of_time(const PublishedFigure& f) { return f.unit == "TB/s" || f.unit == "TFLOP/s" || f.unit == "TOP/s"; }

// The figure of a unit and its cycle, as parameters are.
double comparable(const PublishedFigure& f) {
  if (f.unit == "B/cycle") return f.value / f.source.units;
  if (is_of_time(f)) return f.value * 1e12 / (f.source.units * f.source.clock_mhz * 1e6);
  return f.value;
}

std::optional<Estimate> value_of(const std::string& name, const DeviceParameters& device) {
  const auto found = std::ranges::find(device.parameters, name, &Parameter::name);
  if (found == device.parameters.end() || !std::isfinite(found->estimate.value)) return std::nullopt;
  return found->estimate;
}

std::optional<Estimate> ours_of(const PublishedFigure& f, const DeviceParameters& device) {
  auto ours = value_of(f.parameter, device);
  if (!ours || f.minus.empty()) return ours;
  const auto less = value_of(f.minus, device);
  if (!less) return std::nullopt;
  return Estimate{ours->value - less->value, ours->low - less->high, ours->high - less->low, ours->unit,
                  f.parameter + " - " + f.minus};
}

Standing standing_of(const PublishedFigure& f, const Estimate& ours, double theirs) {
  const auto is_near = [&](double value) {
    return std::abs(value / theirs - 1) <= near_enough ||
           (f.unit == "cycles" && std::abs(value - theirs) <= near_cycles);
  };
  if (is_near(ours.value)) return Standing::agrees;
  if (ours.low <= theirs && theirs <= ours.high) return Standing::interval;
  if (!f.differs.empty()) return Standing::definition;
  return is_of_time(f) ? Standing::card : Standing::unexplained;
}

}  // namespace

Facts model::facts_of(const Trace& trace, const std::string& device) {
  for (const auto& [group, facts] : trace.provenance)
    if (text_fact(facts, "id") == device) return facts;
  return {};
}
std::string model::capability_of(const Trace& trace, const std::string& device) {
  return text_fact(facts_of(trace, device), "compute_capability");
}

std::vector<PublishedTable> published(const Trace& trace, const std::vector<DeviceParameters>& derived) {
  std::vector<PublishedTable> all;
  for (const DeviceParameters& device : derived) {
    const std::string capability = model::capability_of(trace, device.device);
    const auto its = std::ranges::find(publications(), capability, &Publication::capability);
    if (its == publications().end()) continue;
    PublishedTable& table = all.emplace_back();
    table.device = device.device, table.device_name = device.device_name, table.simulated = device.simulated;
    table.capability = capability;
    for (const PublishedFigure& figure : its->figures) {
      const auto ours = ours_of(figure, device);
      if (!ours) {
        if (std::ranges::find(table.missing, figure.parameter) == table.missing.end())
          table.missing.push_back(figure.parameter);
        continue;
      }
      const double theirs = comparable(figure);
      table.rows.push_back({figure, *ours, theirs,
                            model::quotient({*ours}, {model::exactly(theirs)}, "1", "ours / published"),
                            standing_of(figure, *ours, theirs)});
    }
  }
  return all;
}

}  // namespace npgpu

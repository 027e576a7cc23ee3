// What minutes at work showed: rates that fell, clocks that were taken away and when, devices that are hotter or slower
// than others of their model in this node.
#include "netpipe/model/health/soak.hpp"

#include <algorithm>
#include <cmath>

#include "netpipe/model/health/findings.hpp"
#include "npgpu/soak_figures.hpp"

namespace npgpu::model {

namespace {

constexpr double least_share = 0.95;  // of a load's rate at its begin, and of its neighbours' median
constexpr double most_above = 10;     // kelvin over the neighbours' median
constexpr std::size_t a_group = 3;    // devices, from which a median says whose fault it is

std::uint64_t reasons_from(const SoakDevice& device, double since_s) {
  std::uint64_t all = 0;
  for (const SoakDevice::Throttle& one : device.throttles)
    if (!(one.last_s < since_s)) all |= one.reason;
  return all;
}

HealthFinding finding_of(const SoakDevice& device, std::string metric, Health health, std::string text) {
  HealthFinding finding;
  finding.device = device.id;
  finding.metric = std::move(metric);
  finding.health = health;
  finding.text = std::move(text);
  return finding;
}

std::string unit_of(const SoakFigure& f) { return counts_operations(f.part) ? "FLOP/s" : "B/s"; }

// "from 612.3 TFLOP/s to 498.1 TFLOP/s"
HealthFinding of_course(const SoakDevice& device, const SoakFigure& f) {
  const Estimate ratio{1 + f.change.value, 1 + f.change.low, 1 + f.change.high, "1", f.change.method};
  const std::string course =
      fmt::format("{} from {} to {} ({:+.1f} %)", f.name(), figure_text(f.begin.value, unit_of(f)),
                  figure_text(f.end.value, unit_of(f)), 100 * f.change.value);
  HealthFinding finding = finding_of(device, fmt::format("soak_{}_course", name(f.part)), Health::pass, course);
  finding.of_case = title(f.question);
  finding.value = ratio.value;
  finding.low = ratio.low;
  finding.high = ratio.high;
  finding.limit = least_share;
  finding.basis = fmt::format("the last third of the soak at {:g} of the first or more", least_share);
  if (rule(ratio, Allowed::at_least, least_share) != Ruling::slow) return finding;
  const std::uint64_t reasons = reasons_from(device, f.last_third_s) & ~power_cap;
  finding.health = reasons ? Health::fail : Health::warn;
  finding.text = "fell while it ran: " + course;
  if (reasons) finding.text += ": " + throttle_text(reasons);
  else
    finding.text += reasons_from(device, f.last_third_s) & power_cap
                        ? ": held at its power cap, and nothing else is read"
                        : ", and the device gives no reason";
  return finding;
}

// Of all devices of one model and one load.
struct Group {
  std::vector<const SoakDevice*> devices;
  std::vector<double> values;
};

double median_without(const Group& group, std::size_t which) {
  std::vector<double> others;
  for (std::size_t i = 0; i < group.values.size(); ++i)
    if (i != which) others.push_back(group.values[i]);
  return median(others);
}

void compare_temperatures(const Group& group, std::vector<HealthFinding>& all) {
  const std::size_t count = group.devices.size();
  for (std::size_t i = 0; i < count; ++i) {
    const double middle = median_without(group, i), above = group.values[i] - middle;
    if (!(above > most_above)) continue;
    const bool is_pair = count < a_group;
    HealthFinding finding =
        finding_of(*group.devices[i], "soak_temperature", Health::warn,
                   is_pair ? fmt::format("{:.0f} C, and {} {:.0f} C: they differ, and of two neither is the measure",
                                         group.values[i], group.devices[1 - i]->id, middle)
                           : fmt::format("hotter than its neighbours: {:.0f} C, and the others' median is {:.0f} C",
                                         group.values[i], middle));
    finding.value = group.values[i];
    finding.limit = middle + most_above;
    finding.unit = "degC";
    finding.basis = fmt::format("the median of {} others of its model + {:g} K", count - 1, most_above);
    finding.explanations.push_back({"hot_neighbour", "less air or coolant reaches this GPU than the others",
                                    finding.text, "look at its fans, air flow, cold plate and thermal paste"});
    all.push_back(std::move(finding));
  }
}

void compare_rates(const Group& group, const std::vector<const SoakFigure*>& figures, std::vector<HealthFinding>& all) {
  const std::size_t count = group.devices.size();
  for (std::size_t i = 0; i < count; ++i) {
    const double middle = median_without(group, i), least = least_share * middle;
    ByVisit each;
    for (const double rate : figures[i]->rates) each.push_back({rate});
    const Estimate rate = median_over_visits(each, "1/s");
    if (rule(rate, Allowed::at_least, least) != Ruling::slow) continue;
    const SoakDevice& device = *group.devices[i];
    const std::uint64_t reasons = reasons_from(device, 0) & ~power_cap;
    const bool is_pair = count < a_group;
    HealthFinding finding = finding_of(
        device, fmt::format("soak_{}_rate", name(figures[i]->part)), reasons && !is_pair ? Health::fail : Health::warn,
        fmt::format("slower than {}: {} {}, and {} {}", is_pair ? group.devices[1 - i]->id : "its neighbours",
                    figures[i]->name(), figure_text(rate.value, unit_of(*figures[i])),
                    is_pair ? "that one has" : "the others' median is", figure_text(middle, unit_of(*figures[i]))));
    if (reasons) finding.text += ": " + throttle_text(reasons);
    finding.value = rate.value;
    finding.low = rate.low;
    finding.high = rate.high;
    finding.limit = least;
    finding.unit = unit_of(*figures[i]);
    finding.of_case = title(figures[i]->question);
    finding.basis = fmt::format("the median of {} others of its model * {:g}", count - 1, least_share);
    finding.explanations.push_back({"slow_neighbour", "this GPU does less than others of its model in the node",
                                    finding.text, "look at its clocks, its temperature and its link"});
    all.push_back(std::move(finding));
  }
}

// A device may say that it is too hot, and be as fast as before.
void spare_held_rates(Findings& findings) {
  constexpr std::string_view course = "_course";
  bool is_any = false;
  for (const HealthFinding& one : findings.all) {
    if (!one.metric.ends_with(course)) continue;
    if (one.health != Health::pass) return;
    is_any = true;
  }
  const auto throttle = std::ranges::find(findings.all, "throttle", &HealthFinding::metric);
  if (!is_any || throttle == findings.all.end() || throttle->health != Health::fail) return;
  throttle->health = Health::warn;
  throttle->text += "; no rate fell";
}

}  // namespace

std::string throttled_since_text(const std::vector<SoakDevice>& soaked, const std::string& device) {
  std::string text;
  for (const SoakDevice& one : soaked)
    if (one.id == device)
      for (const SoakDevice::Throttle& throttle : one.throttles)
        text += fmt::format("{}{} after {}", text.empty() ? "" : ", ", throttle_text(throttle.reason),
                            soak_time_text(throttle.at_s));
  return text;
}

void judge_soak(Findings& findings, const std::vector<SoakDevice>& soaked) {
  for (const SoakDevice& device : soaked) {
    if (device.id != findings.of.id) continue;
    for (const SoakFigure& f : device.loads)
      if (!f.is_together() && std::isfinite(f.change.value) && f.part != SoakLoad::test_write &&
          f.part != SoakLoad::test_read)
        findings.all.push_back(of_course(device, f));
    spare_held_rates(findings);
    for (const SoakFigure& f : device.loads) {
      if (f.part != SoakLoad::test_read) continue;
      std::string text =
          fmt::format("no wrong word in {} read back", figure_text(f.rates.empty() ? 0 : f.rates.front(), "B/s"));
      if (f.mismatches > 0) {
        text = fmt::format("{} wrong words of memory", f.mismatches);
        if (!device.words.empty()) {
          const SoakSample& word = device.words.front();
          text += fmt::format(", the first at {:#x}: {:#018x}, not {:#018x} (bits {:#x}, {})", word.address, word.found,
                              word.expected, word.found ^ word.expected,
                              word.again == 1 ? "the same when read again" : "right when read again");
        }
      }
      findings.defect("memory_test", f.mismatches > 0 ? Health::fail : Health::pass, text);
    }
  }
}

std::vector<HealthFinding> soak_neighbours(const std::vector<SoakDevice>& soaked) {
  std::vector<HealthFinding> all;
  std::map<std::string, Group> by_model;
  std::map<std::tuple<std::string, SoakLoad>, std::pair<Group, std::vector<const SoakFigure*>>> by_load;
  for (const SoakDevice& device : soaked) {
    if (std::isfinite(device.temperature_c)) {
      by_model[device.name].devices.push_back(&device);
      by_model[device.name].values.push_back(device.temperature_c);
    }
    for (const SoakFigure& f : device.loads) {
      if (f.is_together() || f.rates.empty()) continue;
      auto& [group, figures] = by_load[{device.name, f.part}];
      group.devices.push_back(&device);
      group.values.push_back(median(f.rates));
      figures.push_back(&f);
    }
  }
  for (const auto& [model, group] : by_model)
    if (group.devices.size() > 1) compare_temperatures(group, all);
  for (const auto& [key, of] : by_load)
    if (of.first.devices.size() > 1) compare_rates(of.first, of.second, all);
  return all;
}

}  // namespace npgpu::model

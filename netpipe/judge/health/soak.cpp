// What minutes at work showed: rates that fell, clocks that were taken away and when, devices that are hotter or slower
// than others of their model in this node.
#include <algorithm>
#include <array>
#include <numeric>

#include "netpipe/judge/health/findings.hpp"

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

std::string unit_of(const SoakFigure& f) { return counts_operations(f.part) ? "FLOP/s" : "B/s"; }

bool is_of_host(SoakLoad part) { return part == SoakLoad::h2d || part == SoakLoad::d2h; }

// Slices of a load with a reason that takes clocks away, other than the power cap, and those without.
struct Held {
  std::vector<double> rates{}, others{};
  std::uint64_t reasons = 0;

  explicit Held(const SoakFigure& f) {
    for (const SoakSample& s : f.samples) {
      const double rate = rate_of(s);
      if (!std::isfinite(rate)) continue;
      const std::uint64_t why = s.throttle_reasons & slowing_reasons & ~power_cap;
      reasons |= why;
      (why ? rates : others).push_back(rate);
    }
  }
  // What the rates of the held slices are of the others'; NaN where there are none.
  Estimate share() const {
    std::array<std::vector<double>, 2> logs;
    for (const bool held : {false, true})
      for (const double rate : held ? rates : others) logs[held].push_back(std::log(rate));
    const MedianDifference by = median_difference(logs[0], logs[1]);
    return {std::exp(by.value), std::exp(by.low), std::exp(by.high), "1", "held slices over the others"};
  }
};

// Slices one after the other that are all below what the others of the load show: a fall that neither third shows. How
// many a load has in a row by chance is not known of copies from and to the host.
struct Dip {
  double lowest = 0, others = 0;  // rates: the highest of these slices, and the others' median
  double at_s = not_measured;
  bool at_power_cap = false;
};
constexpr std::size_t slices_of_dip = 3, least_others = 6;

std::optional<Dip> dip_of(const SoakFigure& f) {
  std::vector<const SoakSample*> slices;
  for (const SoakSample& s : f.samples)
    if (std::isfinite(rate_of(s))) slices.push_back(&s);
  std::optional<Dip> deepest;
  if (is_of_host(f.part)) return deepest;
  const std::size_t all = slices.size();
  if (all < slices_of_dip + least_others) return deepest;
  // The others' order is that of all, without these slices.
  std::vector<std::size_t> order(all), place(all);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return rate_of(*slices[i]); });
  for (std::size_t i = 0; i < all; ++i) place[order[i]] = i;
  for (std::size_t i = 0; i + slices_of_dip <= all; ++i) {
    std::array<std::size_t, slices_of_dip> left_out;
    std::copy_n(place.begin() + static_cast<std::ptrdiff_t>(i), slices_of_dip, left_out.begin());
    std::ranges::sort(left_out);
    const auto other = [&](std::size_t n) {  // the n-th lowest
      for (const std::size_t one : left_out) n += one <= n;
      return rate_of(*slices[order[n]]);
    };
    const std::size_t others = all - slices_of_dip;
    const double highest = rate_of(*slices[order[left_out.back()]]),
                 usual = (other((others - 1) / 2) + other(others / 2)) / 2;
    // Where a load scatters, some slices in a row are low by chance.
    if (highest < least_share * other(others / 4) && (!deepest || highest / usual < deepest->lowest / deepest->others))
      deepest = Dip{highest, usual, slices[i]->elapsed_s, (slices[i]->throttle_reasons & power_cap) != 0};
  }
  return deepest;
}

const char* without_reason(bool at_power_cap) {
  return at_power_cap ? ": held at its power cap, and nothing else is read" : ", and the device gives no reason";
}

HealthFinding of_course(const SoakDevice& device, const SoakFigure& f) {
  const Estimate ratio{1 + f.change.value, 1 + f.change.low, 1 + f.change.high, "1", f.change.method};
  const auto text_of = [&](double from, double to) {
    return fmt::format("{} from {} to {} ({:+.1f} %)", f.name(), figure_text(from, unit_of(f)),
                       figure_text(to, unit_of(f)), 100 * (to / from - 1));
  };
  const std::string course = text_of(f.begin.value, f.end.value);
  HealthFinding finding = finding_of(device.id, fmt::format("soak_{}_course", name(f.part)), Health::pass, course);
  finding.of_case = title(f.question);
  const auto set_share = [&](const Estimate& share, std::string basis) {
    with_value(finding, share, least_share, "").basis = std::move(basis);
  };
  set_share(ratio, fmt::format("the last third of the soak at {:g} of the first or more", least_share));
  const Held held(f);
  const std::uint64_t reasons = reasons_from(device, f.last_third_s);
  const bool has_fallen = rule(ratio, Allowed::at_least, least_share) == Ruling::slow;
  if (has_fallen && (reasons & ~power_cap)) {
    finding.health = Health::fail;
    finding.text = "fell while it ran: " + course + ": " + throttle_text(reasons & ~power_cap);
  } else if (const Estimate share = held.share(); rule(share, Allowed::at_least, least_share) == Ruling::slow) {
    finding.health = Health::fail;
    finding.text = fmt::format("fell in {} of {} slices: {}: {}", held.rates.size(), f.rates.size(),
                               text_of(median(held.others), median(held.rates)), throttle_text(held.reasons));
    set_share(share, fmt::format("slices with such a reason at {:g} of those without or more", least_share));
  } else if (has_fallen) {
    finding.health = Health::warn;
    finding.text = "fell while it ran: " + course + without_reason(reasons != 0);
  } else if (const auto dip = dip_of(f)) {
    finding.health = Health::warn;
    finding.text = fmt::format("lower for {} slices or more from {} on: {}{}", slices_of_dip, soak_time_text(dip->at_s),
                               text_of(dip->others, dip->lowest), without_reason(dip->at_power_cap));
    set_share({dip->lowest / dip->others, not_measured, not_measured, "1", ""},
              fmt::format("any {} slices in a row at {:g} of the others or more", slices_of_dip, least_share));
  }
  return finding;
}

// All devices of one model and one load.
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
        finding_of(group.devices[i]->id, "soak_temperature", Health::warn,
                   is_pair ? fmt::format("{:.0f} C, and {} {:.0f} C: they differ, and of two neither is the measure",
                                         group.values[i], group.devices[1 - i]->id, middle)
                           : fmt::format("hotter than its neighbours: {:.0f} C, and the others' median is {:.0f} C",
                                         group.values[i], middle));
    with_value(finding, group.values[i], middle + most_above, "degC");
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
        device.id, fmt::format("soak_{}_rate", name(figures[i]->part)),
        reasons && !is_pair ? Health::fail : Health::warn,
        fmt::format("slower than {}: {} {}, and {} {}", is_pair ? group.devices[1 - i]->id : "its neighbours",
                    figures[i]->name(), figure_text(rate.value, unit_of(*figures[i])),
                    is_pair ? "that one has" : "the others' median is", figure_text(middle, unit_of(*figures[i]))));
    if (reasons) finding.text += ": " + throttle_text(reasons);
    with_value(finding, rate, least, unit_of(*figures[i]));
    finding.of_case = title(figures[i]->question);
    finding.basis = fmt::format("{:.3g} % of the median of {} others of its model", 100 * least_share, count - 1);
    finding.explanations.push_back({"slow_neighbour", "this GPU does less than others of its model in the node",
                                    finding.text, "look at its clocks, its temperature and its link"});
    all.push_back(std::move(finding));
  }
}

// Two slices or more in each third: of fewer no interval is known.
bool has_course(const SoakFigure* f) { return f->rates.size() >= 6 && std::isfinite(f->change.value); }

// Why it is not known whether this load's rate fell while clocks were taken away; empty if it is known, or none were.
std::string why_unknown(const SoakFigure& f) {
  const Held held(f);
  if (held.rates.empty() || is_of_host(f.part)) return {};
  if (held.others.empty()) return "it was so from the begin to the end";
  const bool is_lower = held.share().value < least_share || 1 + f.change.value < least_share;
  return is_lower ? fmt::format("{} scatters", f.name()) : "";
}

// A device may say that it is too hot, and be as fast as before.
void spare_held_rates(Findings& findings, const std::vector<const SoakFigure*>& loads) {
  constexpr std::string_view course = "_course";
  for (const HealthFinding& one : findings.all)
    if (one.metric.ends_with(course) && one.health != Health::pass) return;
  const auto throttle = std::ranges::find(findings.all, "throttle", &HealthFinding::metric);
  if (loads.empty() || throttle == findings.all.end() || throttle->health != Health::fail) return;
  for (const SoakFigure* f : loads)
    if (const std::string why = why_unknown(*f); !why.empty()) {
      throttle->health = Health::undecided;
      throttle->text += "; whether rates fell cannot be known: " + why;
      return;
    }
  throttle->health = Health::warn;
  throttle->text += "; no rate fell";
}

}  // namespace

std::string throttled_since_text(const std::vector<SoakDevice>& soaked, const std::string& device) {
  std::string text;
  for (const SoakDevice& one : soaked)
    if (one.id == device)
      for (const SoakDevice::Throttle& throttle : one.throttles)
        // Two reasons have the same words; the first that was read is the earlier one.
        if (const std::string reason = throttle_text(throttle.reason);
            text.find(reason + " after") == std::string::npos)
          text += fmt::format("{}{} after {}", text.empty() ? "" : ", ", reason, soak_time_text(throttle.at_s));
  return text;
}

void judge_soak(Findings& findings, const std::vector<SoakDevice>& soaked) {
  for (const SoakDevice& device : soaked) {
    if (device.id != findings.device.id) continue;
    std::vector<const SoakFigure*> loads;
    for (const SoakFigure& f : device.loads)
      if (!f.is_together() && !f.rates.empty() && f.part != SoakLoad::test_write && f.part != SoakLoad::test_read) {
        if (has_course(&f)) findings.all.push_back(of_course(device, f));
        loads.push_back(&f);
      }
    if (std::ranges::any_of(loads, has_course)) spare_held_rates(findings, loads);
    else if (!loads.empty()) findings.skip("soak_course", "whether rates fell: too few slices of each load to say it");
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
    if (is_temperature(device.temperature_c)) {
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

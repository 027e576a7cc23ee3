// Multiprocessors that ran, and the device's state under load: clocks, what held them back, power, temperature.
#include <algorithm>

#include "netpipe/judge/health/findings.hpp"
#include "netpipe/judge/health/references.hpp"

namespace npgpu::model {

namespace {

// Those that ran a block of a grid with at least a block for each.
double multiprocessors_that_ran(const DeviceRecord& of, double reported) {
  double most = not_measured;
  for (const ProbeSeries* series : of.all<Probes>())
    for (const Visit<Probes>& visit : series->visits) {
      if (visit.axes.blocks < reported) continue;
      for (const ProbeSample& sample : samples_of(*series, visit))
        if (sample.units > 0 && !(sample.units <= most)) most = sample.units;
    }
  return most;
}

void judge_multiprocessors(Findings& findings) {
  const DeviceRecord& of = findings.device;
  double reported = of.fact("multiprocessors");
  if (std::isnan(reported)) reported = of.fact("sms");
  const double ran = std::isnan(reported) ? not_measured : multiprocessors_that_ran(of, reported);
  const int published = is_part_of_gpu(of) ? 0 : published_multiprocessors(of.name);
  if (std::isnan(ran) && !(published > reported))
    return findings.skip("sms", std::isnan(reported) ? "multiprocessors: the driver does not say how many there are"
                                                     : "multiprocessors: not measured: no kernel ran on all of them");
  const double wanted = std::max<double>(reported, published), is = std::isnan(ran) ? reported : ran;
  std::string text = std::isnan(ran) ? fmt::format("the driver reports {:g} multiprocessors", reported)
                                     : fmt::format("{:g} of {:g} multiprocessors ran", ran, reported);
  if (published > reported) text += fmt::format(", and a {} has {}", of.name, published);
  HealthFinding& finding = findings.defect("sms", is < wanted ? Health::fail : Health::pass, text);
  with_value(finding, is, wanted, "multiprocessors");
  finding.basis = published > reported ? "published for this model" : "the driver's report";
}

// Over visits to points of a device: while it worked, or right after.
struct Load {
  std::vector<double> sm_mhz, memory_mhz;  // of kernels, where there are any; of all visits
  Telemetry unbelievable;                  // the last that was read and cannot be
  double power_w = not_measured, temperature_c = not_measured;
  std::uint64_t reasons = 0;
  std::size_t visits = 0, slowed = 0;
  std::size_t windows = 0, slowed_windows = 0;  // those of energy among them: full load for seconds
};

Load load_of(const DeviceRecord& of) {
  Load load;
  of.each_visit([&](const VisitInfo& visit, bool is_copy) {
    const Telemetry& as_read = visit.telemetry;
    const Telemetry t = believable(as_read);
    for (const auto value :
         {&Telemetry::sm_clock_mhz, &Telemetry::memory_clock_mhz, &Telemetry::power_w, &Telemetry::temperature_c})
      if (std::isfinite(as_read.*value) && std::isnan(t.*value)) load.unbelievable.*value = as_read.*value;
    ++load.visits;
    load.slowed += (t.throttle_reasons & slowing_reasons) != 0;
    load.reasons |= t.throttle_reasons;
    if (std::isfinite(t.sm_clock_mhz) && (!is_copy || of.all<Probes>().empty())) load.sm_mhz.push_back(t.sm_clock_mhz);
    if (std::isfinite(t.memory_clock_mhz)) load.memory_mhz.push_back(t.memory_clock_mhz);
    if (!(t.power_w <= load.power_w) && std::isfinite(t.power_w)) load.power_w = t.power_w;
    if (!(t.temperature_c <= load.temperature_c) && std::isfinite(t.temperature_c))
      load.temperature_c = t.temperature_c;
  });
  of.each_loaded<Energies>([&](const VisitInfo& window) {
    ++load.windows;
    load.slowed_windows += (window.telemetry.throttle_reasons & slowing_reasons) != 0;
  });
  return load;
}

// "not read during the run", or what was read in its place.
std::string why_not_read(double as_read, const char* unit) {
  return std::isnan(as_read) ? std::string("not read during the run")
                             : fmt::format("read as {:.0f} {}, which cannot be", as_read, unit);
}

// Limits of 0 are of drivers that do not know them.
double power_fact(const DeviceRecord& of, std::string_view name) {
  const double watts = of.fact(name);
  return watts > 0 ? watts : not_measured;
}
// The power limit is the usual one, or which is usual is not known.
bool has_usual_power_limit(const DeviceRecord& of) {
  return !(power_fact(of, "power_limit_w") < 0.99 * power_fact(of, "default_power_limit_w"));
}
bool is_held_by_power_alone(const Load& load) { return (load.reasons & slowing_reasons) == power_cap; }

// NVML's maximum is no promise: some models never reach it under load. What is far below it without a reason is capped.
constexpr double is_usual = 0.85, is_capped = 0.75;

// By the median reading of all visits: one that was low, or some among others, say nothing of the rest. Others who use
// the device do not lower its clock, so that a quarter of high readings excuses none.
bool is_below(const std::vector<double>& mhz, double least) {
  ByVisit each;
  for (const double one : mhz) each.push_back({one});
  return rule(median_over_visits(each, "MHz"), Allowed::at_least, least, {}) == Ruling::slow;
}

// Something else than the limit holds the power back. Readings of power lag behind short kernels, so that the clock has
// to be capped as well.
bool is_short_of_power(const DeviceRecord& of, const Load& load) {
  return is_held_by_power_alone(load) && !load.sm_mhz.empty() &&
         load.power_w < least_share_of_power_limit * power_fact(of, "power_limit_w") &&
         is_below(load.sm_mhz, is_capped * of.fact("max_sm_clock_mhz"));
}

void judge_clock(Findings& findings, const char* metric, const char* name, const std::vector<double>& mhz,
                 double as_read, double most, bool is_power_limited) {
  if (mhz.empty() || !(most > 0))
    return findings.skip(metric,
                         fmt::format("{} clock: {}", name,
                                     mhz.empty() ? why_not_read(as_read, "MHz") : "its maximum is not in this trace"));
  const double middle = median(mhz), share = middle / most;
  const Referred reference = reference_for(findings, metric);
  double limit = is_capped * most;
  std::string basis = fmt::format("{:.3g} % of {:.0f} MHz", 100 * is_capped, most);
  if (reference.figure && !is_power_limited) {
    limit = reference.figure->value * (1 - reference.figure->tolerance);
    basis = fmt::format("{}: {:.0f} MHz - {:.3g} %", reference.of, reference.figure->value,
                        100 * reference.figure->tolerance);
    if (is_below(mhz, limit)) {
      HealthFinding& finding =
          findings.add(metric, Health::fail,
                       fmt::format("{} clock {:.0f} MHz under load, at least {:.0f} MHz", name, middle, limit));
      finding.basis = basis;
      with_value(finding, middle, limit, "MHz");
      return;
    }
  }
  std::string text = fmt::format("{} clock {:.0f} MHz under load", name, middle);
  Health health = Health::pass;
  if (share >= is_its_maximum) {
    text += fmt::format(" (its maximum{})", middle < most ? fmt::format(" is {:.0f}", most) : "");
  } else if (is_power_limited && has_usual_power_limit(findings.device)) {
    text += fmt::format(", of {:.0f} at most: held at the usual power limit", most);
  } else {
    text += fmt::format(", and {:.0f} is its maximum", most);
    // One chip shares its power between processor and GPU.
    const bool is_one_chip = has_one_memory(findings.device);
    health = is_below(mhz, is_capped * most)                  ? Health::fail
             : is_below(mhz, is_usual * most) && !is_one_chip ? Health::warn
                                                              : Health::pass;
    if (health == Health::pass && share < is_usual && !is_one_chip)
      text += fmt::format("; {} reading{} cannot say that it is held there", mhz.size(), mhz.size() == 1 ? "" : "s");
  }
  HealthFinding& finding = findings.add(metric, health, text);
  with_value(finding, middle, limit, "MHz");
  finding.basis = basis;
}

void judge_throttling(Findings& findings, const Load& load) {
  if (load.sm_mhz.empty() && load.slowed == 0)
    return findings.skip("throttle", "throttle reasons: not read during the run");
  if (load.slowed == 0 && !findings.device.state("unread_throttle").empty())
    return findings.skip("throttle", "throttle reasons: " + findings.device.why_unread("throttle"));
  if (load.slowed == 0) {
    findings.pass("throttle", fmt::format("not throttled in {} visit{}", load.visits, load.visits == 1 ? "" : "s"));
    return;
  }
  const bool only_power = is_held_by_power_alone(load);
  const bool is_short = findings.is_short_of_power;
  const bool is_usual_limit = only_power && !is_short && has_usual_power_limit(findings.device);
  // A reason that was seen in so few visits that one of a hundred explains them does not say that the device is slow.
  // How long it lasted is known of a soak.
  constexpr double rare = 0.01;
  // Windows of energy heat a device as a soak does, and what that costs in rate is not judged.
  const std::size_t visits = load.visits - load.windows, slowed = load.slowed - load.slowed_windows;
  const bool is_proven =
      !findings.throttled_since.empty() || (slowed > 0 && slowed >= least_beyond_chance(visits, rare));
  HealthFinding& finding = findings.add(
      "throttle",
      is_usual_limit                            ? Health::pass
      : (only_power && !is_short) || !is_proven ? Health::warn
                                                : Health::fail,
      fmt::format("throttled in {} of {} visits: {}{}", load.slowed, load.visits,
                  findings.throttled_since.empty() ? throttle_text(load.reasons) : findings.throttled_since,
                  is_usual_limit                           ? ", at the usual limit"
                  : is_short                               ? ", far below the limit"
                  : load.slowed_windows > 0 && slowed == 0 ? "; windows of energy are full load for seconds"
                                                           : ""));
  with_value(finding, static_cast<double>(load.slowed), 0, "visits");
}

void judge_power(Findings& findings, const Load& load) {
  const double limit = power_fact(findings.device, "power_limit_w"),
               usual = power_fact(findings.device, "default_power_limit_w"), as_read = load.unbelievable.power_w;
  if (std::isnan(load.power_w) && std::isnan(limit))
    return findings.skip("power",
                         std::isnan(as_read) ? "power: not in this trace" : "power: " + why_not_read(as_read, "W"));
  const bool is_lowered = limit < 0.99 * usual;
  if (std::isnan(load.power_w) && !is_lowered)
    return findings.skip("power", fmt::format("power: {}; limit {:.0f} W", why_not_read(as_read, "W"), limit));
  std::string text =
      std::isnan(load.power_w) ? "power " + why_not_read(as_read, "W") : fmt::format("at most {:.0f} W", load.power_w);
  if (!std::isnan(limit)) text += fmt::format(", limit {:.0f} W", limit);
  if (is_lowered) text += fmt::format(", and {:.0f} W is usual", usual);
  HealthFinding& finding = findings.add("power", is_lowered ? Health::warn : Health::pass, text);
  with_value(finding, load.power_w, limit, "W");
}

void judge_temperature(Findings& findings, const Load& load) {
  if (std::isnan(load.temperature_c))
    return findings.skip("temperature", "temperature: " + why_not_read(load.unbelievable.temperature_c, "C"));
  constexpr double usual_slowdown = 87, margin = 5;  // degrees; below the slowdown of recent data-centre GPUs
  double slowdown = findings.device.fact("slowdown_temperature_c");
  if (!is_temperature(slowdown)) slowdown = not_measured;
  const std::string basis = std::isnan(slowdown) ? "usual: the GPU's own is not in this trace" : "slows down at";
  if (std::isnan(slowdown)) slowdown = usual_slowdown;
  const double hottest = slowdown - margin;
  HealthFinding& finding =
      findings.add("temperature", load.temperature_c > hottest ? Health::warn : Health::pass,
                   load.temperature_c > hottest
                       ? fmt::format("peaked at {:.0f} C; throttles at {:.0f} C", load.temperature_c, slowdown)
                       : fmt::format("at most {:.0f} C", load.temperature_c));
  with_value(finding, load.temperature_c, hottest, "degC");
  finding.basis = fmt::format("{} {:.0f} C - {:.0f}", basis, slowdown, margin);
}

}  // namespace

void judge_clocks(Findings& findings) {
  const DeviceRecord& of = findings.device;
  judge_multiprocessors(findings);
  const Load load = load_of(of);
  findings.is_short_of_power = is_short_of_power(of, load);
  judge_throttling(findings, load);
  judge_clock(findings, "sm_clock", "SM", load.sm_mhz, load.unbelievable.sm_clock_mhz, of.fact("max_sm_clock_mhz"),
              is_held_by_power_alone(load) && !findings.is_short_of_power);
  judge_clock(findings, "memory_clock", "memory", load.memory_mhz, load.unbelievable.memory_clock_mhz,
              of.fact("max_memory_clock_mhz"), false);
  judge_power(findings, load);
  judge_temperature(findings, load);
}

}  // namespace npgpu::model

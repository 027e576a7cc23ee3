#include "netpipe/model/probes/derivation.hpp"

#include <fmt/format.h>

#include <cmath>

namespace npgpu::model {

namespace {

constexpr double too_wide = 0.10;

// The value or its interval is too poor to decide; the note says why.
bool is_poor(Parameter& p) {
  const Estimate& e = p.estimate;
  if (!std::isfinite(e.value)) {
    if (p.note.empty()) add_note(p.note, "it could not be derived");
    return true;
  }
  const double half = (e.high - e.low) / 2 / std::abs(e.value);
  if (!(half > too_wide)) return false;
  add_note(p.note, fmt::format("its interval is {:.0f} % either way: too wide to check", 100 * half));
  return true;
}

// Takes the reference over; false where there is none, or the value is too poor to decide.
bool refer(Parameter& p, double reference, const std::string& source, const std::string& agrees) {
  if (!(reference > 0)) return leave_unchecked(p, source), false;
  p.reference = reference;
  p.reference_source = source + "; agrees " + agrees;
  p.verdict = Agreement::undecided;
  return !is_poor(p);
}

// The value is outside low .. high.
bool is_clearly_outside(Parameter& p, double low, double high) {
  const Estimate& e = p.estimate;
  if (e.low > high || e.high < low) return true;
  add_note(p.note, std::isfinite(e.high - e.low) ? "its interval reaches the reference, so it is not decided"
                                                 : "it has no interval, so it is not decided");
  return false;
}

}  // namespace

Estimate quotient(std::initializer_list<Estimate> over, std::initializer_list<Estimate> under, std::string unit,
                  std::string method) {
  Estimate e{1, 1, 1, std::move(unit), std::move(method)};
  for (const Estimate& factor : over) {
    e.value *= factor.value;
    e.low *= factor.low;
    e.high *= factor.high;
  }
  for (const Estimate& factor : under) {
    e.value /= factor.value;
    e.low /= factor.high;
    e.high /= factor.low;
  }
  return e;
}

Parameter parameter(std::string name, Estimate estimate, std::string meaning, std::string note) {
  Parameter p;
  p.name = std::move(name);
  p.estimate = std::move(estimate);
  p.meaning = std::move(meaning);
  p.note = std::move(note);
  return p;
}

void add_note(std::string& note, const std::string& what) { note += (note.empty() ? "" : "; ") + what; }

std::string not_reported(const std::string& device) {
  return std::string("not reported by ") + (device.starts_with("host")   ? "the system"
                                            : device.starts_with("sim:") ? "its spec"
                                                                         : "the driver");
}

void leave_unchecked(Parameter& p, const std::string& why) {
  p.verdict = Agreement::no_reference;
  p.reference = not_measured;
  p.reference_source = why;
}

void hold_against(Parameter& p, double reference, const std::string& source, double tolerance) {
  if (!refer(p, reference, source, fmt::format("within {:g} %", 100 * tolerance))) return;
  if (std::abs(p.estimate.value / reference - 1) <= tolerance) p.verdict = Agreement::agrees;
  else if (!p.note.empty()) add_note(p.note, "so it cannot be said to disagree");
  else if (is_clearly_outside(p, reference * (1 - tolerance), reference * (1 + tolerance)))
    p.verdict = Agreement::disagrees;
}

void hold_below(Parameter& p, double limit, const std::string& source, double above) {
  if (!refer(p, limit, source, fmt::format("from 95 to {:g} %, lower is no error", 100 * (1 + above)))) return;
  const double part = p.estimate.value / limit;
  if (part >= 0.95 && part <= 1 + above) {
    p.verdict = Agreement::agrees;
  } else if (part < 0.95) {
    add_note(p.note, fmt::format("{:.1f} % of its limit", 100 * part));
  } else if (is_clearly_outside(p, 0, limit * (1 + above))) {
    p.verdict = Agreement::disagrees;
    add_note(p.note, "above its limit: work was left out, or the limit is wrong");
  }
}

std::array<Parameter, 2> rate_and_part(Parameter rate, double limit, const std::string& source, std::string method,
                                       std::string meaning_of_part) {
  Parameter part = parameter(rate.name + " reached", {}, std::move(meaning_of_part), rate.note);
  hold_below(rate, limit, source);
  part.estimate = quotient({rate.estimate, exactly(100)}, {exactly(rate.reference)}, "percent", std::move(method));
  leave_unchecked(part, "a part of a limit has no reference");
  return {std::move(rate), std::move(part)};
}

}  // namespace npgpu::model

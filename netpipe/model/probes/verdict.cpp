#include "netpipe/model/probes/verdict.hpp"

#include <fmt/format.h>

#include <cmath>

namespace npgpu::model {

namespace {

constexpr double too_wide = 0.10;

void add_note(Parameter& p, const std::string& what) { p.note += (p.note.empty() ? "" : "; ") + what; }

// Nothing to hold against anything; says why.
bool has_no_value(Parameter& p) {
  if (std::isfinite(p.estimate.value)) return false;
  if (p.note.empty()) add_note(p, "it could not be derived");
  return true;
}

bool is_uncertain(Parameter& p) {
  const double half = (p.estimate.high - p.estimate.low) / 2 / std::abs(p.estimate.value);
  if (!(half > too_wide)) return false;
  add_note(p, fmt::format("its interval is {:.0f} % either way: too wide to check", 100 * half));
  return true;
}

}  // namespace

void leave_unchecked(Parameter& p, const std::string& why) {
  p.verdict = Agreement::no_reference;
  p.reference = not_measured;
  p.reference_source = why;
}

void hold_against(Parameter& p, double reference, const std::string& source, double tolerance) {
  if (!(reference > 0)) return leave_unchecked(p, source);
  p.reference = reference;
  p.reference_source = fmt::format("{}; agrees within {:g} %", source, 100 * tolerance);
  p.verdict = Agreement::no_reference;
  if (has_no_value(p) || is_uncertain(p)) return;
  if (std::abs(p.estimate.value / reference - 1) <= tolerance)
    p.verdict = Agreement::agrees;
  else if (p.note.empty())
    p.verdict = Agreement::disagrees;
  else
    add_note(p, "so it cannot be said to disagree");
}

void hold_below(Parameter& p, double limit, const std::string& source, double above) {
  if (!(limit > 0)) return leave_unchecked(p, source);
  p.reference = limit;
  p.reference_source = fmt::format("{}; agrees from 95 to {:g} %, lower is no error", source, 100 * (1 + above));
  p.verdict = Agreement::no_reference;
  if (has_no_value(p) || is_uncertain(p)) return;
  const double part = p.estimate.value / limit;
  if (part > 1 + above) {
    p.verdict = Agreement::disagrees;
    add_note(p, "above its limit: work was left out, or the limit is wrong");
  } else if (part >= 0.95) {
    p.verdict = Agreement::agrees;
  } else {
    add_note(p, fmt::format("{:.1f} % of its limit", 100 * part));
  }
}

}  // namespace npgpu::model

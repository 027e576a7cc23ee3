#include "netpipe/model/probes/verdict.hpp"

#include <fmt/format.h>

#include <cmath>

namespace npgpu::model {

namespace {

constexpr double too_wide = 0.10;

// The value or its interval is too poor to decide; the note says why.
bool is_poor(Parameter& p) {
  const Estimate& e = p.estimate;
  if (!std::isfinite(e.value)) {
    if (p.note.empty()) add_note(p, "it could not be derived");
    return true;
  }
  const double half = (e.high - e.low) / 2 / std::abs(e.value);
  if (!(half > too_wide)) return false;
  add_note(p, fmt::format("its interval is {:.0f} % either way: too wide to check", 100 * half));
  return true;
}

// The value is outside low .. high.
bool is_clearly_outside(Parameter& p, double low, double high) {
  const Estimate& e = p.estimate;
  if (e.low > high || e.high < low) return true;
  add_note(p, std::isfinite(e.high - e.low) ? "its interval reaches the reference, so it is not decided"
                                            : "it has no interval, so it is not decided");
  return false;
}

}  // namespace

void add_note(Parameter& p, const std::string& what) { p.note += (p.note.empty() ? "" : "; ") + what; }

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
  if (!(reference > 0)) return leave_unchecked(p, source);
  p.reference = reference;
  p.reference_source = fmt::format("{}; agrees within {:g} %", source, 100 * tolerance);
  p.verdict = Agreement::undecided;
  if (is_poor(p)) return;
  if (std::abs(p.estimate.value / reference - 1) <= tolerance) p.verdict = Agreement::agrees;
  else if (!p.note.empty()) add_note(p, "so it cannot be said to disagree");
  else if (is_clearly_outside(p, reference * (1 - tolerance), reference * (1 + tolerance)))
    p.verdict = Agreement::disagrees;
}

void hold_below(Parameter& p, double limit, const std::string& source, double above) {
  if (!(limit > 0)) return leave_unchecked(p, source);
  p.reference = limit;
  p.reference_source = fmt::format("{}; agrees from 95 to {:g} %, lower is no error", source, 100 * (1 + above));
  p.verdict = Agreement::undecided;
  if (is_poor(p)) return;
  const double part = p.estimate.value / limit;
  if (part >= 0.95 && part <= 1 + above) {
    p.verdict = Agreement::agrees;
  } else if (part < 0.95) {
    add_note(p, fmt::format("{:.1f} % of its limit", 100 * part));
  } else if (is_clearly_outside(p, 0, limit * (1 + above))) {
    p.verdict = Agreement::disagrees;
    add_note(p, "above its limit: work was left out, or the limit is wrong");
  }
}

}  // namespace npgpu::model

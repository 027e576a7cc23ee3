#include "netpipe/cli/check_nagios.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "npgpu/report.hpp"

namespace npgpu::cli {

namespace {

// A plugin's figures have few units: time is one, a rate is none.
struct Scale {
  std::string_view unit, name_ends, unit_after;
  double by;
  bool is_floor;  // critical below the limit, not above it
};
constexpr Scale scales[] = {{"B/s", "_gb_s", "", 1e-9, true},
                            {"FLOP/s", "_tflop_s", "", 1e-12, true},
                            {"OP/s", "_top_s", "", 1e-12, true},
                            {"MHz", "_mhz", "", 1, true},
                            {"us", "", "us", 1, false}};

std::string figure(const HealthFinding& finding) {
  const auto* const scale = std::ranges::find(scales, std::string_view(finding.unit), &Scale::unit);
  if (scale == std::end(scales) || !std::isfinite(finding.value) || !std::isfinite(finding.limit)) return {};
  std::string label =
      finding.device + (finding.device.empty() ? "" : " ") + finding.metric;  // of the node, or of a device
  std::ranges::replace(label, '\'', '_');
  std::ranges::replace(label, '=', '_');
  return fmt::format(" '{}{}'={:.5g}{};;{:.5g}{}", label, scale->name_ends, finding.value * scale->by,
                     scale->unit_after, finding.limit * scale->by, scale->is_floor ? ":" : "");
}

}  // namespace

int nagios_code(CheckVerdict verdict, Health worst) {
  switch (verdict) {
    case CheckVerdict::ok: return worst == Health::warn ? 1 : 0;
    case CheckVerdict::slow:
    case CheckVerdict::broken: return 2;
    case CheckVerdict::undecided: return 1;
    case CheckVerdict::failed_to_run:
    case CheckVerdict::not_judged: break;
  }
  return 3;
}

std::string nagios_line(const CheckOf& check, int code, std::string said) {
  constexpr std::array<std::string_view, 4> words{"OK", "WARNING", "CRITICAL", "UNKNOWN"};
  std::ranges::replace(said, '|', '/');  // which begins the figures
  std::string figures;
  for (const HealthFinding* finding : worst_of_each_metric(check.findings)) figures += figure(*finding);
  if (!figures.empty()) figures[0] = '|';
  return fmt::format("NPGPU {} - {}{}", words[static_cast<std::size_t>(std::clamp(code, 0, 3))], one_line(said),
                     one_line(figures));
}

}  // namespace npgpu::cli

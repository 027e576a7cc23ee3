#include "netpipe/cli/check_ending.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <type_traits>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/model/medians.hpp"
#include "netpipe/report/format.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

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

int exit_code_of_verdict(CheckVerdict verdict, bool is_nothing) {
  switch (verdict) {
    case CheckVerdict::ok: return exit_code::done;
    case CheckVerdict::slow: return exit_code::slower;
    case CheckVerdict::broken: return exit_code::broken;
    case CheckVerdict::failed_to_run: return exit_code::failed;
    case CheckVerdict::undecided: return exit_code::undecided;
    case CheckVerdict::not_judged: break;
  }
  return is_nothing ? exit_code::nothing : exit_code::busy;
}

int end_with_verdict(const CampaignResult& campaign, const MeasureOptions& options, const Trace& trace,
                     CheckVerdict verdict, const std::string& said) {
  if (verdict == CheckVerdict::ok && !campaign.failures.empty()) verdict = CheckVerdict::failed_to_run;
  if (!options.json)
    std::cout << fmt::format("{}: {}{}; {} in {}{}; trace: {}\n", printable(trace.root.hostname),
                             campaign.stopped ? "stopped" : name(verdict), said, counted(campaign.measured, "point"),
                             clock_text(campaign.wall), rest_of(campaign), options.output);
  if (campaign.stopped) say_how_to_continue(options.output);
  return campaign.stopped ? exit_code_of(campaign) : exit_code_of_verdict(verdict);
}

namespace {

// "NPGPU CRITICAL - cuda:0 PCIe x8/x16 ...|'cuda:0 h2d_rate_gb_s'=27.5;;52.74:": the status, what is said of it, and
// each figure that was compared with a limit, with the range beyond which it is critical.
std::string nagios_line(const CheckReport& check, int code, std::string said) {
  constexpr std::array<std::string_view, 4> words{"OK", "WARNING", "CRITICAL", "UNKNOWN"};
  std::ranges::replace(said, '|', '/');  // which begins the figures
  std::string figures;
  for (const HealthFinding* finding : worst_of_each_metric(check.findings)) figures += figure(*finding);
  if (!figures.empty()) figures[0] = '|';
  return fmt::format("NPGPU {} - {}{}", words[static_cast<std::size_t>(std::clamp(code, 0, 3))], one_line(said),
                     one_line(figures));
}

// ": cuda:0: PCIe Gen5 x8 while copying, ... (and 4 more)": the first failure that the verdict rests on.
std::string worst_text(const CheckReport& check) {
  const HealthFinding* first = nullptr;
  std::size_t failures = 0;
  for (const HealthFinding& finding : check.findings) {
    if (finding.health != Health::fail) continue;
    ++failures;
    if (finding.if_failed == check.verdict && !first) first = &finding;
  }
  if (!first) return {};
  return fmt::format(": {}{}{}", first->device + (first->device.empty() ? "" : ": "), first->text,
                     failures > 1 ? fmt::format(" (and {} more)", failures - 1) : "");
}

// A figure that has a limit was disturbed; without a limit nothing is known that it could be compared with.
std::string why_unjudged(const CheckReport& check) {
  const HealthFinding* first = nullptr;
  for (const HealthFinding& finding : check.findings) {
    if (finding.health != Health::unjudged) continue;
    if (std::isfinite(finding.limit)) return "others used it, so that it could not be judged";
    if (!first) first = &finding;
  }
  if (!first) return "nothing was measured that could be judged";
  return first->device + (first->device.empty() ? "" : ": ") + first->text;
}

void print_check(const Options& options, const CheckReport& check, const Ending& ending, bool nagios) {
  if (options.on("json")) {
    check_json(std::cout, check);
    return;
  }
  const bool quiet = options.on("quiet");
  std::string line;
  // A line by itself is often cut after some twenty characters: by sinfo, by a pager.
  if (const std::string reason = check_reason(check); (quiet || nagios) && !reason.empty()) line = reason + "; ";
  line += fmt::format("{}: {}, {} GPU{}", check.root.hostname, name(check.verdict), check.gpus.size(),
                      check.gpus.size() == 1 ? "" : "s");
  if (quiet) line += worst_text(check);
  if (check.verdict == CheckVerdict::not_judged && check.why_not_judged.empty()) line += "; " + why_unjudged(check);
  else if (!check.decided.empty()) line += "; judged by " + check.decided;
  if (ending.is_stopped) line += "; stopped by a signal before its end";
  if (std::isfinite(check.wall_s)) line += fmt::format("; {:.1f} s", check.wall_s);
  if (!check.trace.empty()) line += "; trace: " + check.trace;
  if (nagios) std::cout << nagios_line(check, check.exit_code, line) << '\n';  // first of all, as plugins do
  if (!quiet) check_text(std::cout, check, options.on("all"), terminal_style());
  if (!nagios) std::cout << one_line(line) << '\n';
}

// Whoever drains a node by the verdict goes by the exit code. False if something could not be written.
bool write_reports(const Options& options, const CheckReport& check) {
  bool are_written = true;
  const auto write = [&](const char* option, auto&& report) {
    if (const auto path = options.maybe(option))
      are_written &=
          is_written([&] { write_file(option, *path, true, [&](std::ostream& out) { report(out, check); }); });
  };
  write("junit", check_junit);
  write("openmetrics", check_openmetrics);
  return are_written;
}

}  // namespace

int end_check(const Options& options, CheckReport& check, const Ending& ending) {
  const bool nagios = options.text("exit-codes") == "nagios";
  check.verdict = check.why_not_judged.empty() || worst_of(check.findings) == Health::fail ? verdict_of(check.findings)
                                                                                           : CheckVerdict::not_judged;
  constexpr int unknown_to_nagios = 3;
  check.exit_code = nagios && !ending.is_stopped ? nagios_code(check.verdict, worst_of(check.findings))
                    : nagios                     ? unknown_to_nagios
                    : ending.is_stopped          ? exit_code::stopped
                                                 : exit_code_of_verdict(check.verdict, ending.is_nothing);
  // The first line of a plugin and its exit code have to agree.
  if (!nagios) print_check(options, check, ending, nagios);
  if (!write_reports(options, check) && check.exit_code == exit_code::done)
    check.exit_code = nagios ? unknown_to_nagios : exit_code::failed;
  if (nagios) print_check(options, check, ending, nagios);
  return check.exit_code;
}

}  // namespace npgpu::cli

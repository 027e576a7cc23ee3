#include "netpipe/cli/check_ending.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iostream>

#include "netpipe/cli/check_nagios.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

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

namespace {

// ": cuda:0: PCIe Gen5 x8 while copying, ... (and 4 more)": the first failure that the verdict rests on.
std::string worst_text(const CheckOf& check) {
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
std::string why_unjudged(const CheckOf& check) {
  const HealthFinding* first = nullptr;
  for (const HealthFinding& finding : check.findings) {
    if (finding.health != Health::unjudged) continue;
    if (std::isfinite(finding.limit)) return "others used it, so that it could not be judged";
    if (!first) first = &finding;
  }
  if (!first) return "nothing was measured that could be judged";
  return first->device + (first->device.empty() ? "" : ": ") + first->text;
}

void print_check(const Options& options, const CheckOf& check, const Ending& ending, bool nagios) {
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
bool write_reports(const Options& options, const CheckOf& check) {
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

int end_check(const Options& options, CheckOf& check, const Ending& ending) {
  const bool nagios = options.text("exit-codes") == "nagios";
  check.verdict = check.why_not_judged.empty() || worst_of(check.findings) == Health::fail ? verdict_of(check.findings)
                                                                                           : CheckVerdict::not_judged;
  constexpr int unknown_to_nagios = 3;
  check.exit_code = nagios && !ending.is_stopped ? nagios_code(check.verdict, worst_of(check.findings))
                    : nagios                     ? unknown_to_nagios
                    : ending.is_stopped          ? exit_code::stopped
                                                 : exit_code_of_verdict(check.verdict, ending.is_nothing);
  // Of a plugin the first line and the code have to agree.
  if (!nagios) print_check(options, check, ending, nagios);
  if (!write_reports(options, check) && check.exit_code == exit_code::done)
    check.exit_code = nagios ? unknown_to_nagios : exit_code::failed;
  if (nagios) print_check(options, check, ending, nagios);
  return check.exit_code;
}

}  // namespace npgpu::cli

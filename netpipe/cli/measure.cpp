// The whole of a measuring command, and what is printed at its end.
#include "netpipe/cli/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/plan_text.hpp"
#include "netpipe/cli/progress.hpp"
#include "netpipe/cli/side_by_side.hpp"
#include "netpipe/cli/signals.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/process/descriptor.hpp"
#include "netpipe/report/format.hpp"
#include "npgpu/error.hpp"
#include "npgpu/report.hpp"
#include "npgpu/trace_results.hpp"

namespace npgpu::cli {

std::string rest_of(const Tally& tally) {
  std::string text;
  if (tally.kept) text += fmt::format(", {} kept from before", tally.kept);
  if (tally.disturbed)
    text += fmt::format(", {} disturbed ({})", tally.disturbed, disturbance_text(tally.causes, tally.disturbers));
  return text;
}

int exit_code_of(const CampaignResult& campaign) {
  if (campaign.stopped && !(campaign.rank_lost && !stop_asked())) return exit_code::stopped;
  return campaign.failures.empty() && campaign.reported_by_other_ranks == 0 ? exit_code::done : exit_code::failed;
}

CampaignResult run_campaign(const Plan& plan, const MeasureOptions& options) {
  Settings settings = options;
  settings.argv = typed();
  if (!settings.stop) settings.stop = stop_asked;
  settings.save = save_asked;
  settings.host_turn = turns_of_several();
  settings.ready = [] { begin_with_parent(stop_asked); };
  if (settings.side_by_side && !settings.processes) settings.processes = std::make_shared<SideBySide>(options.output);
  Progress progress(options.progress);
  std::cout << std::flush;
  const process::OutputToErrors libraries;
  try {
    return measure(plan, settings, progress);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::busy) throw;
    throw Error(ErrorKind::busy, std::string("--require-quiet: ") + e.what());
  }
}

int print_plan(const Plan& plan, const MeasureOptions& options) {
  const auto width = static_cast<std::size_t>(std::min(terminal_style().width, 120));
  if (options.json) plan_json(std::cout, plan, options);
  else std::cout << plan_text(plan, options, width);
  return exit_code::done;
}

int measure(const Options& given, Plan (*plan_of)(const Options&), const Summary& summary) {
  return measure(given, measure_options(given), plan_of,
                 [&](const CampaignResult& campaign, const MeasureOptions& options) {
                   print_summary(campaign, options, summary);
                   return exit_code_of(campaign);
                 });
}

int measure(const Options& given, const MeasureOptions& options, Plan (*plan_of)(const Options&),
            const CampaignEnd& end) {
  if (!options.dry_run) {  // a plan looks at devices, which takes a while
    catch_signals();
    stop_with_parent();
  }
  const Plan plan = plan_of(given);
  if (plan.points() == 0)
    throw Error(ErrorKind::usage, plan.left_out.empty() ? "nothing to run" : plan.left_out.front());
  if (options.dry_run) return print_plan(plan, options);
  return end(run_campaign(plan, options), options);
}

void print_summary(const CampaignResult& campaign, const MeasureOptions& options, const Summary& summary) {
  // Who stops a run may be in a hurry: npgpu report shows what it has.
  if (options.json) report_json(std::cout, TraceResults(read_trace(options.output)));
  else if (!options.quiet && !campaign.stopped) summary(read_trace(options.output), options.output);
  if (!options.json) {
    const std::string verdict = campaign.stopped            ? "stopped"
                                : campaign.failures.empty() ? "done"
                                                            : fmt::format("{} failed", campaign.failures.size());
    std::cout << fmt::format("{}: {} measured in {}{}; trace: {}\n", verdict, counted(campaign.measured, "point"),
                             clock_text(campaign.wall), rest_of(campaign), one_line(options.output));
  }
  if (options.quiet || options.json)
    for (const std::string& failure : campaign.failures) complain(failure);
  else if (!campaign.failures.empty())
    std::cerr << fmt::format("npgpu: {} failed, see above\n", campaign.failures.size());
  if (campaign.stopped && !campaign.rank_lost)
    std::cerr << "npgpu: stopped by a signal, trace saved; continue"
              << (options.ranks.everyone ? ", in a job of as many ranks, with: " : " with: ")
              << resuming(options.ranks.everyone ? options.ranks.output : options.output) << '\n';
}

}  // namespace npgpu::cli

#include "netpipe/cli/campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "netpipe/cli/campaign_parts.hpp"
#include "netpipe/cli/how_to_predict.hpp"
#include "netpipe/cli/progress.hpp"
#include "netpipe/cli/provenance.hpp"
#include "netpipe/cli/signals.hpp"
#include "netpipe/cli/stream_campaign.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/error.hpp"
#include "npgpu/model.hpp"
#include "npgpu/report.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::cli {

namespace {

constexpr std::uint64_t warm_up_bytes = 64 * KiB;

TransferSeries header_of(const PlannedSweep& planned, const Schedule& schedule) {
  TransferSeries header = begun<TransferSeries>(planned.question, planned.device, schedule);
  header.limit = limit_of(planned.question, planned.device);
  return header;
}

ProbeSeries header_of(const PlannedProbe& planned, const Schedule& schedule) {
  ProbeSeries header = begun<ProbeSeries>(planned.question, planned.device, schedule);
  header.layout = planned.probe->layout(planned.question);
  header.peak = planned.probe->peak(planned.question);
  return header;
}

class Runner {
 public:
  Runner(const Plan& plan, const MeasureOptions& options, Campaign& result)
      : plan_(plan),
        options_(options),
        result_(result),
        writer_(options.output, options.if_exists, trace_root(), provenance(plan.devices(), plan.left_out)),
        progress_(options.quiet, expected()) {}

  void run() {
    for (const std::string& why : plan_.left_out) progress_.say("left out: " + why);
    for (std::size_t i = 0; i < plan_.sweeps.size() && !result_.stopped; ++i) sweep(i);
    for (std::size_t i = 0; i < plan_.probes.size() && !result_.stopped; ++i) probe(i);
    for (std::size_t i = 0; i < plan_.streams.size() && !result_.stopped; ++i) streams(i);
    if (result_.stopped) {
      save();
    } else {
      writer_.finish();
      progress_.saved();
    }
    result_.saving = writer_.time_saving();
  }

 private:
  Seconds expected() const {
    const auto schedule = options_.make_schedule();
    Seconds sum{0};
    for (const PlannedSweep& planned : plan_.sweeps)
      for (const std::uint64_t bytes : planned.sizes) sum += guess(*schedule, planned.question, bytes);
    const auto of_probes = options_.make_probe_schedule();
    for (const PlannedProbe& planned : plan_.probes)
      for (const Shape& shape : planned.shapes) sum += guess(*of_probes, shape);
    const auto of_jobs = options_.make_job_schedule();
    for (const PlannedStreams& planned : plan_.streams)
      for (const PlannedJob& job : planned.jobs) sum += guess(*of_jobs, job);
    return sum;
  }

  std::size_t cases() const { return plan_.sweeps.size() + plan_.probes.size() + plan_.streams.size(); }

  void save() {
    writer_.checkpoint();
    progress_.saved();
  }

  void sweep(std::size_t number) {
    const PlannedSweep& planned = plan_.sweeps[number];
    const auto schedule = options_.make_schedule();
    progress_.sweep(number + 1, cases(), title(planned.question), planned.sizes.size());
    TransferSeries header = header_of(planned, *schedule);

    std::vector<std::unique_ptr<Channel>> owned;
    std::vector<Channel*> channels;
    std::string failure;
    try {
      for (const TransferCase& lane : lanes(planned.question)) {
        owned.push_back(planned.module->open(lane, planned.sizes.back()));
        channels.push_back(owned.back().get());
      }
      header.binding = channels.front()->binding();
    } catch (const Error& e) {
      failure = e.what();
    }
    const std::size_t index = writer_.begin_sweep(header);
    const auto fail = [&](const std::string& why) { note(title(planned.question), why, [&] { writer_.set_sweep_error(index, why); }); };
    const auto give_up = [&](const std::string& why, std::size_t from) {
      fail(why);
      for (std::size_t i = from; i < planned.sizes.size(); ++i)
        progress_.skipped(guess(*schedule, planned.question, planned.sizes[i]));
      save();
    };
    if (!failure.empty()) return give_up(failure, 0);

    bool awake = planned.device.simulated;  // a model has no clocks that rest
    for (std::size_t i = 0; i < planned.sizes.size(); ++i) {
      const std::uint64_t bytes = planned.sizes[i];
      const Seconds share = guess(*schedule, planned.question, bytes);
      if (writer_.has_point(index, bytes)) {
        ++result_.kept;
        progress_.skipped(share);
        continue;
      }
      std::optional<Measured<Transfers>> measured;
      try {
        if (!std::exchange(awake, true))
          warm_up(planned.question, channels, std::min(planned.sizes.back(), warm_up_bytes), warm_up_time);
        measured = measure_point(planned.question, channels, *schedule, bytes, [&] {
          if (save_asked()) save();
          return stop_asked();
        });
      } catch (const Error& e) {
        return give_up(fmt::format("at {} bytes: {}", bytes, e.what()), i);
      }
      if (!measured) {
        result_.stopped = true;
        return;
      }
      writer_.add_point(index, measured->point, measured->samples);
      ++result_.measured;
      progress_.point(index, summarize(of_one_point(header, *measured)), share);
      if (!measured->mismatch.empty())
        fail(fmt::format("payload wrong at {} bytes: {}", bytes, measured->mismatch));
      if (writer_.checkpoint_if_due()) progress_.saved();
    }
  }

  void probe(std::size_t number) {
    const PlannedProbe& planned = plan_.probes[number];
    const auto schedule = options_.make_probe_schedule();
    progress_.sweep(plan_.sweeps.size() + number + 1, cases(), title(planned.question), planned.shapes.size());
    ProbeSeries header = header_of(planned, *schedule);
    std::uint64_t max_bytes = 0;
    for (const Shape& shape : planned.shapes) max_bytes = std::max(max_bytes, shape.bytes);
    std::unique_ptr<Runner<Probes>> kernel;
    std::string failure;
    try {
      kernel = planned.probe->open(planned.question, max_bytes);
      header.binding = kernel->binding();
    } catch (const Error& e) {
      failure = e.what();
    }
    const std::size_t index = writer_.begin_probe(header);
    const auto fail = [&](const std::string& why) { note(title(planned.question), why, [&] { writer_.set_probe_error(index, why); }); };
    const auto give_up = [&](const std::string& why, std::size_t from) {
      fail(why);
      for (std::size_t i = from; i < planned.shapes.size(); ++i) progress_.skipped(guess(*schedule, planned.shapes[i]));
      save();
    };
    if (!failure.empty()) return give_up(failure, 0);

    for (std::size_t i = 0; i < planned.shapes.size(); ++i) {
      const Shape& shape = planned.shapes[i];
      const Seconds share = guess(*schedule, shape);
      if (writer_.has_shape(index, shape)) {
        ++result_.kept;
        progress_.skipped(share);
        continue;
      }
      std::optional<Measured<Probes>> measured;
      try {
        measured = measure_shape(*kernel, *schedule, shape, [&] {
          if (save_asked()) save();
          return stop_asked();
        });
      } catch (const Error& e) {
        return give_up(fmt::format("at {}: {}", text_of(shape), e.what()), i);
      }
      if (!measured) {
        result_.stopped = true;
        return;
      }
      writer_.add_shape(index, measured->point, measured->samples);
      ++result_.measured;
      progress_.shape(index, of_one_point(header, *measured), share);
      if (!measured->mismatch.empty()) fail(fmt::format("wrong at {}: {}", text_of(shape), measured->mismatch));
      if (writer_.checkpoint_if_due()) progress_.saved();
    }
  }

  void streams(std::size_t number) {
    const PlannedStreams& planned = plan_.streams[number];
    progress_.sweep(plan_.sweeps.size() + plan_.probes.size() + number + 1, cases(), "jobs in streams " + planned.device.id,
                    planned.jobs.size());
    run_jobs(planned, {.make_schedule = options_.make_job_schedule,
                       .result = result_,
                       .writer = writer_,
                       .progress = progress_,
                       .trials = trials_,
                       .save = [&] { save(); },
                       .note = [&](const auto&... told) { note(told...); }});
  }

  // The case ends, or has something wrong in it, and the rest carries on.
  void note(const std::string& title, const std::string& why, const std::function<void()>& set_error) {
    result_.failures.push_back(title + ": " + why);
    set_error();
    progress_.say("failed: " + result_.failures.back());
  }

  const Plan& plan_;
  const MeasureOptions& options_;
  Campaign& result_;
  TraceWriter writer_;
  Progress progress_;
  std::uint64_t trials_ = 0;  // of jobs in streams
};

}  // namespace

int Campaign::exit_code() const {
  if (stopped) return exit_code::stopped;
  return failures.empty() ? exit_code::done : exit_code::failed;
}

Campaign run_campaign(const Plan& plan, const MeasureOptions& options) {
  catch_signals();
  Campaign result;
  const Seconds begin = steady_clock().now();
  Runner(plan, options, result).run();
  result.wall = steady_clock().now() - begin;
  return result;
}

int measure(const Plan& plan, const MeasureOptions& options, ClosingReport ending) {
  if (plan.empty())
    throw Error(ErrorKind::usage, plan.left_out.empty() ? "nothing to run" : plan.left_out.front());
  if (options.dry_run) {
    const auto of_sweeps = options.make_schedule(), of_probes = options.make_probe_schedule(),
               of_jobs = options.make_job_schedule();
    const Schedules by{*of_sweeps, *of_probes, *of_jobs};
    std::cout << (options.json ? plan_json(plan, by) : plan_text(plan, by));
    return exit_code::done;
  }
  const Campaign campaign = run_campaign(plan, options);
  const Trace trace = read_trace(options.output);
  if (options.json) {
    report_json(std::cout, trace);
  } else if (!options.quiet) {
    const TextStyle style = terminal_style();
    ending == ClosingReport::full_report ? report_text(std::cout, trace, style) : report_overview(std::cout, trace, style);
    std::cout << fmt::format("\n{} points measured in {}", campaign.measured, clock_text(campaign.wall));
    if (campaign.kept) std::cout << fmt::format(", {} kept from before", campaign.kept);
    std::cout << fmt::format("; trace: {}\n", options.output);
    if (ending == ClosingReport::overview && !campaign.stopped)
      std::cout << fmt::format("every size and interval: npgpu report {}\n", options.output);
    std::cout << how_to_predict(trace, options.output);
  }
  if (campaign.stopped)
    std::cerr << fmt::format("npgpu: stopped by a signal, trace saved; continue with --resume --output {}\n", options.output);
  if (options.quiet || options.json)
    for (const std::string& failure : campaign.failures) std::cerr << "npgpu: " << failure << '\n';
  else if (!campaign.failures.empty())
    std::cerr << fmt::format("npgpu: {} failed, see above\n", campaign.failures.size());
  return campaign.exit_code();
}

}  // namespace npgpu::cli

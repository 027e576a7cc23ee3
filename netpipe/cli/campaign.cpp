#include "netpipe/cli/campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <utility>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/progress.hpp"
#include "netpipe/cli/provenance.hpp"
#include "netpipe/cli/signals.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/error.hpp"
#include "npgpu/predict.hpp"
#include "npgpu/report.hpp"

namespace npgpu::cli {

namespace {

// What a device does before a batch's first point. On an H200 that had rested, copies of 64 B took 7 % less time in the
// first 60 ms than ever after: a program in full swing sees the later figure.
constexpr Seconds warm_up_time{0.15};

// ", 3 kept from before, 2 not converged"
std::string rest_of(const Tally& tally) {
  std::string text;
  if (tally.kept) text += fmt::format(", {} kept from before", tally.kept);
  if (tally.not_converged) text += fmt::format(", {} not converged", tally.not_converged);
  return text;
}

// A series that was begun: where it is in the trace, and how it goes.
template <class K> struct Begun : Tally {
  std::size_t index = 0;
  Series<K> header;
  std::vector<typename K::Axes> known;  // of its points in the trace
  std::size_t steps_left = 0;
  double wall_us = 0;
  bool given_up = false;
};

class Run {
 public:
  Run(const Plan& plan, const MeasureOptions& options, Campaign& result)
      : plan_(plan),
        options_(options),
        result_(result),
        writer_(options.output, options.if_exists, trace_root(options.plan), provenance(plan.devices(), plan.left_out),
                Guard::child),
        progress_(options.progress, plan.cases(), guess(plan, options)) {}

  void run() {
    for (const std::string& why : plan_.left_out) progress_.say("left out: " + why);
    for_each_kind([&]<class K>() {
      for (const Batch<K>& batch : plan_.of<K>())
        if (!result_.stopped) this->batch(batch);
    });
    if (!result_.stopped) writer_.finish();
    if (result_.stopped) writer_.checkpoint();
    progress_.saved();
  }

 private:
  void save() {
    writer_.checkpoint();
    progress_.saved();
  }

  template <class K> void batch(const Batch<K>& batch) {
    const auto schedule = options_.repetition<K>().schedule();
    std::unique_ptr<Runner<K>> runner;
    std::string failure;
    try {
      runner = batch.backend->open(batch.steps);
    } catch (const Error& e) {
      failure = e.what();
    }
    std::map<typename K::Case, Begun<K>> series;
    for (const Step<K>& step : batch.steps) ++series[step.question].steps_left;
    bool awake = batch.device.simulated;  // a model has no clocks that rest
    for (const Step<K>& step : batch.steps) {
      Begun<K>& at = series[step.question];
      if (at.header.schedule.empty()) begin(at, batch, step.question, *schedule, runner.get());
      if (!failure.empty() && !at.given_up) give_up(at, failure);
      if (at.given_up) progress_.skipped(guess(batch, step, options_.repetition<K>()));
      else one(at, batch, step, *schedule, *runner, awake);
      if (result_.stopped) return;
      if (--at.steps_left == 0) done(at);
    }
  }

  template <class K>
  void begin(Begun<K>& at, const Batch<K>& batch, const typename K::Case& question, const Schedule& schedule,
             const Runner<K>* runner) {
    static_cast<typename K::Context&>(at.header) = batch.backend->context(question);
    at.header.question = question;
    at.header.schedule = schedule.text();
    at.header.device_uuid = batch.device.uuid;
    at.header.device_name = batch.device.name;
    at.header.simulated = batch.device.simulated;
    if (runner) at.header.binding = runner->binding();
    try {
      at.index = writer_.begin<K>(at.header);
    } catch (const Error&) {
      save();
      throw;
    }
    at.known = writer_.axes<K>(at.index);
  }

  template <class K>
  void one(Begun<K>& at, const Batch<K>& batch, const Step<K>& planned, Schedule& schedule, Runner<K>& runner,
           bool& awake) {
    const Seconds share = guess(batch, planned, options_.repetition<K>());
    Step<K> step = planned;
    std::optional<Measured<K>> measured;
    try {
      step = runner.settled(planned, at.known);
      if (writer_.has<K>(at.index, step.axes)) {
        ++result_.kept;
        ++at.kept;
        return progress_.skipped(share);
      }
      if (!std::exchange(awake, true)) {
        runner.prepare(step);
        runner.warm_up(warm_up_time);
      }
      measured = npgpu::measure<K>(runner, schedule, step, [&] {
        if (save_asked()) save();
        return stop_asked();
      });
    } catch (const Error& e) {
      progress_.skipped(share);
      give_up(at, fmt::format("at {}: {}", text_of(step.axes), e.what()));
      return save();
    }
    if (!measured) {
      result_.stopped = true;
      return;
    }
    number(measured->samples);
    writer_.add<K>(at.index, measured->point, measured->samples);
    const bool converged = measured->point.stop != Stop::not_converged;
    ++result_.measured;
    ++at.measured;
    result_.not_converged += !converged;
    at.not_converged += !converged;
    at.wall_us += measured->point.wall_us;
    progress_.point(title(step.question), fmt::format("/{}/{:04} {}", K::name, at.index, at.known.size()),
                    fmt::format("{} {}{}", text_of(step.axes), point_text<K>(alone(at.header, *measured)),
                                converged ? "" : " (not converged)"),
                    share);
    at.known.push_back(step.axes);
    if (!measured->mismatch.empty()) fail(at, fmt::format("wrong at {}: {}", text_of(step.axes), measured->mismatch));
    if (writer_.checkpoint_if_due()) progress_.saved();
  }

  // Trials are numbered over the whole run where a sample has such a number, so that a drift can be seen.
  template <class Sample> void number(std::vector<Sample>& samples) {
    if constexpr (requires(Sample sample) { sample.number; })
      for (Sample& sample : samples) sample.number = trials_ + sample.trial;
    if (!samples.empty()) trials_ += samples.back().trial + 1;
  }

  // The series with this point only.
  template <class K> static Series<K> alone(const Series<K>& header, const Measured<K>& measured) {
    Series<K> one = header;
    one.points = {measured.point};
    one.points[0].first_sample = 0;
    one.points[0].samples = static_cast<std::uint32_t>(measured.samples.size());
    one.samples = measured.samples;
    for (auto& sample : one.samples) sample.point = 0;
    return one;
  }

  template <class K> void done(const Begun<K>& at) {
    progress_.case_done(fmt::format("{}: {} points in {}{}{}", title(at.header.question), at.measured,
                                    clock_text(from_microseconds(at.wall_us)), rest_of(at),
                                    at.given_up ? ", given up" : ""));
  }

  // Something is wrong with a series, and the rest carries on.
  template <class K> void fail(const Begun<K>& at, const std::string& why) {
    result_.failures.push_back(title(at.header.question) + ": " + why);
    writer_.set_error<K>(at.index, why);
    progress_.say("failed: " + result_.failures.back());
  }
  template <class K> void give_up(Begun<K>& at, const std::string& why) {
    at.given_up = true;
    fail(at, why);
  }

  const Plan& plan_;
  const MeasureOptions& options_;
  Campaign& result_;
  TraceWriter writer_;
  Progress progress_;
  std::uint64_t trials_ = 0;
};

}  // namespace

int Campaign::exit_code() const {
  if (stopped) return exit_code::stopped;
  return failures.empty() ? exit_code::done : exit_code::failed;
}

Campaign run_campaign(const Plan& plan, const MeasureOptions& options) {
  Campaign result;
  const Seconds begin = steady_clock().now();
  Run(plan, options, result).run();
  result.wall = steady_clock().now() - begin;
  return result;
}

int measure(const Options& given, Plan (*plan_of)(const Options&), const Summary& summary) {
  const MeasureOptions options = measure_options(given);
  if (!options.dry_run) catch_signals();  // a plan looks at devices, which takes a while
  const Plan plan = plan_of(given);
  if (plan.points() == 0)
    throw Error(ErrorKind::usage, plan.left_out.empty() ? "nothing to run" : plan.left_out.front());
  if (options.dry_run) {
    const auto width = static_cast<std::size_t>(std::min(terminal_style().width, 120));
    if (options.json) plan_json(std::cout, plan, options);
    else std::cout << plan_text(plan, options, width);
    return exit_code::done;
  }
  const Campaign campaign = run_campaign(plan, options);
  // Who stops a run may be in a hurry: npgpu report shows what it has.
  if (options.json) report_json(std::cout, read_trace(options.output, Guard::child));
  else if (!options.quiet && !campaign.stopped) summary(read_trace(options.output, Guard::child), options.output);
  if (!options.json) {
    const std::string verdict = campaign.stopped            ? "stopped"
                                : campaign.failures.empty() ? "done"
                                                            : fmt::format("{} failed", campaign.failures.size());
    std::cout << fmt::format("{}{}: {} points measured in {}{}; trace: {}\n",
                             options.quiet || campaign.stopped ? "" : "\n", verdict, campaign.measured,
                             clock_text(campaign.wall), rest_of(campaign), options.output);
  }
  if (options.quiet || options.json)
    for (const std::string& failure : campaign.failures) std::cerr << "npgpu: " << failure << '\n';
  else if (!campaign.failures.empty())
    std::cerr << fmt::format("npgpu: {} failed, see above\n", campaign.failures.size());
  if (campaign.stopped)
    std::cerr << "npgpu: stopped by a signal, trace saved; continue with: " << resuming(options.output) << '\n';
  return campaign.exit_code();
}

std::string next_steps(const Trace& trace, const std::string& path) {
  const auto all = stream_costs(trace);
  std::string text;
  for (const MeasuredCosts& one : all)
    if (one.usable)
      text += fmt::format(
          "into how many streams to cut a job: npgpu predict {}{} --bytes-in 64MiB --kernel-ms 1 --bytes-out 64MiB\n",
          quoted(path), all.size() > 1 ? " --device " + quoted(one.device) : "");
  return text;
}

}  // namespace npgpu::cli

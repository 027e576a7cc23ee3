#include "netpipe/cli/campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/condition.hpp"
#include "netpipe/cli/course.hpp"
#include "netpipe/cli/lost_devices.hpp"
#include "netpipe/cli/progress.hpp"
#include "netpipe/cli/provenance.hpp"
#include "netpipe/cli/quiet.hpp"
#include "netpipe/cli/rank_notes.hpp"
#include "netpipe/cli/second_process.hpp"
#include "netpipe/cli/side_by_side.hpp"
#include "netpipe/cli/signals.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/cli/together.hpp"
#include "netpipe/ranks/lifeline.hpp"
#include "npgpu/error.hpp"
#include "npgpu/report.hpp"

namespace npgpu::cli {

namespace {

// What a device does before its first point, and before the next one after a rest. On an H200 that had rested, copies
// of 64 B took 7 % less time in the first 60 ms than ever after: a program in full swing sees the later figure.
constexpr Seconds warm_up_time{0.15}, rest{0.5};

class Run {
 public:
  Run(const Plan& plan, const MeasureOptions& options, Campaign& result)
      : plan_(plan),
        options_(options),
        result_(result),
        random_(options.seed),
        before_(trace_before(options)),
        others_(plan.devices()),
        conditions_(plan.devices()),
        ranks_(options.together),
        writer_(options.output, options.if_exists, trace_root(options.plan, options.seed),
                provenance(plan.devices(), plan.left_out), Guard::child),
        progress_(options.progress, plan.cases(), guess(plan, options), plan.is_of_node()),
        lifeline_(lifeline()) {}

  void run() {
    for (const std::string& why : plan_.left_out) progress_.say("left out: " + why);
    look_for_others();
    for_each_kind([&]<class K>() {
      for (const Batch<K>& batch : plan_.of<K>()) {
        Course<K>& course = courses<K>().emplace_back(Course<K>{&batch});
        for (const Step<K>& step : batch.steps) {
          course.series.try_emplace(step.question);
          course.targets.push_back({step});
        }
      }
    });
    begin_with_parent(stop_asked);
    begin_ = steady_clock().now();
    side_by_side();
    const std::uint32_t most =
        options_.is_second_look() ? options_.end_round : std::min(options_.most_visits(), options_.end_round);
    try {
      if (before_) ranks_.recall(*before_);
      ranks_.note("ranks", writer_);
      for (round_ = options_.first_round; round_ < most && !result_.stopped; ++round_) {
        if (round_ > 0 && (options_.fresh_contexts || round_ == options_.first_round)) begin_anew();
        round();
        drifts_ = drifts(courses_);
      }
      if (!result_.stopped) ranks_.note("ranks_after", writer_);
      if (!result_.stopped) once_more_alone();
    } catch (const Parted& e) {
      result_.parted = result_.stopped = true;
      result_.failures.emplace_back(e.what());
      progress_.say(result_.failures.back());
    }
    count();
    conditions_.note(writer_);
    if (!result_.stopped) writer_.finish();
    if (result_.stopped) writer_.checkpoint();
    progress_.saved();
  }

 private:
  template <class K> Courses<K>& courses() { return std::get<Courses<K>>(courses_); }

  void look_for_others() {
    if (options_.patience == Seconds{0} && !options_.require_quiet) return;
    const std::string seen = others_.wait(options_.patience, stop_asked);
    if (seen.empty()) return;
    if (options_.require_quiet) throw Error(ErrorKind::busy, "--require-quiet: " + seen);
    progress_.say("not quiet: " + seen + ". What they disturb will be marked");
  }

  void save() {
    writer_.checkpoint();
    progress_.saved();
  }
  ranks::Lifeline lifeline() {
    const Together& together = options_.together;
    if (!together.everyone) return {};
    return {{.patience = together.patience, .stopped = stop_asked, .heard = together.heard},
            [this](bool stopped) { save_and_leave(stopped, options_.output, [this] { writer_.checkpoint(); }); }};
  }

  // ---- several GPUs at once, each by a process of its own ----------------------------------------------------------

  // Of all kinds, those of one device.
  template <class F> void courses_of(const std::string& device, F&& f) {
    for_each_kind([&]<class K>() {
      for (Course<K>& course : courses<K>())
        if (course.batch->device.id == device) f(course);
    });
  }

  void side_by_side() {
    if (!options_.side_by_side) return;
    std::vector<std::string> gpus;
    for (const DeviceInfo& device : plan_.devices())
      if (device.id != "host") gpus.push_back(device.id);
    if (gpus.size() < 2) return;
    progress_.say(fmt::format("{} GPUs at once, each by a process of its own", gpus.size()));
    SideBySide own(options_.output);
    for (const Part& part : (options_.prepared ? *options_.prepared : own).run(gpus, stop_asked)) {
      elsewhere_.push_back(part.device);
      result_.stopped |= part.stopped;
      const std::optional<Trace> trace = trace_of(part);
      const auto doubtful = trace && options_.doubtful ? options_.doubtful(*trace) : PointNames{};
      courses_of(part.device, [&]<class K>(Course<K>& course) {
        // What takes another GPU, too, is measured by this process, when all rest.
        if (crosses_devices(course.batch->steps.front().question)) return;
        course.elsewhere = true;
        if (trace)
          for (Begun<K>* at : take_over(course, *trace, part.begun - begin_, writer_, doubtful)) {
            const auto& header = at->header;
            lost_.note(part.device, {header.error, header.failure, header.failed_device});
            if (!header.error.empty()) give_up(*at, {header.error, header.failure, header.failed_device});
            done(*at);
          }
        for (const Target<K>& target : course.targets) progress_.skipped(share(*course.batch, target.step));
      });
      if (part.failed.empty()) continue;
      result_.failures.push_back(part.device + ": " + part.failed);
      progress_.say("failed: " + result_.failures.back());
    }
    save();
    writer_.note("side_by_side", {{"processes", static_cast<std::int64_t>(gpus.size())}});
  }

  // Points of each GPU that was measured beside others, visited once more while those rest: a large copy each way, and
  // a kernel on all of it.
  void once_more_alone() {
    if (elsewhere_.empty() || options_.doubtful) return;  // what is doubtful is looked at again by who judges
    Facts facts = {{"processes", static_cast<std::int64_t>(elsewhere_.size())}};
    for (std::size_t i = 0; i < elsewhere_.size(); ++i)
      courses_of(elsewhere_[i], [&]<class K>(Course<K>& course) {
        for (const auto& [what, target] : reference_points(course)) {
          if (result_.stopped) return;
          Progressed& point = course.series[target->step.question].points[target->step.axes];
          const ByVisit beside = point.counted_us();
          const std::size_t quiet = point.quiet_us.size();
          if (beside.empty()) continue;
          visit(course, {target});
          const ByVisit& grown = point.quiet_us.size() > quiet ? point.quiet_us : point.disturbed_us;
          if (grown.empty() || grown.back().empty()) continue;
          facts.emplace_back(fmt::format("gpu{}_{}_beside_us", i, what), median_over_visits(beside, "us").value);
          facts.emplace_back(fmt::format("gpu{}_{}_alone_us", i, what), median(grown.back()));
        }
      });
    writer_.note("side_by_side", facts);
  }

  // Every course once. The first round goes as the plan does; the others go each in an order of its own, so that no
  // point has the same neighbours in all of them.
  void round() {
    std::vector<std::function<void()>> order;
    for_each_kind([&]<class K>() {
      for (Course<K>& course : courses<K>())
        if (!course.elsewhere) order.push_back([&, this] { this->visit(course); });
    });
    const std::uint32_t rounds = options_.rounds();
    Consensus* const everyone = options_.together.everyone;
    if (round_ > 0 && !everyone) std::ranges::shuffle(order, random_);  // ranks meet in the plan's order
    for (const auto& visit : order)
      if (!result_.stopped || everyone) visit();  // who is stopped tells the others where they meet
    result_.stopped = any(everyone, result_.stopped);
    if (rounds > 1 && round_ < rounds && !result_.stopped) progress_.round_done(round_ + 1, rounds);
  }

  // Small copies between host and GPU kept one of several speeds, up to 16 % apart on an H200, for as long as a context
  // lived. In a context a round, the difference is in the intervals.
  void begin_anew() {
    // Of ranks, an MPI library may hold memory of the device.
    if (options_.together.everyone || !plan_.stands_begin_anew()) return;
    for (const DeviceInfo& device : plan_.devices())
      if (std::ranges::find(elsewhere_, device.id) == elsewhere_.end() && !lost_.contains(device.id)) try {
          devices::begin_anew(device.id);
        } catch (const Error& e) {  // what is measured next says so of its series
          lost_.note(device.id, {e.what(), failure_of(e.kind()), e.device()});
        }
    busy_until_.clear();
  }

  // Why these are not measured: null where all their devices answer. Ranks open and measure everything, because the
  // others wait for them.
  template <class K> const SeriesError* lost_among(const std::vector<Target<K>*>& targets) const {
    return with_ ? nullptr
                 : lost_.among(
                       targets, [](const Target<K>* one) -> auto& { return one->step.question; });
  }

  template <class K> void visit(Course<K>& course) {
    with_ = course.batch->backend->consensus(course.batch->steps.front().question);
    if (with_ && with_->any(result_.stopped)) result_.stopped = true;
    if (result_.stopped) return;
    std::vector<Target<K>*> targets =
        due(course, repetition_of(*course.batch, options_), round_, random_, options_.is_second_look());
    if (with_) {
      std::vector<std::size_t> places;
      for (const Target<K>* target : targets)
        places.push_back(static_cast<std::size_t>(target - course.targets.data()));
      targets.clear();
      for (const std::size_t place : places_of_leader(*with_, places)) targets.push_back(&course.targets.at(place));
    }
    if (!targets.empty()) visit(course, targets);
    if (result_.stopped || round_ + 1 != options_.repetition<K>().rounds) return;
    for (const auto& [question, at] : course.series) done(at);
  }

  template <class K> void visit(Course<K>& course, const std::vector<Target<K>*>& targets) {
    const Batch<K>& batch = *course.batch;
    auto schedule = repetition_of(batch, options_).schedule();
    if (with_) schedule = agreed_schedule(std::move(schedule), *with_);
    std::unique_ptr<Runner<K>> runner;
    SeriesError failure;
    if (const SeriesError* const lost = lost_among(targets)) {
      failure = *lost;
    } else {
      try {
        std::vector<Step<K>> steps;
        for (const Target<K>* target : targets) steps.push_back(target->step);
        runner = with_second_process<K>(steps, [&] { return batch.backend->open(steps); });
      } catch (const Error& e) {
        failure = {e.what(), failure_of(e.kind()), e.device()};
        lost_.note(batch.device.id, failure);
      }
    }
    failure.text = first_failure(with_, failure.text);
    if (!failure.text.empty() && failure.kind == Failure::none) failure.kind = Failure::failed;  // another rank's
    for (Target<K>* target : targets) {
      const SeriesError* const lost = lost_among<K>({target});
      const SeriesError& why = lost ? *lost : failure;
      Begun<K>& at = course.series[target->step.question];
      if (at.header.schedule.empty()) begin(at, batch, target->step.question, *schedule, runner.get());
      if (!why.text.empty() && !at.given_up) give_up(at, why);
      if (at.given_up) progress_.skipped(share(batch, target->step));
      else one(at, batch, *target, *schedule, *runner);
      if (result_.stopped) return;
    }
  }

  // Of the guess, what one visit takes.
  template <class K> Seconds share(const Batch<K>& batch, const Step<K>& step) const {
    const Repetition how = repetition_of(batch, options_);
    return guess(batch, step, how) / how.rounds;
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
    if (!before_ || at.index >= before_->of<K>().size()) return;
    const Series<K>& before = before_->of<K>()[at.index];
    at.rows = before.visits.size();
    for (const Visit<K>& visit : before.visits) {
      Progressed& point = at.points[visit.axes];
      point.take(visit, trial_times<K>(question, samples_of(before, visit)));
      point.visited_before = true;
    }
  }

  template <class K>
  void one(Begun<K>& at, const Batch<K>& batch, Target<K>& target, Schedule& schedule, Runner<K>& runner) {
    const Seconds share = this->share(batch, target.step);
    Step<K>& step = target.step;
    std::optional<Measured<K>> measured;
    bool had = false;  // the trace that is continued has this visit, and another rank's lacks it
    try {
      if (!std::exchange(target.is_settled, true)) {
        std::vector<typename K::Axes> known;
        for (const auto& [axes, point] : at.points) known.push_back(axes);
        step = runner.settled(step, known);
      }
      had = writer_.has<K>(at.index, step.axes, round_);
      if (!any(with_, !had)) return progress_.skipped(share);
      const ranks::Lifeline::Trial trial(lifeline_);
      if (of_leader(with_, has_rested(batch.device))) {
        runner.prepare(step);
        runner.warm_up(warm_up_time);
      }
      const Seconds now = steady_clock().now();
      others_.begin(batch.device.id, is_host_timed(step.question));
      measured = npgpu::measure<K>(
          runner, schedule, step,
          [&] {
            if (save_asked()) lifeline_.meanwhile([&] { save(); });
            return any(with_, stop_asked());
          },
          [&] { devices::settle(batch.device.id); });
      if (measured) measured->visit.at_s = (now - begin_).count();
    } catch (const Parted&) {
      throw;
    } catch (const Error& e) {
      progress_.skipped(share);
      const SeriesError failure{fmt::format("at {}: {}", text_of(step.axes), e.what()), failure_of(e.kind()),
                                e.device()};
      lost_.note(batch.device.id, failure);
      give_up(at, failure);
      return save();
    }
    if (!measured) {
      result_.stopped = true;
      return;
    }
    ranks_.note_choices(writer_);
    busy_until_[batch.device.id] = steady_clock().now();
    if constexpr (std::is_same_v<K, Transfers>)
      if (crosses_link(step.question)) conditions_.copied(batch.device, step.axes.bytes);
    const Disturbance found = others_.end();
    if (const std::string why = others_.cannot_see(); !why.empty())
      progress_.say(why + ": what they disturb may stay unmarked");
    measured->visit.disturbed |= causes_of_all(with_, found.causes);
    measured->visit.disturber = ShortText(found.by);
    number(measured->samples);
    Progressed& point = at.points[step.axes];
    measured->visit.round = round_;
    if (point.had_other_clock(measured->visit.telemetry.sm_clock_mhz))
      measured->visit.disturbed |= static_cast<std::uint32_t>(Cause::clock_changed);
    point.take(measured->visit, trial_times<K>(step.question, measured->samples));
    point.visited_now = true;
    DriftByTime drift = drifts_[static_cast<std::size_t>(class_of(step.question))];
    if (!batch.device.simulated) drift = with_run_to_run(drift, class_of(step.question));
    point.standing = options_.repetition<K>().standing(measured->visit.stop, point.counted_us(), drift);
    measured->visit.stop = point.standing.stop;
    if (!had) writer_.add<K>(at.index, measured->visit, measured->samples);
    at.wall_us += measured->visit.wall_us;
    const bool is_unfinished =
        round_ + 1 >= options_.repetition<K>().rounds && measured->visit.stop == Stop::not_converged;
    progress_.point(title(step.question), fmt::format("/{}/{:04} {}", K::name, at.index, at.rows++),
                    fmt::format("{} {}{}", text_of(step.axes), point_text<K>(alone(at.header, *measured)),
                                is_unfinished ? " (not converged)" : ""),
                    share);
    if (!measured->mismatch.empty())
      fail(at, {fmt::format("wrong at {}: {}", text_of(step.axes), measured->mismatch), Failure::wrong});
    if (writer_.checkpoint_if_due()) progress_.saved();
  }

  bool has_rested(const DeviceInfo& device) const {
    if (device.simulated) return false;  // a model has no clocks that rest
    const auto until = busy_until_.find(device.id);
    return until == busy_until_.end() || steady_clock().now() - until->second > rest;
  }

  // Trials are numbered over the whole run where a sample has such a number, so that a drift can be seen.
  template <class Sample> void number(std::vector<Sample>& samples) {
    if constexpr (requires(Sample sample) { sample.number; })
      for (Sample& sample : samples) sample.number = trials_ + sample.trial;
    if (!samples.empty()) trials_ += samples.back().trial + 1;
  }

  template <class K> void done(const Begun<K>& at) {
    const Tally tally = at.tally();
    progress_.case_done(fmt::format("{}: {} points in {}{}{}", title(at.header.question), tally.measured,
                                    clock_text(from_microseconds(at.wall_us)), rest_of(tally),
                                    at.given_up ? ", given up" : ""));
  }

  void count() {
    for_each_kind([&]<class K>() {
      for (const Course<K>& course : courses<K>())
        for (const auto& [question, at] : course.series) result_ += at.tally();
    });
  }

  // Something is wrong with a series, and the rest carries on.
  template <class K> void fail(const Begun<K>& at, const SeriesError& why) {
    const std::string sentence = title(at.header.question) + ": " + why.text;
    writer_.set_error<K>(at.index, why);
    progress_.failed(sentence);
    if (with_ && !with_->leads()) ++result_.told_by_others;
    else result_.failures.push_back(sentence);
  }
  template <class K> void give_up(Begun<K>& at, const SeriesError& why) {
    at.given_up = true;
    fail(at, why);
  }

  const Plan& plan_;
  const MeasureOptions& options_;
  Campaign& result_;
  std::mt19937_64 random_;
  const std::optional<Trace> before_;
  Others others_;
  Conditions conditions_;
  RankNotes ranks_;
  TraceWriter writer_;
  Progress progress_;
  Kinds::Tuple<Courses> courses_;
  std::vector<std::string> elsewhere_;  // devices that other processes measured
  Consensus* with_ = nullptr;           // with whom the course is measured
  ranks::Lifeline lifeline_;
  Seconds begin_ = steady_clock().now();
  std::uint32_t round_ = 0;
  DriftOfClasses drifts_{};  // after the last round
  std::uint64_t trials_ = 0;
  std::map<std::string, Seconds> busy_until_;  // by device
  LostDevices lost_;
};

}  // namespace

Campaign run_campaign(const Plan& plan, const MeasureOptions& options) {
  Campaign result;
  const Seconds begin = steady_clock().now();
  Run(plan, options, result).run();
  result.wall = steady_clock().now() - begin;
  return result;
}

}  // namespace npgpu::cli

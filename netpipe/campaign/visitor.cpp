#include "netpipe/campaign/visitor.hpp"

#include <fmt/format.h>

#include <thread>

#include "netpipe/campaign/guess.hpp"
#include "netpipe/campaign/provenance.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/series.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::campaign {

namespace {

constexpr std::uint64_t enough_bytes = MiB;  // smaller copies may leave a link asleep, and slow no others
constexpr Seconds looks_apart{0.05};

}  // namespace

void Conditions::copied(const DeviceInfo& device, std::uint64_t bytes) {
  const Seconds now = steady_clock().now();
  Seen& seen = seen_[device.id];
  if (bytes < enough_bytes || now - seen.at < looks_apart) return;
  seen.at = now;
  const LinkState link = devices::link_state(device.id);
  seen.link.generation = std::max(seen.link.generation, link.generation);
  seen.link.lanes = std::max(seen.link.lanes, link.lanes);
}

void Conditions::note(TraceWriter& writer) const {
  int gpus = 0;
  for (const DeviceInfo& device : devices_) {
    if (device.id == "host") continue;
    const std::string group = "gpu" + std::to_string(gpus++) + "_after";
    Facts facts{{"id", device.id}};
    if (const auto seen = seen_.find(device.id); seen != seen_.end() && seen->second.link.lanes > 0) {
      facts.emplace_back("pcie_generation_copying", std::int64_t{seen->second.link.generation});
      facts.emplace_back("pcie_lanes_copying", std::int64_t{seen->second.link.lanes});
    }
    const Facts counted = devices::counters(device.id);
    facts.insert(facts.end(), counted.begin(), counted.end());
    if (facts.size() > 1) writer.note(group, facts);
  }
}

namespace {

constexpr const char* the_host = "host";
constexpr Seconds look{0.25};  // what the host's counters need to see others

}  // namespace

NeighbourWatch::NeighbourWatch(const std::vector<DeviceInfo>& all) {
  const auto add = [&](const std::string& id) {
    if (auto watch = devices::watch(id)) watches_.emplace(id, std::move(watch));
  };
  for (const DeviceInfo& device : all) {
    add(device.id);
    if (!device.simulated) add(the_host);
  }
}

std::string NeighbourWatch::wait(Seconds patience, const std::function<bool()>& interrupted) {
  if (watches_.empty()) return {};
  const Seconds begin = steady_clock().now();
  for (;;) {
    for (const auto& [id, watch] : watches_) watch->begin();
    std::this_thread::sleep_for(look);
    std::string seen;
    for (const auto& [id, watch] : watches_)
      if (const Disturbance found = watch->end(); found.causes)
        seen += (seen.empty() ? "" : "; ") + id + ": " +
                disturbance_text(found.causes, found.by.empty() ? std::set<std::string>{} : std::set{found.by});
    if (seen.empty() || steady_clock().now() - begin >= patience || interrupted()) return seen;
  }
}

void NeighbourWatch::begin(const std::string& device, bool is_host_timed) {
  active_.clear();
  for (const auto& [id, watch] : watches_)
    if (id == the_host ? is_host_timed : id == device) active_.push_back(watch.get());
  for (DeviceWatch* watch : active_) watch->begin();
}

std::string NeighbourWatch::cannot_see() {
  for (const auto& [id, watch] : watches_)
    if (std::ranges::find(active_, watch.get()) != active_.end())
      if (const std::string why = watch->cannot_see(); !why.empty() && said_.insert(id).second) return id + ": " + why;
  return {};
}

Disturbance NeighbourWatch::end() {
  Disturbance all;
  for (DeviceWatch* watch : active_) {
    const Disturbance found = watch->end();
    all.causes |= found.causes;
    if (all.by.empty()) all.by = found.by;
  }
  return all;
}

namespace {

// What a device does before its first point, and before the next one after a rest. On an H200 that had rested, copies
// of 64 B took 7 % less time in the first 60 ms than ever after: a program in full swing sees the later figure.
constexpr Seconds warm_up_time{0.15}, rest{0.5};

template <class Case, class Axes> std::optional<HostShare> share_of_host(const Case& c, const Axes& axes) {
  const TimeClass time_class = class_of(c);
  if (time_class == TimeClass::pageable_copies || time_class == TimeClass::host_probes) return HostShare::processors;
  if constexpr (std::is_same_v<Case, TransferCase>)
    if (crosses_link(c) && axes.bytes >= enough_bytes)
      return lanes(c).size() > 1 ? HostShare::both_ways : HostShare::one_way;
  return std::nullopt;
}

}  // namespace

State::State(const Plan& plan, const Settings& settings)
    : random(settings.seed),
      neighbours(plan.devices()),
      conditions(plan.devices()),
      ranks(settings.ranks),
      writer(settings.output, settings.if_exists, trace_root(settings.plan, settings.argv, settings.seed),
             provenance(plan.devices(), plan.left_out),
             settings.is_second_look() ? Guard::none : Guard::child),  // at a second look this process wrote it
      before(writer.take_continued()) {}

Visitor::Visitor(State& state, const Settings& settings, Observer& observer, CampaignResult& result)
    : state_(state), settings_(settings), observer_(observer), result_(result), watchdog_(make_watchdog()) {}

void Visitor::save() {
  state_.writer.checkpoint();
  observer_.saved();
}

ranks::HangWatchdog Visitor::make_watchdog() {
  const RankSession& session = settings_.ranks;
  if (!session.leave) return {};
  const ranks::HangWatchdog::How how{.patience = session.patience, .stopped = settings_.stop, .heard = session.heard};
  return {how, [this](bool stopped) {
            settings_.ranks.leave(stopped, [this](const std::string& why) {
              state_.writer.note("ranks_lost", {{"why", why}});
              state_.writer.checkpoint();
            });
          }};
}

// Why these are not measured: null where all their devices answer. Ranks open and measure everything, because the
// others wait for them.
template <class K> const SeriesError* Visitor::lost_among(const std::vector<PlannedPoint<K>*>& targets) const {
  return with_ ? nullptr
               : state_.lost.among(
                     targets, [](const PlannedPoint<K>* one) -> auto& { return one->step.question; });
}

template <class K> void Visitor::visit(BatchProgress<K>& course) {
  with_ = course.batch->backend->consensus(course.batch->steps.front().question);
  if (with_ && with_->any(result_.stopped)) result_.stopped = true;
  if (result_.stopped) return;
  std::vector<PlannedPoint<K>*> targets = points_to_visit(course, repetition_of(*course.batch, settings_), state_.round,
                                                          state_.random, settings_.is_second_look());
  if (with_) {
    std::vector<std::size_t> places;
    for (const PlannedPoint<K>* target : targets)
      places.push_back(static_cast<std::size_t>(target - course.targets.data()));
    targets.clear();
    for (const std::size_t place : places_of_leader(*with_, places)) targets.push_back(&course.targets.at(place));
  }
  if (!targets.empty()) visit(course, targets);
  if (result_.stopped || state_.round + 1 != settings_.repetition<K>().rounds) return;
  for (const auto& [question, at] : course.series) done(at);
}

template <class K> void Visitor::visit(BatchProgress<K>& course, const std::vector<PlannedPoint<K>*>& targets) {
  const Batch<K>& batch = *course.batch;
  auto schedule = repetition_of(batch, settings_).schedule();
  if (with_) schedule = agreed_schedule(std::move(schedule), *with_);
  std::unique_ptr<Runner<K>> runner;
  SeriesError failure;
  bool is_rank_lost = false;
  if (const SeriesError* const lost = lost_among(targets)) {
    failure = *lost;
  } else {
    try {
      std::vector<Step<K>> steps;
      for (const PlannedPoint<K>* target : targets) steps.push_back(target->step);
      std::optional<ranks::HangWatchdog::Trial> waiting;
      if (!with_) waiting.emplace(watchdog_);
      runner = batch.backend->open(steps);
    } catch (const RankLost& e) {
      failure = {e.what(), Failure::failed, {}};
      is_rank_lost = true;
    } catch (const Error& e) {
      failure = {e.what(), failure_of(e.kind()), e.device()};
      state_.lost.note(batch.device.id, failure);
    }
  }
  failure.text = first_failure(with_, failure.text);
  if (!failure.text.empty() && failure.kind == Failure::none) failure.kind = Failure::failed;  // another rank's
  for (PlannedPoint<K>* target : targets) {
    const SeriesError* const lost = lost_among<K>({target});
    const SeriesError& why = lost ? *lost : failure;
    SeriesProgress<K>& at = course.series[target->step.question];
    if (at.header.schedule.empty()) begin(at, batch, target->step.question, *schedule, runner.get());
    if (!why.text.empty() && !at.given_up) give_up(at, why);
    if (is_rank_lost) throw RankLost(failure.text);
    if (at.given_up) observer_.skipped(share(batch, target->step));
    else one(at, batch, *target, *schedule, *runner);
    if (result_.stopped) break;
  }
  const ranks::HangWatchdog::Trial waiting(watchdog_);
  runner.reset();
}

template <class K> Seconds Visitor::share(const Batch<K>& batch, const Step<K>& step) const {
  const Repetition how = repetition_of(batch, settings_);
  return guess(batch, step, how) / how.rounds;
}

template <class K>
void Visitor::begin(SeriesProgress<K>& at, const Batch<K>& batch, const typename K::Case& question,
                    const Schedule& schedule, const Runner<K>* runner) {
  static_cast<typename K::Context&>(at.header) = batch.backend->context(question);
  at.header.question = question;
  at.header.schedule = schedule.text();
  const DeviceInfo& device = batch.device_for(question);
  at.header.device_uuid = device.uuid;
  at.header.device_name = device.name;
  at.header.simulated = device.simulated;
  if (runner) at.header.binding = runner->binding();
  try {
    at.index = state_.writer.begin<K>(at.header);
  } catch (const Error&) {
    save();
    throw;
  }
  if (!state_.before || at.index >= state_.before->of<K>().size()) return;
  const Series<K>& before = state_.before->of<K>()[at.index];
  at.rows = before.visits.size();
  for (const Visit<K>& visit : before.visits) {
    PointProgress& point = at.points[visit.axes];
    point.take(visit, trial_times<K>(question, samples_of(before, visit)));
    point.visited_before = true;
  }
}

template <class K>
void Visitor::one(SeriesProgress<K>& at, const Batch<K>& batch, PlannedPoint<K>& target, Schedule& schedule,
                  Runner<K>& runner) {
  const Seconds share = this->share(batch, target.step);
  Step<K>& step = target.step;
  const DeviceInfo& device = batch.device_for(step.question);
  std::optional<Measured<K>> measured;
  bool had = false;  // the trace that is continued has this visit, and another rank's lacks it
  try {
    if (!std::exchange(target.is_settled, true)) {
      std::vector<typename K::Axes> known;
      for (const auto& [axes, point] : at.points) known.push_back(axes);
      step = runner.settled(step, known);
    }
    had = state_.writer.has<K>(at.index, step.axes, state_.round);
    if (!any(with_, !had)) return observer_.skipped(share);
    const auto needed = share_of_host(step.question, step.axes);
    const auto turn = needed && settings_.host_turn ? settings_.host_turn(*needed) : nullptr;
    const ranks::HangWatchdog::Trial trial(watchdog_);
    if (of_leader(with_, has_rested(device))) {
      runner.prepare(step);
      runner.warm_up(warm_up_time);
    }
    const Seconds now = steady_clock().now();
    state_.neighbours.begin(device.id, is_host_timed(step.question));
    measured = npgpu::measure<K>(
        runner, schedule, step,
        [&] {
          if (asks(settings_.save)) watchdog_.meanwhile([&] { save(); });
          return any(with_, asks(settings_.stop));
        },
        [&] { devices::settle(device.id); });
    if (measured) measured->visit.at_s = (now - state_.begin).count();
  } catch (const RankLost& e) {
    // Where ranks measure together, each rank words the failure differently.
    if (!with_) give_up(at, {fmt::format("at {}: {}", text_of(step.axes), e.what()), Failure::failed, {}});
    throw;
  } catch (const Error& e) {
    observer_.skipped(share);
    const SeriesError failure{fmt::format("at {}: {}", text_of(step.axes), e.what()), failure_of(e.kind()), e.device()};
    state_.lost.note(device.id, failure);
    give_up(at, failure);
    return save();
  }
  if (!measured) {
    result_.stopped = true;
    return;
  }
  state_.ranks.note_choices(state_.writer);
  state_.busy_until[device.id] = steady_clock().now();
  if constexpr (std::is_same_v<K, Transfers>)
    if (crosses_link(step.question)) state_.conditions.copied(device, step.axes.bytes);
  const Disturbance found = state_.neighbours.end();
  if (const std::string why = state_.neighbours.cannot_see(); !why.empty())
    observer_.note(why + ": what they disturb may stay unmarked");
  measured->visit.disturbed |= causes_of_all(with_, found.causes);
  measured->visit.disturber = ShortText(found.by);
  number(measured->samples);
  PointProgress& point = at.points[step.axes];
  measured->visit.round = state_.round;
  if (point.had_other_clock(measured->visit.telemetry.sm_clock_mhz))
    measured->visit.disturbed |= static_cast<std::uint32_t>(Cause::clock_changed);
  point.take(measured->visit, trial_times<K>(step.question, measured->samples));
  point.visited_now = true;
  DriftByTime drift = state_.drifts[static_cast<std::size_t>(class_of(step.question))];
  if (!device.simulated) drift = with_run_to_run(drift, class_of(step.question));
  point.standing = settings_.repetition<K>().standing(measured->visit.stop, point.counted_us(), drift);
  measured->visit.stop = point.standing.stop;
  if (!had) state_.writer.add<K>(at.index, measured->visit, measured->samples);
  at.wall_us += measured->visit.wall_us;
  const bool is_unfinished =
      state_.round + 1 >= settings_.repetition<K>().rounds && measured->visit.stop == Stop::not_converged;
  observer_.point({title(step.question), K::name, at.index, at.rows++,
                   fmt::format("{} {}{}", text_of(step.axes), point_text<K>(alone(at.header, *measured)),
                               is_unfinished ? " (its interval is wider than asked for)" : ""),
                   share});
  if (!measured->mismatch.empty())
    fail(at, {fmt::format("wrong at {}: {}", text_of(step.axes), measured->mismatch), Failure::wrong});
  if (state_.writer.checkpoint_if_due()) observer_.saved();
}

bool Visitor::has_rested(const DeviceInfo& device) const {
  if (device.simulated) return false;  // a model has no clocks that rest
  const auto until = state_.busy_until.find(device.id);
  return until == state_.busy_until.end() || steady_clock().now() - until->second > rest;
}

// Trials are numbered over the whole run where a sample has such a number, so that a drift can be seen.
template <class Sample> void Visitor::number(std::vector<Sample>& samples) {
  if constexpr (requires(Sample sample) { sample.number; })
    for (Sample& sample : samples) sample.number = trials_ + sample.trial;
  if (!samples.empty()) trials_ += samples.back().trial + 1;
}

namespace {

// GPUs of a soak work at once: the visit to the first one waits for all, and those to the others find their slice done.
template <class K> Seconds time_of(const SeriesProgress<K>& at) {
  Seconds time = from_microseconds(at.wall_us);
  if constexpr (std::is_same_v<K, Soaks>) {
    Seconds slices{0};
    for (const auto& [slice, point] : at.points)
      if (point.visited_before || point.visited_now) slices += Seconds{slice.length_ms * 1e-3};
    time = std::max(time, slices);
  }
  return time;
}

}  // namespace

template <class K> void Visitor::done(const SeriesProgress<K>& at) {
  observer_.series_done({title(at.header.question), at.tally(), time_of(at), at.given_up});
}

// Something is wrong with a series, and the rest carries on.
template <class K> void Visitor::fail(const SeriesProgress<K>& at, const SeriesError& why) {
  const std::string sentence = title(at.header.question) + ": " + why.text;
  state_.writer.set_error<K>(at.index, why);
  observer_.failed(sentence);
  if (with_ && !with_->leads()) ++result_.reported_by_other_ranks;
  else result_.failures.push_back(sentence);
}

template <class K> void Visitor::give_up(SeriesProgress<K>& at, const SeriesError& why) {
  at.given_up = true;
  fail(at, why);
}

NPGPU_FOR_KINDS(
    static_cast<void (Visitor::*)(BatchProgress<K>&)>(&Visitor::visit<K>), &Visitor::share<K>,
    static_cast<void (Visitor::*)(BatchProgress<K>&, const std::vector<PlannedPoint<K>*>&)>(&Visitor::visit<K>),
    &Visitor::give_up<K>, &Visitor::done<K>)

}  // namespace npgpu::campaign

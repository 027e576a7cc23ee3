#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>

#include "netpipe/campaign/progress.hpp"
#include "netpipe/campaign/visitor.hpp"
#include "npgpu/measuring/campaign.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::campaign {

std::uint32_t causes_of_all(Consensus* with, std::uint32_t mine) {
  if (!with) return mine;
  std::uint32_t all = 0;
  for (const std::string& one : with->of_all(std::to_string(mine))) all |= static_cast<std::uint32_t>(std::stoul(one));
  return all;
}

std::vector<std::size_t> places_of_leader(Consensus& with, const std::vector<std::size_t>& mine) {
  std::ostringstream text;
  for (const std::size_t place : mine) text << place << ' ';
  std::istringstream words(with.of_leader(text.str()));
  std::vector<std::size_t> all;
  for (std::size_t place = 0; words >> place;) all.push_back(place);
  return all;
}

std::optional<Trace> trace_of(const GpuProcesses::Part& part) {
  std::error_code ignored;
  if (!std::filesystem::exists(part.trace, ignored)) return std::nullopt;
  Trace trace = read_trace(part.trace);  // this program wrote it a moment ago
  std::filesystem::remove(part.trace, ignored);
  return trace;
}

}  // namespace npgpu::campaign

namespace npgpu {

namespace campaign {

namespace {

// A plan in rounds: what other processes measure of it, contexts, and what is measured once more when all rest.
class Run {
 public:
  Run(const Plan& plan, const Settings& settings, Observer& observer, CampaignResult& result)
      : plan_(plan),
        settings_(settings),
        observer_(observer),
        result_(result),
        state_(plan, settings),
        visits_(state_, settings, observer, result) {}

  void run() {
    observer_.begin(plan_, npgpu::guess(plan_, settings_));
    for (const std::string& why : plan_.left_out) observer_.note("left out: " + why);
    look_for_neighbours();
    for_each_kind([&]<class K>() {
      for (const Batch<K>& batch : plan_.of<K>()) {
        BatchProgress<K>& course = courses<K>().emplace_back(BatchProgress<K>{&batch});
        for (const Step<K>& step : batch.steps) {
          course.series.try_emplace(step.question);
          course.targets.push_back({step});
        }
      }
    });
    if (settings_.ready) settings_.ready();
    state_.begin = steady_clock().now();
    side_by_side();
    const std::uint32_t most =
        settings_.is_second_look() ? settings_.end_round : std::min(settings_.max_visits(), settings_.end_round);
    try {
      if (state_.before) state_.ranks.recall(*state_.before);
      state_.ranks.note("ranks", state_.writer);
      for (state_.round = settings_.first_round; state_.round < most && !result_.stopped; ++state_.round) {
        if (needs_new_context()) reset_context();
        round();
        state_.drifts = drifts(courses_);
      }
      if (!result_.stopped) state_.ranks.note("ranks_after", state_.writer);
      if (!result_.stopped) once_more_alone();
    } catch (const RankLost& e) {
      result_.rank_lost = result_.stopped = true;
      state_.writer.note("ranks_lost", {{"why", std::string(e.what())}});
      state_.writer.checkpoint();  // before anything else: mpirun may be about to kill this one, too
      if (!result_.failures.empty() && result_.failures.back().ends_with(e.what())) return end();
      result_.failures.emplace_back(e.what());
      observer_.note(result_.failures.back());
    }
    end();
  }

 private:
  void end() {
    count();
    state_.conditions.note(state_.writer);
    if (!result_.stopped) state_.writer.finish();
    if (result_.stopped) state_.writer.checkpoint();
    observer_.saved();
  }

  bool needs_new_context() const {
    const std::uint32_t rounds = settings_.rounds_per_context, done = state_.round - settings_.first_round;
    return state_.round > 0 && rounds > 0 && done % rounds == 0;
  }

  template <class K> AllBatches<K>& courses() { return std::get<AllBatches<K>>(courses_); }

  void look_for_neighbours() {
    if (settings_.patience == Seconds{0} && !settings_.require_quiet) return;
    const std::string seen = state_.neighbours.wait(settings_.patience, [this] { return asks(settings_.stop); });
    if (seen.empty()) return;
    if (settings_.require_quiet) throw Error(ErrorKind::busy, seen);
    observer_.note("not quiet: " + seen + ". What they disturb will be marked");
  }

  // ---- several GPUs at once, each by a process of its own ----------------------------------------------------------

  // Calls `f` with every course of one device, whatever its kind.
  template <class F> void courses_of(const std::string& device, F&& f) {
    for_each_kind([&]<class K>() {
      for (BatchProgress<K>& course : courses<K>())
        if (course.batch->device.id == device) f(course);
    });
  }

  void side_by_side() {
    if (!settings_.side_by_side || !settings_.processes) return;
    std::vector<std::string> gpus;
    for (const DeviceInfo& device : plan_.devices())
      if (device.id != "host") gpus.push_back(device.id);
    if (gpus.size() < 2) return;
    observer_.note(fmt::format("{} GPUs at once, each by its own process", gpus.size()));
    for (const auto& part : settings_.processes->run(gpus, [this] { return asks(settings_.stop); })) {
      elsewhere_.push_back(part.device);
      result_.stopped |= part.stopped;
      const std::optional<Trace> trace = trace_of(part);
      const auto doubtful = trace && settings_.doubtful ? settings_.doubtful(*trace) : PointNames{};
      courses_of(part.device, [&]<class K>(BatchProgress<K>& course) {
        // What takes another GPU, too, is measured by this process, when all rest.
        if (crosses_devices(course.batch->steps.front().question)) return;
        course.elsewhere = true;
        if (trace)
          for (SeriesProgress<K>* at : take_over(course, *trace, part.begun - state_.begin, state_.writer, doubtful)) {
            const auto& header = at->header;
            state_.lost.note(part.device, {header.error, header.failure, header.failed_device});
            if (!header.error.empty()) visits_.give_up(*at, {header.error, header.failure, header.failed_device});
            visits_.done(*at);
          }
        for (const PlannedPoint<K>& target : course.targets)
          observer_.skipped(visits_.share(*course.batch, target.step));
      });
      if (part.failed.empty()) continue;
      result_.failures.push_back(part.device + ": " + part.failed);
      observer_.note("failed: " + result_.failures.back());
    }
    visits_.save();
    state_.writer.note("side_by_side", {{"processes", static_cast<std::int64_t>(gpus.size())}});
  }

  // Points of each GPU that was measured while others worked, visited once more while those rest: a large copy each
  // way, and a kernel on all of it.
  void once_more_alone() {
    if (elsewhere_.empty() || settings_.doubtful) return;  // what is doubtful is looked at again by who judges
    Facts facts = {{"processes", static_cast<std::int64_t>(elsewhere_.size())}};
    for (std::size_t i = 0; i < elsewhere_.size(); ++i)
      courses_of(elsewhere_[i], [&]<class K>(BatchProgress<K>& course) {
        for (const auto& [what, target] : reference_points(course)) {
          if (result_.stopped) return;
          PointProgress& point = course.series[target->step.question].points[target->step.axes];
          const ByVisit beside = point.counted_us();
          if (beside.empty()) continue;
          visits_.visit(course, {target});
          const std::vector<double>& alone = point.visits.back().us;
          if (alone.empty()) continue;
          facts.emplace_back(fmt::format("gpu{}_{}_beside_us", i, what), median_over_visits(beside, "us").value);
          facts.emplace_back(fmt::format("gpu{}_{}_alone_us", i, what), median(alone));
        }
      });
    state_.writer.note("side_by_side", facts);
  }

  // Every course once. The first round goes as the plan does; the others go each in an order of its own, so that no
  // point has the same neighbours in all of them.
  void round() {
    std::vector<std::function<void()>> order;
    for_each_kind([&]<class K>() {
      for (BatchProgress<K>& course : courses<K>())
        if (!course.elsewhere) order.push_back([&, this] { visits_.visit(course); });
    });
    const std::uint32_t rounds = settings_.rounds();
    Consensus* const everyone = settings_.ranks.everyone;
    if (state_.round > 0 && !everyone) std::ranges::shuffle(order, state_.random);  // ranks meet in the plan's order
    for (const auto& visit : order)
      if (!result_.stopped || everyone) visit();  // who is stopped says so to the others where they meet
    result_.stopped = any(everyone, result_.stopped);
    if (rounds > 1 && state_.round < rounds && !result_.stopped) observer_.round_done(state_.round + 1, rounds);
  }

  // Small copies between host and GPU kept one of several speeds, up to 16 % apart on an H200, for as long as a context
  // lived. In a context a round, the difference is in the intervals.
  void reset_context() {
    // An MPI library of ranks may hold memory of the device.
    if (settings_.ranks.everyone || !plan_.allows_context_reset()) return;
    for (const DeviceInfo& device : plan_.devices())
      if (std::ranges::find(elsewhere_, device.id) == elsewhere_.end() && !state_.lost.contains(device.id)) try {
          state_.busy_until.erase(device.id);
          devices::reset_context(device.id);
        } catch (const Error& e) {  // what is measured next says so of its series
          state_.lost.note(device.id, {e.what(), failure_of(e.kind()), e.device()});
        }
  }

  void count() {
    for_each_kind([&]<class K>() {
      for (const BatchProgress<K>& course : courses<K>())
        for (const auto& [question, at] : course.series) result_ += at.tally();
    });
  }

  const Plan& plan_;
  const Settings& settings_;
  Observer& observer_;
  CampaignResult& result_;
  State state_;
  Visitor visits_;
  Kinds::Tuple<AllBatches> courses_;
  std::vector<std::string> elsewhere_;  // devices that other processes measured
};

}  // namespace

}  // namespace campaign

void Tally::operator+=(const Tally& more) {
  measured += more.measured;
  kept += more.kept;
  disturbed += more.disturbed;
  causes |= more.causes;
  disturbers.insert(more.disturbers.begin(), more.disturbers.end());
}

CampaignResult measure(const Plan& plan, const Settings& settings, Observer& observer) {
  CampaignResult result;
  const Seconds begin = steady_clock().now();
  campaign::Run(plan, settings, observer, result).run();
  result.wall = steady_clock().now() - begin;
  return result;
}

CampaignResult measure(const Plan& plan, const Settings& settings) {
  Observer nobody;
  return measure(plan, settings, nobody);
}

}  // namespace npgpu

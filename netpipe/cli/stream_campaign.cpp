#include "netpipe/cli/stream_campaign.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "netpipe/cli/campaign_parts.hpp"
#include "netpipe/cli/signals.hpp"
#include "npgpu/error.hpp"
#include "npgpu/report.hpp"

namespace npgpu::cli {

namespace {

JobShape unsplit(JobShape job) {
  job.chunks = job.streams = 1;
  job.iterations = 0;
  return job;
}

class Jobs {
 public:
  Jobs(const PlannedStreams& planned, const JobCampaign& to)
      : planned_(planned), to_(to), schedule_(to.make_schedule()) {}

  void run() {
    std::vector<JobStep> questions;
    for (const PlannedJob& job : planned_.jobs) questions.push_back(job.step);
    std::string failure;
    try {
      runner_ = planned_.backend->open(planned_.device.id, questions);
    } catch (const Error& e) {
      failure = e.what();
    }
    for (const PlannedJob& job : planned_.jobs) {
      const JobCase& c = job.step.question;
      const Seconds share = guess(*schedule_, job);
      const bool begun = cases_.count(c) > 0;
      Known& known = begun ? cases_.at(c) : begin(c);
      if (!begun && !failure.empty()) give_up(known, failure);
      if (known.given_up) {
        to_.progress.skipped(share);
        continue;
      }
      if (!one(known, job, share)) return;
    }
    if (!failure.empty()) to_.save();
  }

 private:
  struct Known {
    std::size_t index;
    JobSeries header;
    bool given_up = false;
  };

  Known& begin(const JobCase& c) {
    JobSeries header = begun<JobSeries>(c, planned_.device, *schedule_);
    if (runner_) header.binding = runner_->binding();
    const std::size_t index = to_.writer.begin_streams(header);
    return cases_.emplace(c, Known{index, std::move(header)}).first->second;
  }

  void fail(const Known& known, const std::string& why) {
    to_.note(title(known.header.question), why, [&] { to_.writer.set_streams_error(known.index, why); });
  }
  void give_up(Known& known, const std::string& why) {
    known.given_up = true;
    fail(known, why);
  }

  // False if it was stopped.
  bool one(Known& known, const PlannedJob& planned, Seconds share) {
    const JobCase& c = known.header.question;
    JobShape job = planned.step.job;
    std::optional<Measured<Jobs>> measured;
    try {
      if (planned.ratio > 0) job.iterations = iterations(known, planned);
      if (to_.writer.has_job(known.index, job)) {
        ++to_.result.kept;
        to_.progress.skipped(share);
        return true;
      }
      if (!std::exchange(awake_, true)) wake(c, job);
      measured = measure_job(*runner_, *schedule_, c, job, to_.trials, [&] {
        if (save_asked()) to_.save();
        return stop_asked();
      });
    } catch (const Error& e) {
      give_up(known, fmt::format("at {}: {}", text_of(job), e.what()));
      to_.progress.skipped(share);
      to_.save();
      return true;
    }
    if (!measured) {
      to_.result.stopped = true;
      return false;
    }
    to_.writer.add_job(known.index, measured->point, measured->samples);
    ++to_.result.measured;
    to_.progress.job(known.index, of_one_point(known.header, *measured), share);
    if (!measured->mismatch.empty()) fail(known, fmt::format("wrong at {}: {}", text_of(job), measured->mismatch));
    if (to_.writer.checkpoint_if_due()) to_.progress.saved();
    return true;
  }

  void wake(const JobCase& c, const JobShape& job) {
    if (planned_.device.simulated) return;  // a model has no clocks that rest
    runner_->prepare(c, job);
    const Seconds begin = runner_->clock().now();
    while (runner_->clock().now() - begin < warm_up_time) runner_->run();
  }

  // The same for all cuts of a workload, and those that a continued trace has.
  std::uint64_t iterations(const Known& known, const PlannedJob& planned) {
    const JobStep workload{known.header.question, unsplit(planned.step.job)};
    const auto found = iterations_.find(workload);
    if (found != iterations_.end()) return found->second;
    std::uint64_t chosen = 0;
    for (const JobShape& job : to_.writer.jobs(known.index))
      if (unsplit(job) == workload.job) chosen = job.iterations;
    if (!chosen) chosen = iterations_for(*runner_, known.header.question, planned.step.job, planned.ratio);
    iterations_[workload] = chosen;
    return chosen;
  }

  const PlannedStreams& planned_;
  const JobCampaign& to_;
  std::unique_ptr<Schedule> schedule_;
  std::unique_ptr<Runner<Jobs>> runner_;
  std::map<JobCase, Known> cases_;
  std::map<JobStep, std::uint64_t> iterations_;
  bool awake_ = false;
};

}  // namespace

void run_jobs(const PlannedStreams& planned, const JobCampaign& to) { Jobs(planned, to).run(); }

}  // namespace npgpu::cli

#include "netpipe/engine/transfer_runner.hpp"

#include <algorithm>
#include <utility>

#include "netpipe/engine/trial.hpp"
#include "npgpu/error.hpp"

namespace npgpu {

namespace {

class TransferRunner final : public Runner<Transfers> {
 public:
  TransferRunner(OpenLane open_lane, std::span<const Step<Transfers>> steps) : open_(std::move(open_lane)) {
    if (steps.empty()) throw Error(ErrorKind::usage, "no transfer to open a runner for");
    max_bytes_ = max_bytes_of(steps);
    open(steps.front().question);
  }

  void prepare(const Step<Transfers>& step) override {
    if (case_ != step.question) open(step.question);
    bytes_ = step.axes.bytes;
    for (const auto& channel : channels_) channel->prepare(bytes_);
  }

  bool run(std::uint64_t repeats, std::vector<TransferSample>& samples) override {
    const auto times = run_trial(case_, measured_, load_, repeats);
    if (!times) return false;
    for (std::size_t i = 0; i < times->size(); ++i) {
      TransferSample& sample = samples.emplace_back();
      sample.lane = number_[i];
      sample.repeats = repeats;
      sample.host_us = microseconds((*times)[i].host);
      if (const auto device = (*times)[i].device) sample.device_us = microseconds(*device);
    }
    return true;
  }

  std::optional<std::string> check(std::span<TransferSample> last_trial) override {
    std::optional<std::string> first;
    for (std::uint32_t lane = 0; lane < channels_.size(); ++lane) {
      auto wrong = channels_[lane]->intact(case_.pattern == Pattern::pingpong);
      for (TransferSample& sample : last_trial)
        if (sample.lane == lane) sample.intact = wrong ? 0 : 1;
      if (wrong && !first) first = std::move(wrong);
    }
    return first;
  }

  std::uint64_t max_repeats() const override {
    if (case_.timing != Timing::gated) return 0;
    std::uint64_t most = UINT64_MAX;
    for (Channel* channel : measured_)
      if (DeviceTimer* timer = channel->timer()) most = std::min(most, timer->gate_capacity());
    // All lanes, and both legs of a round trip, share what fits behind a gate.
    const std::uint64_t operations = measured_.size() * (case_.pattern == Pattern::pingpong ? 2 : 1);
    return std::max<std::uint64_t>(1, most / operations);
  }

  double work() const override { return static_cast<double>(bytes_) * (case_.pattern == Pattern::pingpong ? 2 : 1); }
  std::uint64_t bytes() const override { return bytes_; }

  void warm_up(Seconds duration) override {
    const std::uint64_t most = max_repeats();
    const Seconds begin = clock().now();
    std::uint64_t repeats = 1;
    for (Seconds before = begin, now = begin; now - begin < duration; before = now) {
      run_trial(case_, measured_, load_, repeats);
      now = clock().now();
      // Trials of about a millisecond, whatever the copy takes.
      if (now - before < Seconds{0.001}) repeats = most ? std::min(repeats * 2, most) : repeats * 2;
    }
  }

  const Clock& clock() const override { return channels_.front()->clock(); }
  Telemetry telemetry() override { return channels_.front()->telemetry(); }
  std::string binding() const override { return channels_.front()->binding(); }

 private:
  void open(const TransferCase& question) {
    const auto known = max_bytes_.find(question);
    if (known == max_bytes_.end())
      throw Error(ErrorKind::usage, title(question) + ": the runner was not opened for it");
    measured_.clear();
    load_.clear();
    number_.clear();
    channels_.clear();  // before the next are opened, so that both need not fit
    case_ = question;
    for (const Lane& lane : lanes(question)) {
      channels_.push_back(open_(lane_case(question, lane), known->second));
      if (lane.measured) number_.push_back(static_cast<std::uint32_t>(channels_.size() - 1));
      (lane.measured ? measured_ : load_).push_back(channels_.back().get());
    }
  }

  OpenLane open_;
  std::map<TransferCase, std::uint64_t> max_bytes_;
  TransferCase case_;
  std::uint64_t bytes_ = 0;
  std::vector<std::unique_ptr<Channel>> channels_;  // one a lane, in order
  std::vector<Channel*> measured_, load_;
  std::vector<std::uint32_t> number_;  // the lanes of measured_
};

}  // namespace

std::map<TransferCase, std::uint64_t> max_bytes_of(std::span<const Step<Transfers>> steps) {
  std::map<TransferCase, std::uint64_t> all;
  for (const Step<Transfers>& step : steps) {
    std::uint64_t& bytes = all[step.question];
    bytes = std::max(bytes, step.axes.bytes);
  }
  return all;
}

std::unique_ptr<Runner<Transfers>> transfer_runner(OpenLane open, std::span<const Step<Transfers>> steps) {
  return std::make_unique<TransferRunner>(std::move(open), steps);
}

}  // namespace npgpu

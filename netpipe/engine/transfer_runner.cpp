#include "netpipe/engine/transfer_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

namespace {

using Times = std::optional<std::vector<LaneTime>>;

// Opens the gate of a channel whatever happens: an error between hold and release would otherwise leave
// everything after it waiting for the gate's time-out.
class Gate {
 public:
  explicit Gate(DeviceTimer* timer) : timer_(timer) {
    if (timer_) timer_->hold();
  }
  void open() {
    if (DeviceTimer* timer = std::exchange(timer_, nullptr)) timer->release();
  }
  ~Gate() {
    try {
      open();
    } catch (...) {  // the error that brought us here is the one to report
    }
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

 private:
  DeviceTimer* timer_;
};

DeviceTimer& timer_of(Channel& channel, const TransferCase& c) {
  if (DeviceTimer* timer = channel.timer()) return *timer;
  throw Error(ErrorKind::usage, "module " + c.module + " cannot time on the device: use --timing host");
}

bool round_trips(const TransferCase& c) { return c.pattern == Pattern::pingpong; }

Times run_host(const TransferCase& c, Channel& channel, std::uint64_t repeats) {
  const Seconds begin = channel.clock().now();
  channel.issue(repeats, round_trips(c));
  channel.settle();
  return {{{channel.clock().now() - begin, std::nullopt}}};
}

// Event and gated timing of one or more channels from one thread. Copies of several channels are issued in turn, so
// that all find work from the start.
Times run_device(const TransferCase& c, std::span<Channel* const> channels, std::uint64_t repeats, const Tails& tails) {
  const Clock& clock = channels[0]->clock();
  const Seconds begin = clock.now();
  std::deque<Gate> gates;
  for (Channel* channel : channels) {
    DeviceTimer& timer = timer_of(*channel, c);
    if (c.timing == Timing::gated) gates.emplace_back(&timer);
  }
  for (Channel* channel : channels) channel->timer()->start();
  const auto once = [&](Channel* channel) {
    channel->forward();
    if (round_trips(c)) channel->back();
  };
  if (channels.size() == 1) {
    channels[0]->issue(repeats, round_trips(c));
  } else {
    for (std::uint64_t i = 0; i < repeats; ++i)
      for (Channel* channel : channels) once(channel);
  }
  for (Channel* channel : channels) channel->timer()->stop();
  const std::uint64_t longest_tail = tails.empty() ? 0 : std::ranges::max(tails);
  for (std::uint64_t i = 0; i < longest_tail; ++i)
    for (std::size_t lane = 0; lane < channels.size(); ++lane)
      if (i < tails[lane]) once(channels[lane]);
  for (Gate& gate : gates) gate.open();
  for (Channel* channel : channels) channel->settle();
  const Seconds host = clock.now() - begin;

  Times times(std::in_place);
  bool voided = false;
  for (Channel* channel : channels) {
    const auto elapsed = channel->timer()->elapsed();
    voided |= !elapsed;
    times->push_back({host, elapsed});
  }
  return voided ? std::nullopt : times;
}

Times run(const TransferCase& c, std::span<Channel* const> channels, std::uint64_t repeats, const Tails& tails = {}) {
  return c.timing == Timing::host ? run_host(c, *channels[0], repeats) : run_device(c, channels, repeats, tails);
}

// Threads that begin together. If one of them cannot be started, those that wait for it end.
class ThreadGroup {
 public:
  explicit ThreadGroup(std::size_t size) : waiting_(size) { errors_.reserve(size); }

  // `work` calls together() once it is ready.
  void start(std::function<void()> work) {
    std::exception_ptr& error = errors_.emplace_back();
    try {
      threads_.emplace_back([work = std::move(work), &error, this] {
        try {
          work();
        } catch (...) {
          error = std::current_exception();
          cancelled_ = true;
        }
      });
    } catch (const std::system_error& e) {
      cancelled_ = true;
      throw Error(ErrorKind::failed, fmt::format("a thread for one of the lanes cannot be started: {}", e.what()));
    }
  }
  // Ready; returns once all are. False if there is no trial after all.
  bool together() {
    ready();
    while (waiting_ > 0 && !cancelled_) std::this_thread::yield();
    return !cancelled_;
  }
  void ready() { --waiting_; }
  bool cancelled() const { return cancelled_; }

  void join() {  // rethrows
    threads_.clear();
    for (const auto& error : errors_)
      if (error) std::rethrow_exception(error);
  }

 private:
  std::atomic<std::size_t> waiting_;
  std::atomic<bool> cancelled_{false};
  std::vector<std::exception_ptr> errors_;  // never moved: its size is known
  std::vector<std::jthread> threads_;       // last, so that it is joined first
};

// Copies in batches of about this time, so that the pauses between batches are few and the end comes soon.
constexpr Seconds load_batch{0.002};

void keep_loaded(const TransferCase& c, Channel& channel, ThreadGroup& group, const std::atomic<std::size_t>& running) {
  const Clock& clock = channel.clock();
  std::uint64_t batch = 1;
  for (bool first = true; running > 0 && !group.cancelled(); first = false) {
    const Seconds begin = clock.now();
    channel.issue(batch, round_trips(c));
    channel.settle();
    if (clock.now() - begin < load_batch / 2) batch *= 2;
    if (first) group.ready();
  }
}

// A copy that blocks its caller can only overlap with another caller's.
Times run_threads(const TransferCase& c, std::span<Channel* const> measured, std::span<Channel* const> load,
                  std::uint64_t repeats, bool one_driver, const Tails& tails) {
  const std::size_t drivers = one_driver ? 1 : measured.size();
  const std::size_t each = measured.size() / drivers;
  std::vector<Times> times(drivers);
  std::atomic<std::size_t> running{drivers};
  ThreadGroup group(drivers + load.size());
  for (std::size_t i = 0; i < drivers; ++i)
    group.start([&, i] {
      const auto mine = measured.subspan(i * each, each);
      for (Channel* channel : mine)
        channel->settle();  // what a thread's first call into a driver costs is no copy's time
      if (group.together()) times[i] = run(c, mine, repeats, one_driver ? tails : Tails());
      --running;
    });
  for (Channel* channel : load) group.start([&, channel] { keep_loaded(c, *channel, group, running); });
  group.join();
  Times all(std::in_place);
  for (const Times& one : times) {
    if (!one) return std::nullopt;
    all->insert(all->end(), one->begin(), one->end());
  }
  return all;
}

}  // namespace

Tails tails_of(const std::vector<LaneTime>& times, std::uint64_t repeats, std::uint64_t most) {
  double longest = 0;
  std::vector<double> each;
  for (const LaneTime& time : times) {
    each.push_back(time.device.value_or(time.host).count());
    longest = std::max(longest, each.back());
  }
  Tails tails;
  for (const double time : each) {
    const double alone = time > 0 ? std::ceil((longest - time) / time * static_cast<double>(repeats)) : 0;
    tails.push_back(alone < static_cast<double>(most) ? std::min(static_cast<std::uint64_t>(alone) + 1, most) : most);
  }
  return tails;
}

Times run_trial(const TransferCase& c, std::span<Channel* const> measured, std::span<Channel* const> load,
                std::uint64_t repeats, const Tails& tails) {
  const bool one_driver =
      measured.size() == 1 ||
      (c.timing != Timing::host && std::ranges::all_of(measured, [](const Channel* ch) { return ch->enqueues(); }));
  return one_driver && load.empty() ? run(c, measured, repeats, tails)
                                    : run_threads(c, measured, load, repeats, one_driver, tails);
}

namespace {

// What makes a copy between devices that see each other's memory go wrong without an error.
std::string hint_of(const Lane& lane) {
  if (lane.direction != Direction::peer) return {};
  return "; where an IOMMU or ACS of the PCIe bridges redirects what devices send each other, copies between them "
         "report "
         "success and deliver zeros or nothing";
}

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
    last_.clear();
  }

  bool run(std::uint64_t repeats, std::vector<TransferSample>& samples) override {
    // Threads of several lanes start anew for each trial, where the system puts them.
    if (is_host_timed(case_) && channels_.size() == 1 && !channels_.front()->find_quiet_core())
      disturbed_by(Cause::core_shared);
    const auto times = run_trial(case_, measured_, load_, repeats, tails(repeats));
    if (!times) return false;
    last_ = *times;
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
      if (wrong && !first) first = *wrong + hint_of(lanes(case_)[lane]);
    }
    return first;
  }

  std::uint64_t max_repeats() const override {
    if (case_.timing != Timing::gated) return 0;
    std::uint64_t most = UINT64_MAX;
    for (Channel* channel : measured_)
      if (DeviceTimer* timer = channel->timer()) most = std::min(most, timer->gate_capacity());
    // All lanes, both legs of a round trip, and tails that are as long as what is timed, share what fits behind a gate.
    const std::uint64_t operations =
        measured_.size() * (case_.pattern == Pattern::pingpong ? 2 : 1) * (has_tails() ? 2 : 1);
    return std::max<std::uint64_t>(1, most / operations);
  }

  double work() const override { return Transfers::work(case_, {bytes_}); }
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
  bool has_tails() const { return !case_.more_lanes.empty() && measured_.size() > 1 && case_.timing != Timing::host; }
  // From the last trial of the point; before the first, as long as what is timed.
  Tails tails(std::uint64_t repeats) const {
    if (!has_tails()) return {};
    if (last_.empty()) return Tails(measured_.size(), repeats);
    return tails_of(last_, repeats, repeats);
  }

  void open(const TransferCase& question) {
    const auto known = max_bytes_.find(question);
    if (known == max_bytes_.end())
      throw Error(ErrorKind::usage, title(question) + ": the runner was not opened for it");
    measured_.clear();
    load_.clear();
    number_.clear();
    last_.clear();
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
  std::vector<LaneTime> last_;         // times of the last trial of the prepared point
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

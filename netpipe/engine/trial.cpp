#include "netpipe/engine/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>

#include "npgpu/error.hpp"

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

// Host timing, of one channel.
Times run_host(const TransferCase& c, Channel& channel, std::uint64_t repeats) {
  const Clock& clock = channel.clock();
  const Seconds begin = clock.now();
  channel.issue(repeats, round_trips(c));
  channel.settle();
  return {{{clock.now() - begin, std::nullopt}}};
}

// Event and gated timing of one or more channels from one thread. Copies of several channels are issued in turn, so
// that all find work from the start.
Times run_device(const TransferCase& c, std::span<Channel* const> channels, std::uint64_t repeats) {
  const Clock& clock = channels[0]->clock();
  const Seconds begin = clock.now();
  std::deque<Gate> gates;
  for (Channel* channel : channels) {
    DeviceTimer& timer = timer_of(*channel, c);
    if (c.timing == Timing::gated) gates.emplace_back(&timer);
  }
  for (Channel* channel : channels) channel->timer()->start();
  if (channels.size() == 1) {
    channels[0]->issue(repeats, round_trips(c));
  } else {
    for (std::uint64_t i = 0; i < repeats; ++i)
      for (Channel* channel : channels) {
        channel->forward();
        if (round_trips(c)) channel->back();
      }
  }
  for (Channel* channel : channels) channel->timer()->stop();
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

Times run(const TransferCase& c, std::span<Channel* const> channels, std::uint64_t repeats) {
  return c.timing == Timing::host ? run_host(c, *channels[0], repeats) : run_device(c, channels, repeats);
}

// Threads that begin together. If one of them cannot be started, those that wait for it end.
class ThreadGroup {
 public:
  explicit ThreadGroup(std::size_t size) : waiting_(size) { errors_.reserve(size); }

  // `work` calls together() once it is ready; what it throws comes back from join().
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

  void join() {
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
                  std::uint64_t repeats, bool one_driver) {
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
      if (group.together()) times[i] = run(c, mine, repeats);
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

Times run_trial(const TransferCase& c, std::span<Channel* const> measured, std::span<Channel* const> load,
                std::uint64_t repeats) {
  const bool one_driver =
      measured.size() == 1 ||
      (c.timing != Timing::host && std::ranges::all_of(measured, [](const Channel* ch) { return ch->enqueues(); }));
  return one_driver && load.empty() ? run(c, measured, repeats) : run_threads(c, measured, load, repeats, one_driver);
}

}  // namespace npgpu

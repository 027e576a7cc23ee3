#include "netpipe/engine/trial.hpp"

#include <atomic>
#include <exception>
#include <thread>

#include "npgpu/error.hpp"

namespace npgpu {

namespace {

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

LaneTime run_host(Channel& channel, std::uint64_t repeats, bool round_trip) {
  const Clock& clock = channel.clock();
  const Seconds begin = clock.now();
  channel.issue(repeats, round_trip);
  channel.settle();
  return {clock.now() - begin, std::nullopt};
}

// Event and gated timing of one or more channels from one thread. With two, the copies are issued in turn, so
// that both directions find work from the start.
Trial run_device(const TransferCase& c, std::span<Channel* const> channels, std::uint64_t repeats) {
  const bool gated = c.timing == Timing::gated;
  const bool round_trip = c.pattern == Pattern::pingpong;
  const Clock& clock = channels[0]->clock();
  const Seconds begin = clock.now();
  if (channels.size() == 1) {
    DeviceTimer& timer = timer_of(*channels[0], c);
    Gate gate(gated ? &timer : nullptr);
    timer.start();
    channels[0]->issue(repeats, round_trip);
    timer.stop();
    gate.open();
    channels[0]->settle();
  } else {
    Channel& there = *channels[0];
    Channel& here = *channels[1];
    DeviceTimer& timer_there = timer_of(there, c);
    DeviceTimer& timer_here = timer_of(here, c);
    Gate gate_there(gated ? &timer_there : nullptr);
    Gate gate_here(gated ? &timer_here : nullptr);
    timer_there.start();
    timer_here.start();
    for (std::uint64_t i = 0; i < repeats; ++i) {
      there.forward();
      here.forward();
    }
    timer_there.stop();
    timer_here.stop();
    gate_there.open();
    gate_here.open();
    there.settle();
    here.settle();
  }
  const Seconds host = clock.now() - begin;
  Trial trial;
  for (Channel* channel : channels) {
    const auto elapsed = timer_of(*channel, c).elapsed();
    trial.voided |= !elapsed;
    trial.lanes.push_back({host, elapsed});
  }
  return trial;
}

// Each channel from its own thread, released together: a copy that blocks its caller can only overlap with
// another caller's.
Trial run_threads(const TransferCase& c, std::span<Channel* const> channels, std::uint64_t repeats) {
  Trial trial;
  trial.lanes.resize(channels.size());
  std::vector<std::exception_ptr> errors(channels.size());
  std::vector<char> voided(channels.size(), 0);
  std::atomic<std::size_t> waiting{channels.size()};
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < channels.size(); ++i) {
      threads.emplace_back([&, i] {
        try {
          channels[i]->settle();  // what a thread's first call into a driver costs is no copy's time
        } catch (...) {
          errors[i] = std::current_exception();
        }
        --waiting;
        while (waiting > 0) std::this_thread::yield();
        if (errors[i]) return;
        try {
          if (c.timing == Timing::host) {
            trial.lanes[i] = run_host(*channels[i], repeats, false);
          } else {
            Trial one = run_device(c, channels.subspan(i, 1), repeats);
            trial.lanes[i] = one.lanes[0];
            voided[i] = one.voided;
          }
        } catch (...) {
          errors[i] = std::current_exception();
        }
      });
    }
  }
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
  for (const char v : voided) trial.voided |= v != 0;
  return trial;
}

}  // namespace

Trial run_trial(const TransferCase& c, std::span<Channel* const> channels, std::uint64_t repeats) {
  if (channels.size() > 1) {
    bool one_thread = c.timing != Timing::host;
    for (const Channel* channel : channels) one_thread &= channel->enqueues();
    return one_thread ? run_device(c, channels, repeats) : run_threads(c, channels, repeats);
  }
  if (c.timing == Timing::host)
    return {{run_host(*channels[0], repeats, c.pattern == Pattern::pingpong)}, false};
  return run_device(c, channels, repeats);
}

}  // namespace npgpu

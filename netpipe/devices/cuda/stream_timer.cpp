#include "netpipe/devices/cuda/stream_timer.hpp"

#include "netpipe/devices/cuda/check.hpp"

namespace npgpu::cuda {

StreamTimer::StreamTimer(int ordinal, cudaStream_t stream, std::optional<Seconds> gate_time_out)
    : ordinal_(ordinal), stream_(stream) {
  if (gate_time_out) gate_.emplace(*gate_time_out);
}

void StreamTimer::hold() {
  if (!gate_) throw Error(ErrorKind::usage, "this channel has no gate: open it for a case with --timing gated");
  make_current(ordinal_);
  gate_->hold(stream_);
  held_ = true;
}

void StreamTimer::start() {
  make_current(ordinal_);
  begin_.record(stream_);
}

void StreamTimer::stop() {
  make_current(ordinal_);
  end_.record(stream_);
}

void StreamTimer::release() {
  if (gate_) gate_->release();
}

std::optional<Seconds> StreamTimer::elapsed() {
  make_current(ordinal_);
  const bool was_void = std::exchange(held_, false) && gate_->timed_out();
  if (was_void) return std::nullopt;
  return Event::between(begin_, end_);
}

std::uint64_t StreamTimer::gate_capacity() const { return Gate::capacity(); }

}  // namespace npgpu::cuda

#include "netpipe/devices/opencl/timer.hpp"

namespace npgpu::opencl {

Gate::Gate(const Context& context, Seconds time_out)
    : context_(context), time_out_(time_out), watcher_([this] { watch(); }) {}

Gate::~Gate() {
  try {
    release();
  } catch (const Error&) {  // the queue that waits for it fails with the same
  }
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  watcher_.join();
}

void Gate::hold(std::span<const Queue> queues) {
  const std::lock_guard lock(mutex_);
  timed_out_ = false;
  event_ = Event::user(context_);
  const cl_event gate = event_.get();
  for (const Queue& queue : queues)
    check(library().clEnqueueMarkerWithWaitList(queue.get(), 1, &gate, nullptr), "clEnqueueMarkerWithWaitList");
  ++holds_;
  changed_.notify_all();
}

void Gate::release() {
  const std::lock_guard lock(mutex_);
  if (!event_) return;
  const Event gate = std::move(event_);
  changed_.notify_all();
  gate.complete();
}

void Gate::watch() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    changed_.wait(lock, [this] { return ends_ || event_; });
    const std::uint64_t hold = holds_;
    const bool is_over = changed_.wait_for(lock, time_out_, [&] { return ends_ || !event_ || holds_ != hold; });
    if (is_over || !event_) continue;
    timed_out_ = true;
    const Event gate = std::move(event_);
    (void)library().clSetUserEventStatus(gate.get(), CL_COMPLETE);
  }
}

QueueTimer::QueueTimer(const Context& context, const Queue& queue, std::optional<Seconds> gate_time_out)
    : context_(context), queue_(queue) {
  if (gate_time_out) gate_.emplace(context, *gate_time_out);
}

void QueueTimer::hold() {
  if (!gate_) throw Error(ErrorKind::failed, "this channel was opened without a gate");
  gate_->hold({&queue_, 1});
  held_ = true;
}

void QueueTimer::start() {
  first_ = Event();
  last_ = Event();
  records_ = true;
}

void QueueTimer::release() {
  if (!gate_) return;
  queue_.flush();
  gate_->release();
}

std::optional<Seconds> QueueTimer::elapsed() {
  if (std::exchange(held_, false) && gate_->timed_out()) return std::nullopt;
  const auto took = first_ ? profiled(first_, last_ ? last_ : first_) : std::nullopt;
  if (!took)
    throw Error(ErrorKind::failed,
                "the driver of " + context_.id + " has no profile of its commands: use --timing host");
  return took;
}

}  // namespace npgpu::opencl

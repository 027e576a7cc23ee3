#include <atomic>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/gate.hpp"

namespace npgpu::cuda {

// Each hold draws the next ticket; the gate is open for all tickets up to `opened`. Nothing is ever reset, so
// no order of host and device can lose an opening.
struct Gate::Words {
  std::uint64_t opened;
  std::uint64_t timed_out;
};

namespace {

__device__ std::uint64_t global_timer_ns() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
  return ns;
}

__global__ void wait_at_gate(const volatile std::uint64_t* opened, volatile std::uint64_t* timed_out,
                             std::uint64_t ticket, std::uint64_t time_out_ns) {
  const std::uint64_t begin = global_timer_ns();
  while (*opened < ticket) {
    if (global_timer_ns() - begin > time_out_ns) {
      *timed_out = ticket;
      __threadfence_system();
      return;
    }
  }
}

}  // namespace

Gate::Words* Gate::words() const { return reinterpret_cast<Words*>(shared_.data()); }

Gate::Gate(Seconds time_out)
    : shared_(Memory::pinned, sizeof(Words)), time_out_ns_(static_cast<std::uint64_t>(time_out.count() * 1e9)) {
  *words() = {0, 0};
  // Once through the open gate: loads the kernel before anything has to wait behind it.
  const Stream stream;
  release();
  wait_at_gate<<<1, 1, 0, stream.get()>>>(&words()->opened, &words()->timed_out, 0, time_out_ns_);
  check(cudaGetLastError(), "launching the gate");
  stream.synchronize();
}

Gate::~Gate() {
  release();
  // The kernel may still be reading the words that are about to be freed.
  if (ticket_) complain(cudaStreamSynchronize(stream_), "leaving a gate");
}

void Gate::hold(cudaStream_t stream) {
  ++ticket_;
  stream_ = stream;
  wait_at_gate<<<1, 1, 0, stream>>>(&words()->opened, &words()->timed_out, ticket_, time_out_ns_);
  check(cudaGetLastError(), "closing the gate");
}

void Gate::release() noexcept { std::atomic_ref(words()->opened).store(ticket_, std::memory_order_release); }

bool Gate::timed_out() const {
  return ticket_ != 0 && std::atomic_ref(words()->timed_out).load(std::memory_order_acquire) == ticket_;
}

StreamTimer::StreamTimer(int ordinal, cudaStream_t stream, std::optional<Seconds> gate_time_out, std::uint64_t capacity)
    : ordinal_(ordinal), stream_(stream), capacity_(capacity) {
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

std::optional<Seconds> StreamTimer::elapsed() {
  make_current(ordinal_);
  if (std::exchange(held_, false) && gate_->timed_out()) return std::nullopt;
  return Event::between(begin_, end_);
}

}  // namespace npgpu::cuda

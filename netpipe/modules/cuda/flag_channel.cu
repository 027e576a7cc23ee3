#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/gate.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/cuda/peers.hpp"
#include "netpipe/devices/host/quiet_core.hpp"
#include "netpipe/modules/cuda/flag_channel.hpp"

namespace npgpu::cuda {

namespace {

// Longer than a gate waits, so that who answers behind an open road outlives who begins behind a closed one.
constexpr std::uint64_t patience_ns = 12'000'000'000;
constexpr std::uint64_t max_round_trips = 1u << 20;
constexpr std::uint64_t line_bytes = 128;

__device__ std::uint64_t global_timer_ns() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
  return ns;
}

// False: it never came.
__device__ bool see(const volatile std::uint64_t* word, std::uint64_t value) {
  constexpr unsigned looks = 1u << 14;
  const std::uint64_t begin = global_timer_ns();
  do {
#pragma unroll 1
    for (unsigned i = 0; i < looks; ++i)
      if (*word == value) return true;
  } while (global_timer_ns() - begin < patience_ns);
  return false;
}

// The values after `last`, so many of them. `late`: becomes the value that never came.
__global__ void begin_flags(volatile std::uint64_t* own, volatile std::uint64_t* other, std::uint64_t last,
                            std::uint64_t count, volatile std::uint64_t* late) {
  for (const std::uint64_t end = last + count; last < end;) {
    *other = ++last;
    if (!see(own, last)) {
      *late = last;
      return;
    }
  }
}

__global__ void answer_flags(volatile std::uint64_t* own, volatile std::uint64_t* other, std::uint64_t last,
                             std::uint64_t count, volatile std::uint64_t* late) {
  for (const std::uint64_t end = last + count; last < end;) {
    if (!see(own, ++last)) {
      *late = last;
      return;
    }
    *other = last;
  }
}

// One of the two: its word, on a line of its own, and where its kernels go.
struct Side {
  Side(int where, Memory kind) : ordinal(where), stream(stream_of(where)), memory(kind, line_bytes) {}
  std::uint64_t* word() const { return reinterpret_cast<std::uint64_t*>(memory.data()); }
  void write(std::uint64_t value) const {
    make_current(ordinal);
    check(cudaMemcpyAsync(word(), &value, sizeof value, cudaMemcpyDefault, stream.get()), "writing a flag");
    stream.synchronize();
  }
  std::uint64_t read() const {
    make_current(ordinal);
    std::uint64_t value = 0;
    check(cudaMemcpyAsync(&value, word(), sizeof value, cudaMemcpyDefault, stream.get()), "reading a flag");
    stream.synchronize();
    return value;
  }

  int ordinal;
  Stream stream;
  Buffer memory;
};

class FlagChannel final : public Channel {
 public:
  explicit FlagChannel(const TransferCase& c)
      : with_host_(c.direction == Direction::h2d),
        gpu_(ordinal_or_throw(mover_of(c)), c.bind, c.host_node),
        one_(gpu_.ordinal(), memory_of(c)),
        other_(c.direction == Direction::peer ? ordinal_or_throw(c.target) : gpu_.ordinal(), memory_of(c)),
        late_(Memory::pinned, 2 * line_bytes) {
    if (c.direction == Direction::peer) set_access(c);
    gpu_.make_current();
    if (with_host_ && c.bind) quiet_.emplace();
    std::optional<Seconds> gate;
    if (c.timing == Timing::gated) gate = Seconds{10};
    timer_.emplace(gpu_.ordinal(), one_.stream.get(), gate, max_round_trips);
  }

  void prepare(std::uint64_t bytes) override {
    if (bytes != single_word_bytes)
      throw Error(ErrorKind::usage, "a flag has " + std::to_string(single_word_bytes) + " bytes, and was asked for " +
                                        std::to_string(bytes));
    last_ = 0;
    for (const Side* side : {&one_, &other_}) side->write(0);
    late(0) = 0;
    late(1) = 0;
    // Each kernel by itself first: to load one while the other runs would wait for that.
    enqueue(0);
    settle();
    exchange(16);
    settle();
  }
  void forward() override { exchange(1); }
  void back() override { throw Error(ErrorKind::usage, "a flag is back already"); }
  void issue(std::uint64_t repeats, bool) override { exchange(repeats); }
  void settle() override {
    if (with_host_) answer();
    for (const Side* side : {&other_, &one_}) {
      make_current(side->ordinal);
      side->stream.synchronize();
    }
  }
  bool find_quiet_core() override {
    if (!quiet_) return true;
    if (quiet_->settle()) {  // caches of the other core know nothing of the driver
      exchange(16);
      settle();
    }
    return !quiet_->is_shared();
  }
  std::optional<std::string> intact(bool) override {
    for (const std::uint64_t value : {late(0), late(1)})
      if (value) return "flag " + std::to_string(value) + " of " + std::to_string(last_) + " never came";
    const std::uint64_t one = one_.read(), other = other_.read();
    if (one == last_ && other == last_) return std::nullopt;
    return "after " + std::to_string(last_) + " flags there and back the words are " + std::to_string(other) + " and " +
           std::to_string(one);
  }
  const Clock& clock() const override { return steady_clock(); }
  DeviceTimer* timer() override { return &*timer_; }
  bool enqueues() const override { return true; }
  Telemetry telemetry() override { return gpu_.telemetry(); }
  std::string binding() const override {
    return gpu_.binding() + (quiet_ ? "; the host answers from: " + quiet_->text() : "");
  }

 private:
  static Memory memory_of(const TransferCase& c) {
    return c.direction == Direction::h2d ? Memory::pinned : Memory::device;
  }
  volatile std::uint64_t& late(int side) const {
    return *reinterpret_cast<volatile std::uint64_t*>(late_.data() + side * line_bytes);
  }
  void exchange(std::uint64_t count) {
    enqueue(count);
    last_ += count;
    to_answer_ += with_host_ ? count : 0;
  }
  // Who answers first: it waits in its own stream, whatever holds the other.
  void enqueue(std::uint64_t count) {
    using Kernel = void (*)(volatile std::uint64_t*, volatile std::uint64_t*, std::uint64_t, std::uint64_t,
                            volatile std::uint64_t*);
    const auto launch = [&](Kernel kernel, const Side& own, const Side& partner, volatile std::uint64_t& late) {
      make_current(own.ordinal);
      kernel<<<1, 1, 0, own.stream.get()>>>(own.word(), partner.word(), last_, count, &late);
      check(cudaGetLastError(), "launching flags");
      if (count == 0) own.stream.synchronize();
    };
    if (!with_host_) launch(&answer_flags, other_, one_, late(1));
    launch(&begin_flags, one_, other_, late(0));
  }
  // The host's part of what was enqueued.
  void answer() {
    const std::atomic_ref own(*other_.word()), partner(*one_.word());
    for (; to_answer_ > 0; --to_answer_) {
      const std::uint64_t value = last_ - to_answer_ + 1;
      const auto begin = std::chrono::steady_clock::now();
      for (std::uint64_t looks = 1; own.load(std::memory_order_relaxed) != value; ++looks) {
        if (looks % (1 << 16) || std::chrono::steady_clock::now() - begin < std::chrono::nanoseconds(patience_ns))
          continue;
        late(1) = value;
        to_answer_ = 0;
        return;
      }
      partner.store(value, std::memory_order_relaxed);
    }
  }

  const bool with_host_;
  const Gpu gpu_;
  Side one_, other_;  // who begins, who answers
  Buffer late_;
  std::optional<host::QuietCore> quiet_;
  std::optional<StreamTimer> timer_;
  std::uint64_t last_ = 0;       // the value of the last flag that was enqueued
  std::uint64_t to_answer_ = 0;  // by the host
};

}  // namespace

std::unique_ptr<Channel> flag_channel(const TransferCase& c) { return std::make_unique<FlagChannel>(c); }

}  // namespace npgpu::cuda

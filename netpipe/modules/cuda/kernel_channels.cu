#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/gate.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/cuda/peers.hpp"
#include "netpipe/devices/host/quiet_core.hpp"
#include "netpipe/modules/cuda/kernel_channels.hpp"

namespace npgpu::cuda {

namespace {

// A block a multiprocessor, and small ones, so that the kernels of several lanes run at once on a GPU. On 132
// multiprocessors 3.2 MB are in flight: eight times what a link of 400 GB/s moves in a microsecond.
constexpr unsigned copy_threads = 128, in_flight = 12;

// What is before the first whole word, and behind the last.
struct Edges {
  std::uint64_t head = 0, tail = 0;
};

template <class Word>
__global__ void __launch_bounds__(copy_threads)
    copy_words(std::byte* to, const std::byte* from, std::uint64_t words, Edges edges) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * copy_threads,
                      first = blockIdx.x * std::uint64_t{copy_threads} + threadIdx.x;
  Word* const target = reinterpret_cast<Word*>(to + edges.head);
  const Word* const source = reinterpret_cast<const Word*>(from + edges.head);
  std::uint64_t i = first;
  for (; i + (in_flight - 1) * step < words; i += in_flight * step) {
    Word held[in_flight];
#pragma unroll
    for (unsigned k = 0; k < in_flight; ++k) held[k] = source[i + k * step];
#pragma unroll
    for (unsigned k = 0; k < in_flight; ++k) target[i + k * step] = held[k];
  }
  for (; i < words; i += step) target[i] = source[i];
  if (first < edges.head) to[first] = from[first];
  if (first < edges.tail) {
    const std::uint64_t at = edges.head + words * sizeof(Word) + first;
    to[at] = from[at];
  }
}

template <class Word>
void launch(void* to, const void* from, std::size_t bytes, unsigned multiprocessors, cudaStream_t stream) {
  const std::uint64_t past = reinterpret_cast<std::uintptr_t>(to) % sizeof(Word);
  Edges edges;
  edges.head = std::min<std::uint64_t>(past ? sizeof(Word) - past : 0, bytes);
  const std::uint64_t words = (bytes - edges.head) / sizeof(Word);
  edges.tail = bytes - edges.head - words * sizeof(Word);
  const std::uint64_t of_block = std::uint64_t{copy_threads} * in_flight;
  const auto blocks =
      static_cast<unsigned>(std::clamp<std::uint64_t>((words + of_block - 1) / of_block, 1, multiprocessors));
  copy_words<Word><<<blocks, copy_threads, 0, stream>>>(static_cast<std::byte*>(to),
                                                        static_cast<const std::byte*>(from), words, edges);
  check(cudaGetLastError(), "launching a copy");
}

template <class... Words> void load() {
  cudaFuncAttributes unused;
  (check(cudaFuncGetAttributes(&unused, copy_words<Words>), "loading the copy kernels"), ...);
}

}  // namespace

CopyKernel::CopyKernel(int ordinal)
    : multiprocessors_(static_cast<unsigned>(attribute(cudaDevAttrMultiProcessorCount, ordinal))) {
  make_current(ordinal);
  load<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, uint4>();
}

void CopyKernel::operator()(void* to, const void* from, std::size_t bytes, cudaStream_t stream) const {
  const std::uintptr_t apart = reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from);
  if (apart % 16 == 0) launch<uint4>(to, from, bytes, multiprocessors_, stream);
  else if (apart % 8 == 0) launch<std::uint64_t>(to, from, bytes, multiprocessors_, stream);
  else if (apart % 4 == 0) launch<std::uint32_t>(to, from, bytes, multiprocessors_, stream);
  else if (apart % 2 == 0) launch<std::uint16_t>(to, from, bytes, multiprocessors_, stream);
  else launch<std::uint8_t>(to, from, bytes, multiprocessors_, stream);
}

namespace {

constexpr std::uint64_t line_bytes = 128, lines = 2 * MiB / line_bytes;

template <bool by_atomics> __global__ void chase_pointers(std::uint64_t at, std::uint64_t loads, std::uint64_t* end) {
#pragma unroll 1
  for (; loads > 0; --loads) {
    if constexpr (by_atomics) asm volatile("atom.sys.global.add.u64 %0, [%0], 0;" : "+l"(at)::"memory");
    else asm volatile("ld.volatile.global.u64 %0, [%0];" : "+l"(at)::"memory");
  }
  *end = at;
}

// A kernel makes all loads of a trial: this many, at most.
constexpr std::uint64_t max_loads = 1u << 20;

class ChaseChannel final : public Channel {
 public:
  explicit ChaseChannel(const TransferCase& c)
      : gpu_(ordinal_or_throw(mover_of(c)), c.bind, c.host_node),
        source_ordinal_(c.direction == Direction::peer ? ordinal_or_throw(c.source) : gpu_.ordinal()),
        stream_(stream_of(gpu_.ordinal())),
        chase_(c.pattern == Pattern::atomic ? &chase_pointers<true> : &chase_pointers<false>) {
    if (c.direction == Direction::peer) set_access(c);
    make_current(source_ordinal_);
    memory_ = Buffer(c.direction == Direction::peer ? Memory::device : c.memory, lines * line_bytes);
    gpu_.make_current();
    end_ = Buffer(Memory::device, sizeof(std::uint64_t));
    std::optional<Seconds> gate;
    if (c.timing == Timing::gated) gate = Seconds{10};
    timer_.emplace(gpu_.ordinal(), stream_.get(), gate, max_loads);
    lay_out();
  }

  void prepare(std::uint64_t bytes) override {
    if (bytes != single_word_bytes)
      throw Error(ErrorKind::usage, "a chase loads " + std::to_string(single_word_bytes) +
                                        " bytes at a time, and was asked for " + std::to_string(bytes));
    walk(lines);  // every line once
    settle();
  }
  void forward() override { walk(1); }
  void back() override { throw Error(ErrorKind::usage, "a chase has no way back"); }
  void issue(std::uint64_t repeats, bool) override { walk(repeats); }
  void settle() override {
    gpu_.make_current();
    stream_.synchronize();
  }
  std::optional<std::string> intact(bool) override {
    gpu_.make_current();
    std::uint64_t at = 0;
    check(cudaMemcpyAsync(&at, end_.data(), sizeof at, cudaMemcpyDeviceToHost, stream_.get()),
          "reading where the chase ended");
    stream_.synchronize();
    if (at == address(walked_)) return std::nullopt;
    return "after " + std::to_string(walked_) + " loads the chase is not at the line where its order leads";
  }
  const Clock& clock() const override { return steady_clock(); }
  DeviceTimer* timer() override { return &*timer_; }
  bool enqueues() const override { return true; }
  Telemetry telemetry() override { return gpu_.telemetry(); }
  std::string binding() const override { return gpu_.binding(); }

 private:
  void lay_out() {
    order_.resize(lines);
    std::iota(order_.begin(), order_.end(), std::uint64_t{0});
    std::shuffle(order_.begin(), order_.end(), std::mt19937_64(1));
    std::vector<std::uint64_t> words(lines * line_bytes / sizeof(std::uint64_t));
    for (std::uint64_t i = 0; i < lines; ++i) words[order_[i] * line_bytes / sizeof(std::uint64_t)] = address(i + 1);
    const Stream there = stream_of(source_ordinal_);
    check(cudaMemcpyAsync(memory_.data(), words.data(), lines * line_bytes, cudaMemcpyDefault, there.get()),
          "laying out the chase");
    there.synchronize();  // before `words` goes
  }
  // After so many loads.
  std::uint64_t address(std::uint64_t loads) const {
    return reinterpret_cast<std::uint64_t>(memory_.data()) + order_[loads % lines] * line_bytes;
  }
  void walk(std::uint64_t loads) {
    gpu_.make_current();
    chase_<<<1, 1, 0, stream_.get()>>>(address(walked_), loads, reinterpret_cast<std::uint64_t*>(end_.data()));
    check(cudaGetLastError(), "launching a chase");
    walked_ += loads;
  }

  const Gpu gpu_;
  const int source_ordinal_;
  const Stream stream_;
  void (*const chase_)(std::uint64_t, std::uint64_t, std::uint64_t*);
  Buffer memory_, end_;
  std::optional<StreamTimer> timer_;
  std::vector<std::uint64_t> order_;
  std::uint64_t walked_ = 0;
};

}  // namespace

std::unique_ptr<Channel> chase_channel(const TransferCase& c) { return std::make_unique<ChaseChannel>(c); }

namespace {

// Longer than a gate waits, so that who answers behind an open road outlives who begins behind a closed one.
constexpr std::uint64_t patience_ns = 12'000'000'000;
constexpr std::uint64_t max_round_trips = 1u << 20;

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

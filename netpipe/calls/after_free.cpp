#include "netpipe/calls/after_free.hpp"

#include <algorithm>
#include <chrono>

#include "netpipe/devices/cuda/clearing.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "npgpu/model/statistics.hpp"

namespace npgpu::cuda {

namespace {

constexpr std::uint64_t read_bytes = 256 * MiB;  // some 80 us of an H100, and more than its cache holds
constexpr double slower = 1.06;                  // than this times the usual one is a slow read: noise is 1 %
constexpr std::size_t least_slow = 3;            // fewer slow reads are chance
constexpr Seconds quiet_for{8e-3};               // without two slow reads in a row: it is over
constexpr Seconds longest{5};

Seconds now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace

AfterFree::AfterFree(int ordinal)
    : ordinal_(ordinal),
      blocks_(4 * static_cast<unsigned>(attribute(cudaDevAttrMultiProcessorCount, ordinal))),
      memory_(Memory::device, read_bytes),
      word_(Memory::device, sizeof(unsigned)),
      pool_(ordinal) {
  check(cudaMemsetAsync(memory_.data(), 0, read_bytes, stream_.get()), "setting memory");
  (void)read();  // loads the kernel
}

AfterFree::~AfterFree() {
  if (in_pool_) note_freed(ordinal_, in_pool_);
}

Seconds AfterFree::read() {
  const void* from = memory_.data();
  std::uint64_t count = read_bytes / sizeof(uint4);
  void* end = word_.data();
  void* arguments[] = {&from, &count, &end};
  begin_.record(stream_.get());
  check(cudaLaunchKernel(reading_kernel(), dim3(blocks_), dim3(512), arguments, 0, stream_.get()), "reading memory");
  end_.record(stream_.get());
  stream_.synchronize();
  return Event::between(begin_, end_);
}

Seconds AfterFree::usual_read() {
  std::vector<double> times;
  for (int i = 0; i < 15; ++i) times.push_back(read().count());
  return Seconds{median(times)};
}

void AfterFree::take(Call call, std::uint64_t bytes) {
  switch (call) {
    case Call::pool_free:
    case Call::pool_trim:
      check(cudaMallocFromPoolAsync(&taken_, bytes, pool_.get(), stream_.get()), "allocating from a pool");
      in_pool_ = std::max(in_pool_, bytes);
      note_freed(ordinal_, in_pool_);  // a pool that grows may give back what it had
      break;
    case Call::managed_free:
      check(cudaMallocManaged(&taken_, bytes), "allocating managed memory");
      check(cudaMemsetAsync(taken_, 0, bytes, stream_.get()), "bringing managed memory to the device");
      break;
    default: check(cudaMalloc(&taken_, bytes), "allocating device memory");
  }
  stream_.synchronize();
}

void AfterFree::give_back(Call call) {
  switch (call) {
    case Call::pool_free:
    case Call::pool_trim:
      check(cudaFreeAsync(taken_, stream_.get()), "freeing to a pool");
      stream_.synchronize();
      if (call == Call::pool_free) break;
      check(cudaMemPoolTrimTo(pool_.get(), 0), "trimming a pool");
      in_pool_ = 0;
      break;
    default: check(cudaFree(taken_), "freeing device memory");
  }
  taken_ = nullptr;
}

AfterFree::Seen AfterFree::measure(Call call, std::uint64_t bytes) {
  take(call, bytes);
  wait_until_cleared(ordinal_);
  const Seconds usual = usual_read(), begin = now();
  give_back(call);
  const Seconds returned = now();
  Seconds last_slow = begin;
  std::vector<double> slow;
  for (bool before = false;;) {
    const double ratio = read() / usual;
    const Seconds at = now();
    const bool is_slow = ratio > slower;
    if (is_slow) slow.push_back(ratio);
    if (is_slow && before) last_slow = at;
    before = is_slow;
    if (at - std::max(last_slow, returned) > quiet_for) break;
    if (at - begin > longest)
      throw Error(ErrorKind::failed, "5 s after memory was freed, reads still take longer than before");
  }
  Seen seen{returned - begin, returned - begin, not_measured};
  if (slow.size() < least_slow) return seen;
  seen.done = std::max(seen.host, last_slow - begin);
  seen.slowed = median(slow);
  return seen;
}

}  // namespace npgpu::cuda

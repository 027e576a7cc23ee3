#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/gate.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/cuda/peers.hpp"
#include "netpipe/modules/cuda/chase_channel.hpp"

namespace npgpu::cuda {

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

}  // namespace npgpu::cuda

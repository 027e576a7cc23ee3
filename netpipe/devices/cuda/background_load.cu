#include <algorithm>

#include "netpipe/devices/cuda/background_load.hpp"
#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cuda {

namespace {

__global__ void nothing() {}

constexpr unsigned compute_threads = 1024, blocks_each = 2;

// Four independent chains a thread, whose end is never 0.
__global__ void __launch_bounds__(compute_threads) multiply_add(unsigned steps, float* end) {
  float x[4];
  for (int k = 0; k < 4; ++k) x[k] = 1.0f + static_cast<float>(threadIdx.x + k);
  for (unsigned i = 0; i < steps; ++i) {
#pragma unroll
    for (int k = 0; k < 4; ++k) x[k] = x[k] * 0.5f + 1.0f;
  }
  if (x[0] + x[1] + x[2] + x[3] == 0.0f) *end = x[0];
}

class Copies final : public BackgroundLoad {
 public:
  Copies() {
    for (int way = 0; way < 2; ++way) {
      host_[way] = Buffer(Memory::pinned, copy_bytes);
      device_[way] = Buffer(Memory::device, copy_bytes);
    }
  }

 private:
  static constexpr std::uint64_t copy_bytes = 16 * MiB;

  void enqueue(int slot) override {
    check(cudaMemcpyAsync(device_[0].data(), host_[0].data(), copy_bytes, cudaMemcpyHostToDevice, in_[slot].get()),
          "copying to the device");
    check(cudaMemcpyAsync(host_[1].data(), device_[1].data(), copy_bytes, cudaMemcpyDeviceToHost, out_[slot].get()),
          "copying to the host");
  }
  void wait(int slot) override {
    in_[slot].synchronize();
    out_[slot].synchronize();
  }
  std::uint64_t operations() const override { return 2; }

  Buffer host_[2], device_[2];
  Stream in_[2], out_[2];
};

class Kernels final : public BackgroundLoad {
 public:
  explicit Kernels(int ordinal)
      : blocks_(blocks_each * static_cast<unsigned>(attribute(cudaDevAttrMultiProcessorCount, ordinal))),
        end_(Memory::device, sizeof(float)) {
    run(0);  // loads it
    wait(0);
    Event begin, end;
    begin.record(streams_[0].get());
    run(0);
    end.record(streams_[0].get());
    wait(0);
    const Seconds time = Event::between(begin, end);
    // Another process may have had a part in that time: within limits.
    steps_ = static_cast<unsigned>(steps_ * std::clamp(wanted / time, 0.05, 100.0));
  }

 private:
  static constexpr Seconds wanted{1e-3};

  void run(int slot) {
    multiply_add<<<blocks_, compute_threads, 0, streams_[slot].get()>>>(steps_, reinterpret_cast<float*>(end_.data()));
    check(cudaGetLastError(), "launching a kernel");
  }
  void enqueue(int slot) override { run(slot); }
  void wait(int slot) override { streams_[slot].synchronize(); }
  std::uint64_t operations() const override { return 1; }

  unsigned blocks_, steps_ = 4096;
  Buffer end_;
  Stream streams_[2];
};

class Launches final : public BackgroundLoad {
  static constexpr int in_a_batch = 64;

  void enqueue(int slot) override {
    for (int i = 0; i < in_a_batch; ++i) nothing<<<1, 32, 0, streams_[slot].get()>>>();
    check(cudaGetLastError(), "launching kernels");
  }
  void wait(int slot) override { streams_[slot].synchronize(); }
  std::uint64_t operations() const override { return in_a_batch; }

  Stream streams_[2];
};

}  // namespace

std::uint64_t BackgroundLoad::once() {
  enqueue(next_);
  under_way_[next_] = true;
  next_ = 1 - next_;
  if (!under_way_[next_]) return 0;
  wait(next_);
  under_way_[next_] = false;
  return operations();
}

std::uint64_t BackgroundLoad::finish() {
  std::uint64_t finished = 0;
  for (int slot = 0; slot < 2; ++slot) {
    if (!under_way_[slot]) continue;
    wait(slot);
    under_way_[slot] = false;
    finished += operations();
  }
  return finished;
}

std::unique_ptr<BackgroundLoad> deed_on(int ordinal, Beside beside) {
  make_current(ordinal);
  switch (beside) {
    case Beside::copies: return std::make_unique<Copies>();
    case Beside::kernels: return std::make_unique<Kernels>(ordinal);
    case Beside::launches: return std::make_unique<Launches>();
    case Beside::nobody:
    case Beside::idle: break;
  }
  throw Error(ErrorKind::usage, "a second process that does nothing needs no deed");
}

}  // namespace npgpu::cuda

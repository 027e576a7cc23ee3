// What a second process does on a GPU without end, so that the GPU always has work of it: two batches are under way at
// a time, each in streams of its own.
#pragma once

#include <cstdint>
#include <memory>

#include "npgpu/beside.hpp"

namespace npgpu::cuda {

// Works on the GPU that was current when it was made. Everything throws Error.
class BackgroundLoad {
 public:
  virtual ~BackgroundLoad() = default;
  // Enqueues a batch, and waits for the one before. How many operations that one had; 0 for the first.
  std::uint64_t once();
  // Waits for all that is under way. How many operations these were.
  std::uint64_t finish();

 protected:
  virtual void enqueue(int slot) = 0;
  virtual void wait(int slot) = 0;
  virtual std::uint64_t operations() const = 0;  // of a batch

 private:
  int next_ = 0;
  bool under_way_[2] = {false, false};
};

// copies: of 16 MiB from pinned memory and back. kernels: multiply-adds in two blocks of 1024 threads for each
// multiprocessor, for about 1 ms. launches: of empty kernels.
std::unique_ptr<BackgroundLoad> deed_on(int ordinal, Beside);

}  // namespace npgpu::cuda

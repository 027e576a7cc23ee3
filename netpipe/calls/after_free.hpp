// What follows memory that is freed: the driver clears it, and reads of the device's memory take longer meanwhile.
#pragma once

#include <cstdint>

#include "netpipe/calls/owners.hpp"
#include "netpipe/devices/cuda/handles.hpp"

namespace npgpu::cuda {

class AfterFree {
 public:
  explicit AfterFree(int ordinal);
  ~AfterFree();

  struct Seen {
    Seconds host{0};               // until the free returned
    Seconds done{0};               // until reads took no longer than before; `host` where none did
    double slowed = not_measured;  // the median of reads meanwhile over those before; NaN: none took longer
  };
  // Takes the memory, frees it, and reads. Throws Error.
  Seen measure(Call, std::uint64_t bytes);

 private:
  void take(Call, std::uint64_t bytes);
  void give_back(Call);
  Seconds read();
  Seconds usual_read();

  int ordinal_;
  unsigned blocks_;
  Stream stream_;
  Event begin_, end_;
  Buffer memory_, word_;  // that is read; that no read writes
  Pool pool_;
  std::uint64_t in_pool_ = 0;
  void* taken_ = nullptr;
};

}  // namespace npgpu::cuda

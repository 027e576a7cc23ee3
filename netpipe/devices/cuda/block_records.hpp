// What the blocks of one launch record: when each began and ended by its multiprocessor's clock, and where it ran.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "netpipe/devices/cuda/handles.hpp"

namespace npgpu::cuda {

struct BlockRecord {
  std::uint64_t begin = 0;  // clock64, which all blocks of one multiprocessor share
  std::uint64_t end = 0;
  std::uint32_t unit = 0;     // %smid
  std::uint32_t written = 0;  // the launch's number, by which a block that wrote nothing is found
};

struct BlockReadback {
  // Of the multiprocessor that took longest, from its first block's begin to its last one's end. One block's own time
  // is less: its schedulers serve older warps first, and younger ones begin late.
  double cycles = 0;
  std::uint32_t units = 0;               // distinct multiprocessors
  std::uint32_t max_blocks_on_unit = 0;  // blocks that one of them ran, at once or in turn
};

// Throws Error(failed) if a block did not write in this launch.
BlockReadback read_back(std::span<const BlockRecord>, std::uint32_t launch);

// The records' memory, on the device and where the host reads them. Belongs to the device that is current.
class BlockRecords {
 public:
  // For a launch of so many blocks in this stream; the pointer is the kernel's, the number what each block writes. New
  // memory is cleared in the same stream: nothing orders another stream's work before the kernel.
  BlockRecord* begin(std::uint32_t blocks, cudaStream_t);
  std::uint32_t launch() const { return launch_; }
  // After the launch, which must be the stream's last work.
  BlockReadback end(cudaStream_t);

 private:
  Buffer device_;
  Buffer host_;
  std::uint32_t blocks_ = 0;
  std::uint32_t launch_ = 0;
};

}  // namespace npgpu::cuda

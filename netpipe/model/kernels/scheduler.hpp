// The schedulers of a multiprocessor, which issue the instructions of its warps.
#pragma once

#include <functional>

namespace npgpu::model {

struct ScheduledBlocks {
  double blocks = 1, resident = 1;  // of a multiprocessor, in all and at once
  int block_warps = 1;
  int schedulers = 4;  // 8 at most
  double filling = 1;  // warps in flight that leave no cycle of a scheduler free
};

// How long these blocks take, in the time of an operation, where each warp issues operations that wait for one another.
// `operation` is the time of one while so many warps of a scheduler are in flight. Warps go to schedulers in turn. A
// scheduler serves its oldest block first, and the warps of a block alike: 420 kernels of an H200 ran like that
// (tests/bench/frozen_shapes.cu). Three blocks of one warp each take twice as long as two, if two fill the scheduler.
double operations_of(const ScheduledBlocks&, const std::function<double(double)>& operation);

}  // namespace npgpu::model

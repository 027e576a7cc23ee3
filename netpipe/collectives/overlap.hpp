// A kernel that a GPU runs, launch after launch, while it takes part in operations of several GPUs: what each costs the
// other.
#pragma once

#include <memory>
#include <optional>

#include "netpipe/devices/cuda/handles.hpp"
#include "npgpu/collective.hpp"

namespace npgpu::collectives {

class BesideKernel {
 public:
  // `which` is not none. A launch takes about a fifth of a millisecond. Throws Error.
  BesideKernel(int ordinal, CollectiveOverlap which);

  // A launch, with nothing else on the GPU. Waits.
  Seconds alone();
  // Launches for a tenth of a second are enqueued.
  void start();
  // Ends them, and waits. A launch of those that ran meanwhile; nothing if all were over before.
  std::optional<Seconds> stop();
  // Waits. Its results were right.
  bool is_right();

 private:
  void reset();
  void launch(unsigned number);
  std::optional<Seconds> mean_launch(unsigned launches);

  int ordinal_;
  CollectiveOverlap which_;
  cuda::Stream stream_, control_;
  cuda::Buffer from_, to_;  // of the copy
  cuda::Buffer state_, host_;
  unsigned multiprocessors_ = 0;
};

}  // namespace npgpu::collectives

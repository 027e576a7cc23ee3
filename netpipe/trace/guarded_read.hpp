// HDF5 can crash or hang on a damaged file. A child process goes first.
#pragma once

#include <functional>
#include <string>

#include "npgpu/units.hpp"

namespace npgpu::trace {

struct GuardedRead {
  enum class Outcome {
    well,   // came to its end; or no child could be made, and the caller reads as everybody else does
    threw,  // text: what the exception said
    died,   // text: "Segmentation fault", "it does not end"
  } outcome = Outcome::well;
  std::string text;
};

// Runs `read` in a forked child, whose memory is a copy of ours: what it survives, we survive. It may take so much
// processor time; what takes more, does not end.
GuardedRead guarded_read(const std::function<void()>& read, Seconds max_processor_time);

}  // namespace npgpu::trace

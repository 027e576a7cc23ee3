// Templates of the programs that the advice is printed as. @words@ of theirs are replaced.
#pragma once

#include <string>

namespace npgpu {

struct CodeTemplate {
  std::string head;                        // up to how a job is made of copies and kernels
  std::string breadth_first, depth_first;  // the job, in either order
  std::string tail;                        // what makes the buffers, and times the job
  const char* comment;                     // that a line of comment begins with
};

CodeTemplate cuda_code();
CodeTemplate cupy_code();
CodeTemplate torch_code();

}  // namespace npgpu

// A file that lists jobs: predict --jobs.
#pragma once

#include <string>
#include <vector>

#include "npgpu/simulate.hpp"

namespace npgpu::cli {

struct ListedJob {
  std::string name;
  Job job;
  std::uint32_t threads = 0;  // of a block; 0: not said
};
// Of a csv file with a header, or a JSON array of objects. The columns are bytes_in, kernel_ms and bytes_out, each of
// which a job may lack or have empty, and name, blocks and threads (also with - for _). Throws Error(usage) naming
// file, row and column.
std::vector<ListedJob> read_job_list(const std::string& path);

}  // namespace npgpu::cli

#include "netpipe/report/case_name.hpp"

#include "netpipe/model/overview/parts.hpp"

namespace npgpu {

std::string case_name(const TransferCase& c) {
  const bool by_kernel = c.module == "cudaKernel" && c.executor == Executor::sm_kernel;
  const bool is_named =
      c.direction == Direction::h2h || c.module == "cudaMemcpy" || c.module == "simulated" || by_kernel;
  std::string text = (is_named ? "" : c.module + ": ") + model::full_copy_name(c);
  if (!c.more_lanes.empty()) text += ": " + lanes_text(c.more_lanes);
  return text;
}

}  // namespace npgpu

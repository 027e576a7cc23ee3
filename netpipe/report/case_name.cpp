#include "netpipe/report/case_name.hpp"

#include "netpipe/model/overview/parts.hpp"

namespace npgpu {

std::string case_name(const TransferCase& c) {
  const bool by_kernel = c.module == "cudaKernel" && c.executor == Executor::sm_kernel;
  const bool is_named =
      c.direction == Direction::h2h || c.module == "cudaMemcpy" || c.module == "simulated" || by_kernel;
  std::string text = (is_named ? "" : c.module + ": ") + model::copy_name(c);
  const auto add = [&](std::string_view word) { text += ", " + std::string(word); };
  if (c.async && c.timing == Timing::event) add("events");
  if (c.direction == Direction::peer && c.access != Access::staged) add(name(c.access));
  if (c.pattern != Pattern::stream && c.pattern != Pattern::duplex && c.pattern != Pattern::pingpong)
    add(name(c.pattern));
  if (!c.more_lanes.empty()) text += ": " + lanes_text(c.more_lanes);
  return text;
}

}  // namespace npgpu

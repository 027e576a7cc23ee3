#include "netpipe/collectives/process_service.hpp"

#include "npgpu/registry.hpp"

namespace npgpu::collectives {

std::optional<int> serve() {
  for (const auto& one : registered<ProcessService>()) return one->serve();
  return std::nullopt;
}

}  // namespace npgpu::collectives

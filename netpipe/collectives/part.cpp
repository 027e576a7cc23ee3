#include <fmt/format.h>

#include "netpipe/collectives/values.hpp"

namespace npgpu::collectives {

Part part_of(const Step<Collectives>& step, std::uint64_t n, std::uint64_t rank) {
  const CollectiveOperation operation = step.question.operation;
  const std::uint64_t whole = step.axes.bytes / element_bytes(step.question.type);
  const std::uint64_t block = has_blocks(operation) ? whole / n : whole;
  const bool is_root = rank == 0;
  const auto from = [](std::uint64_t other) { return static_cast<std::int32_t>(other); };
  switch (operation) {
    case CollectiveOperation::all_reduce: return {whole, whole, 0, 0, {{0, whole, Expected::all, 0}}};
    case CollectiveOperation::reduce:
      if (!is_root) return {whole, 0};
      return {whole, whole, 0, 0, {{0, whole, Expected::all, 0}}};
    case CollectiveOperation::reduce_scatter:
      return {whole, block, 0, rank * block, {{0, block, Expected::all, rank * block}}};
    case CollectiveOperation::broadcast: return {is_root ? whole : 0, whole, 0, 0, {{0, whole, 0, 0}}};
    case CollectiveOperation::send_receive: return {whole, whole, 0, 0, {{0, whole, from((rank + n - 1) % n), 0}}};
    case CollectiveOperation::scatter: return {is_root ? whole : 0, block, 0, 0, {{0, block, 0, rank * block}}};
    default: break;
  }
  Part part{block, whole, rank * block, 0};
  if (operation == CollectiveOperation::all_to_all) part = {whole, whole};
  if (operation == CollectiveOperation::gather && !is_root) return {block, 0};
  for (std::uint64_t other = 0; other < n; ++other) {
    const std::uint64_t first = operation == CollectiveOperation::all_to_all ? rank * block : 0;
    part.expected.push_back({other * block, block, from(other), first});
  }
  return part;
}

std::optional<std::string> verdict_of(const Step<Collectives>& step, const std::vector<WrongElements>& found,
                                      std::span<CollectiveSample> last_trial) {
  const auto gpus = devices_of(step.question);
  std::optional<std::string> wrong;
  for (std::size_t lane = 0; lane < found.size(); ++lane) {
    const WrongElements& one = found[lane];
    last_trial[lane].intact = one.count == 0 ? 1 : 0;
    if (one.count == 0) continue;
    const auto elements = part_of(step, gpus.size(), lane).result;
    if (wrong) *wrong += ", and others on " + gpus[lane];
    else
      wrong = fmt::format("on {} {} of {} elements are wrong; number {} is {:#x}, expected {:#x}", gpus[lane],
                          one.count, elements, one.first, one.found, one.expected);
  }
  return wrong;
}

}  // namespace npgpu::collectives

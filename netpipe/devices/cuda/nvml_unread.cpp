#include "netpipe/devices/cuda/nvml_unread.hpp"

#include <fmt/format.h>

namespace npgpu::cuda::nvml {

namespace {

bool is_not_had(Result result) {
  return result == not_supported || result == no_function || result == function_not_found;
}

bool is_of_the_device(Result result) { return result == gpu_is_lost || result == reset_required; }

}  // namespace

std::string reason_text(Result result) {
  switch (result) {
    case not_supported: return "not supported";
    case no_permission: return "no permission";
    case no_function:
    case function_not_found: return "not in this driver";
    case gpu_is_lost: return "lost";
    case reset_required: return "needs a reset";
    case timeout: return "timeout";
    default: return fmt::format("error {} ({})", result, library().text_of(result));
  }
}

bool Unread::note(const std::string& group, Result result) {
  Group& of = groups_[group];
  if (result == success) return of.is_answered = true;
  if (of.first == success) of.first = result;
  const bool is_graver = of.gravest == success || (is_of_the_device(result) && !is_of_the_device(of.gravest));
  if (!is_not_had(result) && is_graver) of.gravest = result;
  return false;
}

Facts Unread::facts() const {
  Facts facts;
  Result device = success;
  for (const auto& [name, group] : groups_) {
    if (is_of_the_device(group.gravest)) device = group.gravest;
    if (group.gravest != success) facts.emplace_back("unread_" + name, reason_text(group.gravest));
    else if (!group.is_answered) facts.emplace_back("unread_" + name, reason_text(group.first));
  }
  if (device != success) facts.emplace_back("unread_device", reason_text(device));
  return facts;
}

}  // namespace npgpu::cuda::nvml

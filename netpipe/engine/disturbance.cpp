#include "npgpu/disturbance.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>
#include <vector>

namespace npgpu {

std::string causes_text(std::uint32_t causes) {
  static constexpr std::array<std::pair<Cause, const char*>, 10> words{
      {{Cause::host_busy, "others used the host's processors"},
       {Cause::cpu_steal, "the virtual machine's host took processors"},
       {Cause::core_shared, "no core of its own"},
       {Cause::device_busy, "another process used the device"},
       {Cause::link_busy, "others' bytes went over the link"},
       {Cause::throttled, "the device held its clocks back"},
       {Cause::clock_changed, "the device's clock changed"},
       {Cause::memory_freed, "another process freed device memory, which the driver cleared"},
       {Cause::siblings, "other devices of the node were measured at the same time"},
       {Cause::host_limited, "a CPU quota stopped this process"}}};
  std::string text;
  for (const auto& [cause, what] : words)
    if (causes & static_cast<std::uint32_t>(cause)) text += (text.empty() ? "" : ", ") + std::string(what);
  return text;
}

std::string disturbance_text(std::uint32_t causes, const std::set<std::string>& by) {
  if (!causes) return "";
  // A kernel's threads of all processors are one: migration/0 (18), migration/11 (71).
  std::map<std::string, std::vector<std::string>> alike;
  for (const std::string& one : by) alike[one.substr(0, one.find('/'))].push_back(one);
  std::vector<std::string> programs;
  for (const auto& [program, all] : alike)
    programs.push_back(all.size() == 1 ? all[0] : fmt::format("{} ({} of them)", program, all.size()));
  if (programs.empty()) return causes_text(causes);
  constexpr std::size_t most = 3;
  const std::string more = programs.size() > most ? fmt::format(", and {} more", programs.size() - most) : "";
  if (!more.empty()) programs.resize(most);
  return fmt::format("{}; most of all by {}{}", causes_text(causes), fmt::join(programs, ", "), more);
}

}  // namespace npgpu

#include "npgpu/disturbance.hpp"

#include <array>
#include <utility>

namespace npgpu {

std::string causes_text(std::uint32_t causes) {
  static constexpr std::array<std::pair<Cause, const char*>, 7> words{
      {{Cause::host_busy, "others used the host's processors"},
       {Cause::host_taken, "the virtual machine's host took processors"},
       {Cause::core_shared, "no core of its own"},
       {Cause::device_busy, "another process used the device"},
       {Cause::link_busy, "others' bytes went over the link"},
       {Cause::throttled, "the device held its clocks back"},
       {Cause::clock_changed, "the device's clock changed"}}};
  std::string text;
  for (const auto& [cause, what] : words)
    if (causes & static_cast<std::uint32_t>(cause)) text += (text.empty() ? "" : ", ") + std::string(what);
  return text;
}

std::string disturbance_text(std::uint32_t causes, const std::set<std::string>& by) {
  std::string text = causes_text(causes);
  const char* before = "; most of all by ";
  for (const std::string& one : by) text += before + one, before = ", ";
  return causes ? text : "";
}

}  // namespace npgpu

// What other processes and machines did during a measurement.
//
// Example:
//   const auto watch = npgpu::devices::watch("host");  // or cuda:0; null: others cannot be seen
//   watch->begin();
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");  // or what is to be measured
//   const npgpu::Disturbance seen = watch->end();
//   if (seen.causes == 0) std::cout << "undisturbed\n";
//   else std::cout << npgpu::causes_text(seen.causes) << "; most of all by " << seen.by << '\n';
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace npgpu {

// A disturbance of a visit that could be seen. A visit's `disturbed` is the sum of its causes.
enum class Cause : std::uint32_t {
  host_busy = 1,       // other processes had the processors
  cpu_steal = 2,       // the host of this virtual machine had them
  core_shared = 4,     // no core was found on which nobody else computed
  device_busy = 8,     // another process used the GPU
  link_busy = 16,      // others' bytes went over the link
  throttled = 32,      // the device held its clocks back
  clock_changed = 64,  // the device's clock was another than in the point's other visits
  memory_freed = 128,  // another process freed device memory, which the driver then cleared
  siblings = 256,      // other devices of this node were measured meanwhile
  host_limited = 512   // a CPU quota (cgroup) stopped this process
};
inline constexpr std::string_view cause_codes =
    "sum of 1 others used the host's processors, 2 the virtual machine's host took them, 4 no core of its own, "
    "8 another process used the device, 16 others' bytes on the link, 32 throttled, 64 another clock than in other "
    "visits, 128 another process freed device memory, which the driver cleared, 256 other devices of the node were "
    "measured meanwhile, 512 stopped by a CPU quota";
// "others used the host's processors, the device's clock changed"
std::string causes_text(std::uint32_t causes);

// "others used the host's processors; most of all by python3 (4711), migration (2 of them)", with up to three programs.
// Empty where there are no causes.
std::string disturbance_text(std::uint32_t causes, const std::set<std::string>& by);

// What others did while something was measured.
struct Disturbance {
  std::uint32_t causes = 0;
  std::string by{};  // the process that took most: "python3 (4711)"; empty if not known
};

// Looks for others on a device: processes, and users of its link or processors.
class DeviceWatch {
 public:
  virtual ~DeviceWatch() = default;
  virtual void begin() = 0;  // a visit begins
  // The visit has ended: what others did in it, as far as that can be seen. REQUIRES: begin(), and the device is idle
  // again.
  virtual Disturbance end() = 0;
  // Why some of what others do cannot be seen; empty if all of it can. REQUIRES: end().
  virtual std::string cannot_see() const { return {}; }
};

}  // namespace npgpu

// Whether other processes used a GPU or its link while something was measured.
//
// What it rests on. NVML lists the processes that have a context on the GPU. If there is none but this one, nobody is
// asked for more. Another one disturbs if NVML counts that its kernels ran or that it moved memory; NVML takes that
// count a few times a second, so a process is held for busy until it is known to be idle. Copies over the link are seen
// between visits, while this process moves nothing: what goes over it then is others'. Under MPS a server does the work
// of all processes; NVML lists them, too, on an H200 with driver 580.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "netpipe/devices/nvml/nvml.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cuda {

class Watch final : public DeviceWatch {
 public:
  // What it looks with.
  struct Eyes {
    long own_pid = 0;
    std::function<Seconds()> now;
    std::function<void(Seconds)> wait;
    std::function<std::optional<std::vector<long>>()> processes;  // as nvml::Device's
    std::function<std::optional<std::vector<nvml::Use>>()> uses;  // since they were last asked
    std::function<std::optional<nvml::LinkBytes>()> link_bytes;
    std::function<std::string(long pid)> name;
    std::function<bool(long pid)> is_ours = [](long) { return false; };  // a second process of this program
    // It works for others on the GPU: the server of MPS.
    std::function<bool(long pid)> is_server = [](long) { return false; };
    // Device memory by process, and who wants to know that others freed so much of it.
    std::function<std::optional<std::map<long, std::uint64_t>>()> memory = [] { return std::nullopt; };
    std::function<void(std::uint64_t)> freed = [](std::uint64_t) {};
    std::string blind{};  // why NVML cannot be asked; empty if it can
  };
  explicit Watch(Eyes eyes) : eyes_(std::move(eyes)) {}

  void begin() override;
  Disturbance end() override;
  std::string cannot_see() const override;

  // A process with a context but without a count is held for busy so long.
  static constexpr Seconds unknown_time{1.5};
  // A count speaks for so long before it and after.
  static constexpr Seconds of_a_count{0.5};
  // The link is looked at for so long, and no more often than that.
  static constexpr Seconds link_look{1e-3}, link_rest{0.05};
  // Others' bytes a second that disturb. An idle link of an H200 carried some 20 kB a look, short or long.
  static constexpr double link_noise_per_s = 100e6;
  // Less memory that others free is cleared before it can be seen in a figure.
  static constexpr std::uint64_t much_freed = 256 * MiB;

 private:
  struct Other {
    Seconds first_seen{0};
    std::optional<Seconds> busy_at;  // when a count last said so
    bool is_known = false;           // there was a count
  };
  bool is_own(long pid) const { return pid == eyes_.own_pid || eyes_.is_ours(pid); }
  // What a server does is ours where nobody else is there for whom it could be.
  bool is_ours(long pid) const { return is_own(pid) || (serves_us_alone_ && eyes_.is_server(pid)); }
  void look();
  bool is_busy(const Other& other, Seconds now) const;
  bool is_link_used(Seconds now);
  bool others_freed();  // since the last look

  Eyes eyes_;
  std::map<long, Other> others_;
  std::uint64_t bytes_of_others_ = 0;
  bool lists_ = true;      // NVML lists processes
  bool lists_us_ = false;  // this one among them, so others too
  bool serves_us_alone_ = false;
  bool counts_ = true;       // and says how much each of them used
  bool counts_link_ = true;  // the driver counts the link's bytes
  Seconds link_looked_at_{-1e9};
  bool link_was_used_ = false;
};

}  // namespace npgpu::cuda

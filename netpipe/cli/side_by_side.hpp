// GPUs measured at once, each by a process of its own: this program again, for that device alone, into a trace of its
// own, which the campaign takes over. Processes, and not threads, so that no call into the driver waits for
// another GPU's. Starting CUDA takes as long as a third of a short check: so the processes do it while this one does.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "netpipe/process/child.hpp"
#include "npgpu/measuring/campaign.hpp"

namespace npgpu::cli {

class SideBySide final : public GpuProcesses {
 public:
  explicit SideBySide(std::string output);  // the campaign's trace
  ~SideBySide() override;                   // stops processes that are left, and waits for them
  SideBySide(const SideBySide&) = delete;
  SideBySide& operator=(const SideBySide&) = delete;

  // Starts a process for each of these that has none, as this program was started. Each does all that comes before its
  // first point, and waits for run(). Throws Error if one cannot be started.
  void prepare(const std::vector<std::string>& devices);
  // Lets those of these devices measure, and returns when they have ended, in the order of `devices`; others end. When
  // `stop` says so they are to save what they have, and end. Throws as prepare() does.
  std::vector<Part> run(const std::vector<std::string>& devices, const std::function<bool()>& stop) override;

 private:
  struct Process;
  void start(const std::string& device);
  void tell_to_stop() const;
  void look();
  std::string output_;
  process::Turn turn_;  // at what the host has once
  std::vector<std::unique_ptr<Process>> processes_;
};

// Where this process is one of those: it also stops when the one that started it is gone, however that ended.
void stop_with_parent();
bool is_one_of_several();  // after stop_with_parent(), until it may measure
// For Settings::host_turn; empty where it is not.
std::function<std::shared_ptr<void>(HostShare)> turns_of_several();
// Where it is, returns when the one that started it lets it measure, or `stop` says so.
void begin_with_parent(const std::function<bool()>& stop);

}  // namespace npgpu::cli

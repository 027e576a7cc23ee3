// What of a GPU could not be read, and why: facts `unread_<group>`, as data/TRACE_FORMAT.md lists them.
#pragma once

#include <map>
#include <string>

#include "netpipe/devices/cuda/nvml_library.hpp"
#include "npgpu/device.hpp"

namespace npgpu::cuda::nvml {

// "not supported", "no permission", "not in this driver", "lost", "needs a reset", "timeout"; "error 999 (Unknown
// Error)" of all others.
std::string reason_text(Result);

class Unread {
 public:
  // A question of this group was answered so. Returns whether it has an answer.
  bool note(const std::string& group, Result);
  template <class T> const Answer<T>& note(const std::string& group, const Answer<T>& answer) {
    (void)note(group, answer.result);
    return answer;
  }
  // Of groups of which no question was answered: the reason. A group that has some answers has others that this GPU
  // does not support: no word of these, but of what else failed. Also `unread_device`, where NVML said that the GPU is
  // lost or needs a reset.
  Facts facts() const;

 private:
  struct Group {
    bool is_answered = false;
    Result first = success;    // of those that failed
    Result gravest = success;  // of those that failed though the GPU and this driver have them
  };
  std::map<std::string, Group> groups_;
};

}  // namespace npgpu::cuda::nvml

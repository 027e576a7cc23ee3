// One writer a trace: <path>.lock, held as long as the object lives.
#pragma once

#include <filesystem>
#include <string>

#include "netpipe/trace/files.hpp"

namespace npgpu::trace {

// The lock is the kernel's (fcntl, by open file), so a killed holder's is gone with it; the file that it leaves behind
// means nothing. It is removed when the lock is released, by its holder only. Its text names the holder, for messages.
//
// Where the file system has no locks, the file itself is the lock: it is taken over if its holder ran on this host and
// is dead, otherwise it has to be removed by hand, and the message says so.
class Lock {
 public:
  // Error(usage) naming the holder if somebody has it, or saying why it cannot be taken.
  explicit Lock(const std::filesystem::path& path);
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  bool attempt();  // false if somebody released or removed it at the same moment
  std::string why_not_opened(int error) const;
  [[noreturn]] void refuse(const std::string& why) const;

  std::filesystem::path path_;
  std::filesystem::path file_;
  Descriptor fd_;
};

}  // namespace npgpu::trace

// One writer a trace: <path>.lock, held as long as the object lives.
#pragma once

#include <filesystem>
#include <string>

#include "netpipe/trace/files.hpp"

namespace npgpu::trace {

// The lock is the kernel's (fcntl, by open file), so a killed holder's is gone with it; the file that it leaves behind
// means nothing. The file has its holder's name in it before it has its own, and is removed when the lock is released,
// by its holder only. A file of that name that no npgpu wrote is refused, and left alone.
//
// Where the file system has no locks, the file itself is the lock: it is taken over if its holder ran on this host and
// is gone, otherwise it has to be removed by hand, and the message says so.
class Lock {
 public:
  // Error(usage) naming the holder if somebody has it, or saying why it cannot be taken.
  explicit Lock(const std::filesystem::path& path);
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  bool create();     // false if the name is taken
  bool take_away();  // a lock that is nobody's; false if its name stands for another one meanwhile
  std::string why_not_opened(int error) const;
  [[noreturn]] void refuse(const std::string& why) const;

  std::filesystem::path path_;
  std::filesystem::path file_;
  Descriptor fd_;
};

}  // namespace npgpu::trace

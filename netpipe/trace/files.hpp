// Traces as files: reading one whole, and the lock of its writer. Every system call is checked; everything throws Error
// naming the file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "netpipe/files/output.hpp"
#include "netpipe/process/descriptor.hpp"

namespace npgpu::trace {

using files::beside;
using files::folder_of;
using files::hidden_beside;
using files::Unfinished;
using process::Descriptor;
using process::retried;
using process::system_text;

// A file above this size is no trace of ours, and is not read into memory.
inline constexpr std::uintmax_t max_trace_bytes = std::uintmax_t{4} << 30;

// Throws Error(usage): the file's name, and why it is not taken.
[[noreturn]] void refuse(const std::filesystem::path&, const std::string& why);

// files::place_of(), and Error(usage) if something other than a plain file is there.
std::filesystem::path place_of_trace(const std::filesystem::path&);

// Whether it is a file that HDF5 wrote, as a trace is.
bool is_hdf5(const std::filesystem::path&);

// The whole file. Error(usage) if it is missing, no plain file, empty, too large or unreadable.
std::vector<std::byte> read_file(const std::filesystem::path&);

// Removes what a killed run left, and tries whether the folder can be written. Error(usage) if it cannot.
void try_folder(const std::filesystem::path&);

// One writer a trace: <path>.lock, held as long as the object lives.
//
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

  std::filesystem::path path_, file_;
  Descriptor fd_;
};

}  // namespace npgpu::trace

// The system calls of this folder. Every one is checked; everything throws Error naming the file.
#pragma once

#include <signal.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace npgpu::trace {

// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// "No space left on device", for errno values.
std::string system_text(int error);

// A file above this size is no trace of ours, and is not read into memory.
inline constexpr std::uintmax_t max_trace_bytes = std::uintmax_t{4} << 30;

// Throws Error(usage): the file's name, and why it is not taken.
[[noreturn]] void refuse(const std::filesystem::path&, const std::string& why);

// Where the file really lies: absolute, because the program may change its folder; and behind symbolic links, also to
// what does not exist yet, because the rename would replace the link. Error(usage) if no plain file can be there.
std::filesystem::path place_of(const std::filesystem::path&);

// The whole file. Error(usage) if it is missing, no plain file, empty, too large or unreadable.
std::vector<std::byte> read_file(const std::filesystem::path&);

// X.h5.lock beside X.h5, and .X.h5.npgpu-tmp.
std::filesystem::path beside(const std::filesystem::path&, const char* suffix);
std::filesystem::path hidden_beside(const std::filesystem::path&, const std::string& what);

// The folder that a path lies in, "." for a bare name.
std::filesystem::path folder_of(const std::filesystem::path&);

// Removes the file unless it is told to keep it; an empty path is none.
class Unfinished {
 public:
  explicit Unfinished(const std::filesystem::path& path) : path_(path) {}
  ~Unfinished();
  void keep() { kept_ = true; }

 private:
  const std::filesystem::path& path_;
  bool kept_ = false;
};

// While it lives, writing past a limit on file sizes is the error EFBIG, and not a signal that ends the program.
class FileSizeSignalBlocked {
 public:
  FileSizeSignalBlocked();
  ~FileSizeSignalBlocked();

 private:
  sigset_t signal_, before_;
};

// Replaces the file by these bytes, atomically and durably: written to .<name>.npgpu-tmp, fsync, rename, fsync of the
// folder. Keeps the permissions of the file it replaces. If anything fails, Error(failed) says so in one sentence, the
// file is as it was before and the other one is gone. Not to be called by two processes for one path at once: hold the
// Lock.
void replace_file(const std::filesystem::path&, std::span<const std::byte>);

// "what was saved before is intact", or that nothing is there any more: the end of a sentence about a failed save.
std::string what_is_there(const std::filesystem::path&);

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

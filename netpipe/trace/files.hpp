// The system calls of this folder. Every one is checked; everything throws Error naming the file.
#pragma once

#include <signal.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace npgpu::trace {

// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

// "No space left on device", for errno values.
std::string system_text(int error);

// A file above this size is no trace of ours, and is not read into memory.
inline constexpr std::uintmax_t max_trace_bytes = std::uintmax_t{4} << 30;

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
  sigset_t before_;
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

}  // namespace npgpu::trace

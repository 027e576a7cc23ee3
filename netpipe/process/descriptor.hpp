// A file descriptor with an owner, reading and writing it to the last byte, and pipes between processes of this program
// with messages through them.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "npgpu/vocabulary/units.hpp"

namespace npgpu::process {

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

// Calls again what a signal interrupted.
template <class Call> auto retried(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// "No space left on device", for errno values.
std::string system_text(int error);

// Writes them all, and waits for room where there is none. 0, or the errno value of what failed: no signal comes where
// a reader is gone (EPIPE) or at a limit on file sizes (EFBIG).
int write_all(int to, std::span<const std::byte>);
// Fills the span. False if the other end is gone before.
bool read_all(int from, std::span<std::byte>);
// Whether there is something to read within that time, be it the end.
bool is_readable(int from, Seconds within);

// One value as its bytes, between processes of one program. False if the other end is gone.
template <class T> bool put(int to, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return write_all(to, std::as_bytes(std::span(&value, 1))) == 0;
}
template <class T> bool get(int from, T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return read_all(from, std::as_writable_bytes(std::span(&value, 1)));
}

// Closed standard descriptors are opened on /dev/null, so that no file of this program gets their numbers and is
// written over by what it prints. Writing to one of them stays an error. For the first lines of main().
void keep_standard_descriptors();

// As long as this lives, standard output leads to standard error: what libraries print (NCCL its version and log) does
// not get between a program's results. The program prints nothing itself meanwhile.
class OutputToErrors {
 public:
  OutputToErrors();
  ~OutputToErrors();
  OutputToErrors(const OutputToErrors&) = delete;
  OutputToErrors& operator=(const OutputToErrors&) = delete;

 private:
  Descriptor output_;
};

// Both ends are closed in programs that this process starts, but for those that are given to them.
struct Pipe {
  Pipe();  // throws Error(failed) if the system makes none
  Descriptor read_end, write_end;
};

// What the numbers mean is between sender and reader.
struct Message {
  std::uint32_t kind = 0, number = 0;
  std::string text{};
};

// False if nobody reads any more.
bool send(int write_end, const Message&);

// Messages that come through a pipe, put together from what a read gives.
class Inbox {
 public:
  explicit Inbox(Descriptor read_end) : read_end_(std::move(read_end)) {}
  int descriptor() const { return read_end_.get(); }

  // Reads once, and waits if nothing has come. False at the end: all who could write have gone.
  bool read_some();
  // The next message that has come whole.
  std::optional<Message> next();

 private:
  struct Head {
    std::uint32_t kind, number;
    std::uint64_t bytes;  // that follow
  };
  friend bool send(int, const Message&);

  Descriptor read_end_;
  std::optional<Head> head_;
  std::string come_;  // behind the head, if there is one
};

}  // namespace npgpu::process

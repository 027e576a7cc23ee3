// A file descriptor with an owner, and the few calls around it that every folder needs.
#pragma once

#include <cerrno>
#include <string>
#include <utility>

namespace npgpu::files {

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

// What a file is called that is no plain one: "a folder", "a device", for the st_mode of stat().
std::string kind_text(unsigned mode);

// Closed standard descriptors are opened on /dev/null, so that no file of this program gets their numbers and is
// written over by what it prints. Writing to one of them stays an error. For the first lines of main().
void keep_standard_descriptors();

}  // namespace npgpu::files

#include "netpipe/files/descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

namespace npgpu::files {

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

std::string system_text(int error) { return std::generic_category().message(error); }

std::string kind_text(unsigned mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISREG(mode) ? "a plain file" : "no file";
}

void keep_standard_descriptors() {
  // open() takes the lowest free number, so each closed one is filled before the next is looked at.
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(standard, F_GETFD) < 0 && errno == EBADF)
      if (::open("/dev/null", standard == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
}

}  // namespace npgpu::files

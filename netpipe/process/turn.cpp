#include "netpipe/process/turn.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include "npgpu/error.hpp"

namespace npgpu::process {

namespace {

// Of a process, not of a descriptor: children that inherit it do not share it.
void lock(int fd, short type) {
  struct flock whole {};
  whole.l_type = type;
  whole.l_whence = SEEK_SET;
  retried([&] { return ::fcntl(fd, F_SETLKW, &whole); });
}

}  // namespace

Turn::Turn() : descriptor_(std::make_shared<Descriptor>(::memfd_create("npgpu-turn", MFD_CLOEXEC))) {
  if (!descriptor_->open()) throw Error(ErrorKind::failed, "processes cannot take turns: " + system_text(errno));
}

Turn::Turn(Descriptor inherited) : descriptor_(std::make_shared<Descriptor>(std::move(inherited))) {
  if (::fcntl(get(), F_GET_SEALS) < 0) throw Error(ErrorKind::failed, "the descriptor is of something else");
  (void)::fcntl(get(), F_SETFD, FD_CLOEXEC);
}

std::shared_ptr<void> Turn::take() const {
  lock(get(), F_WRLCK);
  return {nullptr, [kept = descriptor_](void*) { lock(kept->get(), F_UNLCK); }};
}

}  // namespace npgpu::process

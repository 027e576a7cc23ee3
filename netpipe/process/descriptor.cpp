#include "netpipe/process/descriptor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <system_error>

#include "npgpu/vocabulary/device.hpp"

namespace npgpu::process {

namespace {

// While it lives, a write that fails sends this thread no signal. A program that uses the library may not ignore them.
class SignalsOfWritesBlocked {
 public:
  SignalsOfWritesBlocked() {
    sigset_t all;
    ::sigemptyset(&all);
    for (const int number : {SIGPIPE, SIGXFSZ}) ::sigaddset(&all, number);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
    ::sigemptyset(&blocked_here_);
    for (const int number : {SIGPIPE, SIGXFSZ})
      if (::sigismember(&before_, number) == 0) ::sigaddset(&blocked_here_, number);
  }
  ~SignalsOfWritesBlocked() {
    const timespec at_once{};
    while (::sigtimedwait(&blocked_here_, nullptr, &at_once) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalsOfWritesBlocked(const SignalsOfWritesBlocked&) = delete;
  SignalsOfWritesBlocked& operator=(const SignalsOfWritesBlocked&) = delete;

 private:
  sigset_t before_, blocked_here_;
};

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

std::string system_text(int error) { return std::generic_category().message(error); }

int write_all(int to, std::span<const std::byte> bytes) {
  const SignalsOfWritesBlocked blocked;
  while (!bytes.empty()) {
    const ssize_t put = retried([&] { return ::write(to, bytes.data(), bytes.size()); });
    if (put < 0 && errno == EAGAIN) {  // somebody else made it so
      pollfd ready{to, POLLOUT, 0};
      ::poll(&ready, 1, -1);
      continue;
    }
    if (put <= 0) return put == 0 ? EIO : errno;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return 0;
}

bool read_all(int from, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = retried([&] { return ::read(from, bytes.data(), bytes.size()); });
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

bool is_readable(int from, Seconds within) {
  const SteadyClock clock;
  const Seconds end = clock.now() + within;
  for (;;) {
    const double left_ms = std::max(0.0, (end - clock.now()).count() * 1000);
    pollfd ready{from, POLLIN, 0};
    const int polled = ::poll(&ready, 1, left_ms > 0 ? static_cast<int>(left_ms) + 1 : 0);
    if (polled >= 0 || errno != EINTR) return polled > 0;
  }
}

void keep_standard_descriptors() {
  // open() takes the lowest free number, so each closed one is filled before the next is looked at.
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(standard, F_GETFD) < 0 && errno == EBADF)
      if (::open("/dev/null", standard == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
}

// What C's streams hold belongs to where they led when it was printed.
OutputToErrors::OutputToErrors() : output_(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
  std::fflush(stdout);
  if (output_.open()) ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

OutputToErrors::~OutputToErrors() {
  std::fflush(stdout);
  if (output_.open()) ::dup2(output_.get(), STDOUT_FILENO);
}

Pipe::Pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Error(ErrorKind::failed, "a pipe cannot be made: " + system_text(errno));
  read_end = Descriptor(ends[0]);
  write_end = Descriptor(ends[1]);
}

bool send(int write_end, const Message& message) {
  return put(write_end, Inbox::Head{message.kind, message.number, message.text.size()}) &&
         write_all(write_end, std::as_bytes(std::span(message.text))) == 0;
}

bool Inbox::read_some() {
  std::array<char, 65536> some;
  const ssize_t got = retried([&] { return ::read(read_end_.get(), some.data(), some.size()); });
  if (got <= 0) return false;
  come_.append(some.data(), static_cast<std::size_t>(got));
  return true;
}

std::optional<Message> Inbox::next() {
  if (!head_ && come_.size() >= sizeof(Head)) {
    std::memcpy(&head_.emplace(), come_.data(), sizeof(Head));
    come_.erase(0, sizeof(Head));
  }
  if (!head_ || come_.size() < head_->bytes) return std::nullopt;
  Message message{head_->kind, head_->number};
  std::string rest = come_.substr(head_->bytes);
  come_.resize(head_->bytes);
  message.text = std::exchange(come_, std::move(rest));
  head_.reset();
  return message;
}

}  // namespace npgpu::process

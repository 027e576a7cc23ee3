#include "netpipe/process/pipe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "npgpu/error.hpp"

namespace npgpu::process {

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

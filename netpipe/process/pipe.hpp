// Pipes between processes of this program, and messages through them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "netpipe/process/descriptor.hpp"

namespace npgpu::process {

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

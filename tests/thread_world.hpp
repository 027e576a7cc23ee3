// Ranks that are threads of one process, for tests: messages are copied, in order, and a fault can be planted.
#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "netpipe/ranks/world.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::tests {

class Post {
 public:
  // The k-th payload (from 0) on the way between these two has one of its bytes changed.
  struct Fault {
    int from = -1, to = -1;
    std::uint64_t payload = 0, byte = 0;
  } fault;

  void put(int from, int to, ranks::Tag tag, std::vector<std::byte> message) {
    const std::lock_guard guard(mutex_);
    if (tag == ranks::Tag::payload && from == fault.from && to == fault.to && payloads_++ == fault.payload)
      message[fault.byte] ^= std::byte{0xff};
    boxes_[{from, to, tag}].push_back(std::move(message));
    came_.notify_all();
  }
  std::vector<std::byte> get(int from, int to, ranks::Tag tag) {
    std::unique_lock guard(mutex_);
    auto& box = boxes_[{from, to, tag}];
    came_.wait(guard, [&] { return closed_ || !box.empty(); });
    if (box.empty()) throw Error(ErrorKind::failed, "another rank has failed");
    std::vector<std::byte> message = std::move(box.front());
    box.pop_front();
    return message;
  }
  // A rank has failed: who waits for a message waits no longer.
  void close() {
    const std::lock_guard guard(mutex_);
    closed_ = true;
    came_.notify_all();
  }
  std::optional<std::uint64_t> size_of_next(int from, int to, ranks::Tag tag) {
    const std::lock_guard guard(mutex_);
    const auto& box = boxes_[{from, to, tag}];
    if (box.empty() && closed_) throw Error(ErrorKind::failed, "another rank has failed");
    if (box.empty()) return std::nullopt;
    return box.front().size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::map<std::tuple<int, int, ranks::Tag>, std::deque<std::vector<std::byte>>> boxes_;
  std::uint64_t payloads_ = 0;
  bool closed_ = false;
};

// Used by one thread. Sends are done at once; a receive that was begun is done when it is waited for.
class ThreadWorld final : public ranks::World {
 public:
  ThreadWorld(Post& post, int rank, int size) : post_(post), rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void send(const void* from, std::uint64_t bytes, int to, ranks::Tag tag) override {
    const auto* first = static_cast<const std::byte*>(from);
    post_.put(rank_, to, tag, {first, first + bytes});
  }
  void receive(void* to, std::uint64_t bytes, int from, ranks::Tag tag) override {
    const std::vector<std::byte> message = post_.get(from, rank_, tag);
    if (message.size() > bytes) throw Error(ErrorKind::failed, "message truncated");
    if (!message.empty()) std::memcpy(to, message.data(), message.size());
  }
  ranks::Request begin_send(const void* from, std::uint64_t bytes, int to, ranks::Tag tag) override {
    send(from, bytes, to, tag);
    return {0};
  }
  ranks::Request begin_receive(void* to, std::uint64_t bytes, int from, ranks::Tag tag) override {
    begun_.push_back({to, bytes, from, tag});
    return {begun_.size()};
  }
  void wait(ranks::Request& request) override {
    if (request.raw == 0) return;
    const Begun& one = begun_[request.raw - 1];
    receive(one.to, one.bytes, one.from, one.tag);
    request.raw = 0;
  }
  bool is_done(ranks::Request& request) override {
    wait(request);
    return true;
  }
  std::optional<std::uint64_t> coming(int from, ranks::Tag tag) override {
    return post_.size_of_next(from, rank_, tag);
  }
  [[noreturn]] void abort(int) override { throw Error(ErrorKind::failed, "aborted"); }
  std::string library() const override { return "threads"; }
  bool takes_device_memory() const override { return false; }

 private:
  struct Begun {
    void* to;
    std::uint64_t bytes;
    int from;
    ranks::Tag tag;
  };
  Post& post_;
  int rank_, size_;
  std::vector<Begun> begun_;
};

}  // namespace npgpu::tests

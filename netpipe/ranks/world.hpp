// The processes of a parallel job, and messages between them. The program is not linked with MPI or UCX: each is called
// in a library of its own (mpi.cpp, ucx.cpp), which is opened when it is asked for. Tests have a world of threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "npgpu/vocabulary/units.hpp"

namespace npgpu::ranks {

// What a message is for: messages of different tags never meet.
enum class Tag : int { payload = 1, control = 2, ack = 3 };

// An operation that was begun and not yet waited for.
struct Request {
  std::uint64_t raw = 0;
};

// Messages between two ranks with the same tag arrive in the order in which they were sent. Everything throws
// Error(failed) with the library's words. One thread of a process uses it.
class World {
 public:
  // A message has an int for its number of bytes.
  static constexpr std::uint64_t max_message_bytes = INT32_MAX;

  virtual ~World() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  virtual void send(const void* from, std::uint64_t bytes, int to, Tag) = 0;
  virtual void receive(void* to, std::uint64_t bytes, int from, Tag) = 0;
  virtual Request begin_send(const void* from, std::uint64_t bytes, int to, Tag) = 0;
  virtual Request begin_receive(void* to, std::uint64_t bytes, int from, Tag) = 0;
  virtual void wait(Request&) = 0;
  virtual bool is_done(Request&) = 0;  // true: as waited for
  // The size of the next message of `from` with that tag, if it has come.
  virtual std::optional<std::uint64_t> coming(int from, Tag) = 0;

  // Ends all ranks with this exit code; for a rank that cannot reach the others in any other way.
  [[noreturn]] virtual void abort(int exit_code) = 0;
  // Called by all at the end, and returns when all have come. Nothing is sent afterwards, and nothing aborted.
  virtual void end() {}
  virtual std::string library() const = 0;       // "Open MPI v4.1.6, ..."
  virtual bool takes_device_memory() const = 0;  // the library says that buffers may be in a GPU's memory
};

// A world that begins within another one. Its library starts no processes: the launcher's world has started them,
// carries their addresses, and ends them. Until all are connected no message may be sent.
class AddressedWorld : public World {
 public:
  virtual std::string address() const = 0;                              // bytes by which other ranks reach this one
  virtual void connect(const std::vector<std::string>& addresses) = 0;  // those of all ranks, in their order
};

// The world that MPI gives; opened, and MPI initialized, when it is first asked for. Throws Error(usage) where the
// library of this build is missing, in a sentence that begins with what `asked` for it. MPI begins when all ranks of
// the job have: where it has not after `patience`, because one of them never does, the process ends with one sentence
// and exit code 1.
World& world(Seconds patience = Seconds{60}, const std::string& asked = "--module mpi");
// It was asked for, there is one, and it has not ended.
bool is_open();
// Ends it, if it is open, and what world_over() gave. Where another rank has not come after `patience`, the process
// ends with one sentence and exit code 1.
void end(Seconds patience);
// The world of another module than mpi, in its library libnpgpu_<module>.so. Throws Error(usage) as world() does.
AddressedWorld& world_over(World& launcher, std::string_view module);

}  // namespace npgpu::ranks

// What the libraries have, the first MPI's and the second any other one; NPmpi is linked with the first.
extern "C" npgpu::ranks::World* npgpu_ranks_world();
extern "C" npgpu::ranks::AddressedWorld* npgpu_ranks_world_over(npgpu::ranks::World& launcher);

namespace npgpu::ranks {

// Who leaves when another rank is gone: a rank whose partner is killed or hangs within a trial never returns from it.

// A thread of this class ends the process, after it has saved the trace: soon after a signal asked to stop, because
// mpirun is about to kill it, or when there was no sign of life for too long. Signs of life are the words of other
// ranks, and what begins here.
class HangWatchdog {
 public:
  struct How {
    Seconds patience{60};
    Seconds once_stopped{0.4};  // instead, after a signal: mpirun kills a second after it asked
    Seconds between_looks{0.05};
    std::function<bool()> stopped{};         // may be empty
    std::function<std::uint64_t()> heard{};  // how many words have come so far; may be empty
  };
  // `save_and_leave` does not return; its argument is whether a signal asked to stop.
  HangWatchdog(How, std::function<void(bool stopped)> save_and_leave);
  // Without a thread, for who has no company.
  HangWatchdog() = default;
  ~HangWatchdog();

  // Around whatever waits for other ranks within the library: what is saved belongs to the thread as long as this
  // lives.
  class Trial {
   public:
    explicit Trial(HangWatchdog& line) : line_(line.thread_.joinable() ? &line : nullptr) {
      if (!line_) return;
      ++line_->beats_;
      line_->trace_.unlock();
    }
    ~Trial() {
      if (line_) line_->trace_.lock();
    }
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

   private:
    HangWatchdog* line_;
  };
  // Within a trial: the trace is this thread's until the end of `work`.
  template <class Work> void meanwhile(Work&& work) {
    if (!thread_.joinable()) return work();
    const std::lock_guard guard(trace_);
    work();
  }

 private:
  void watch(const std::stop_token& end);

  How how_;
  std::function<void(bool)> save_and_leave_;
  std::atomic<std::uint64_t> beats_{0};
  std::mutex trace_;  // whose the trace is; the other thread's but for trials
  std::mutex sleep_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace npgpu::ranks

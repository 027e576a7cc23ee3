// Processes that this one starts: a copy of it that does one thing, or a program.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "netpipe/process/descriptor.hpp"

namespace npgpu::process {

// How a process ended.
class Ending {
 public:
  explicit Ending(int status) : status_(status) {}  // of waitpid()
  std::optional<int> signal() const;                // that ended it
  std::optional<int> exit_code() const;             // where it ended by itself
  // For one that did not do what it was started for: "Segmentation fault", "it does not end" where it used up its
  // processor time, "it ends without a word" where no signal ended it.
  std::string text() const;

 private:
  int status_;
};

// Owns a process that this one started. One that was not awaited is killed and awaited when its owner goes.
class Child {
 public:
  explicit Child(pid_t pid = -1) : pid_(pid) {}  // none
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~Child();

  bool is_there() const { return pid_ > 0; }  // and was not awaited: its number is nobody else's
  pid_t pid() const { return pid_; }
  void signal(int number) const;  // nothing where it is not there

  // Returns when it has ended. REQUIRES: is_there()
  Ending wait();
  // How it ended, if it has. REQUIRES: is_there()
  std::optional<Ending> ended();

 private:
  std::optional<Ending> awaited(int options);
  pid_t pid_;
};

// A copy of this process that runs `act` with the write end of a pipe, and ends. It ends with its parent, prints
// nothing, leaves no core, and no destructor of what the parent has runs in it. Its exit code is 0, or 1 where `act`
// throws.
struct ForkedChild {
  // Throws Error(failed) if the system makes none.
  explicit ForkedChild(const std::function<void(int write_end)>& act);
  Descriptor read_end;
  Child child;
};

// What a child may take.
struct Limits {
  Seconds processor_time{1};
  std::size_t memory = std::size_t{1} << 29;  // bytes, beyond what the process has
  Seconds wall_time{600};                     // should it wait for something
};
// Processor time and memory of this process from now on. A loop without end is recognized by processor time, which a
// busy machine does not use up.
void limit_this_process(const Limits&);

// What a function came to in a forked child.
struct Reply {
  enum class Outcome {
    returned,     // text: what it returned
    not_started,  // no child could be made
    threw,        // text: what the exception said
    no_memory,    // it threw std::bad_alloc
    died,         // text: that of its ending
  } outcome = Outcome::not_started;
  std::string text{};
};
Reply reply_of_child(const std::function<std::string()>& answer, const Limits&);

// A program to start. It inherits this process's standard descriptors, and of all others those that are given to it.
struct Program {
  struct Given {
    int descriptor;  // of this process
    int number;      // its number there
  };
  std::vector<std::string> words;  // its name and its arguments
  std::vector<Given> given{};
  bool in_own_group = false;  // which a terminal's Ctrl-C does not reach
  std::string file = "/proc/self/exe";
};
// Throws Error(failed): "<what> cannot be started: <the system's reason>".
Child started(const Program&, const std::string& what);

// A turn that processes take one after another. One makes it, and its children inherit the descriptor.

class Turn {
 public:
  Turn();                               // a new one. Throws Error(failed) if the system refuses
  explicit Turn(Descriptor inherited);  // throws Error(failed) if it is none
  int get() const { return descriptor_->get(); }

  // Waits until no other process has it. This one has it until the pointer is gone, or the process is, however it ends.
  // Threads of a process share what it has. There is one of each number; those that take one as `shared` have it at the
  // same time.
  std::shared_ptr<void> take(int number = 0, bool shared = false) const;

 private:
  std::shared_ptr<Descriptor> descriptor_;
};

// This machine's name, and its other processes as the kernel describes them.

std::string host_name();  // "unknown" where it has none

// When a process began, as no other process of any boot of this machine did: "<boot id>:<ticks since boot>". Empty if
// there is no such process, or it cannot be asked.
std::string start_of(long pid);

// "is gone", "is stopped" (by a signal), or nothing: it runs, or cannot be seen. `start` is what start_of() gave while
// it ran; without it nothing is known of the process, which may be in another container.
std::string fate_of(long pid, const std::string& start);

}  // namespace npgpu::process

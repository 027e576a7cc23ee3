// Copies of this process that do one thing.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <fstream>

#include "netpipe/process/child.hpp"
#include "netpipe/process/pipe.hpp"
#include "npgpu/clock.hpp"
#include "npgpu/error.hpp"

namespace npgpu::process {

namespace {

// Returns the pipe's write end, which may be another descriptor now.
int become_child(int write_end) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Where the standard descriptors are closed, the pipe may have got one of their numbers.
  if (write_end <= STDERR_FILENO) write_end = ::fcntl(write_end, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU, SIGTERM, SIGINT})
    ::signal(number, SIG_DFL);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  // Aborting libraries print; the parent says it in its own words.
  const int nowhere = ::open("/dev/null", O_WRONLY);
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO})
    if (nowhere >= 0 && nowhere != standard) ::dup2(nowhere, standard);
  return write_end;
}

[[noreturn]] void child_main(Pipe& pipe, const std::function<void(int)>& act) {
  ::close(pipe.read_end.release());
  try {
    act(become_child(pipe.write_end.get()));
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);  // no destructors: what they would flush is the parent's
}

Seconds processor_time() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return Seconds{seconds(used.ru_utime) + seconds(used.ru_stime)};
}

}  // namespace

ForkedChild::ForkedChild(const std::function<void(int)>& act) {
  Pipe pipe;
  const pid_t pid = ::fork();
  if (pid < 0) throw Error(ErrorKind::failed, "a process cannot be started: " + system_text(errno));
  if (pid == 0) child_main(pipe, act);
  child = Child(pid);
  read_end = std::move(pipe.read_end);  // the child's write end is now the only one: its end is the end of the pipe
}

void limit_this_process(const Limits& limits) {
  const auto limit = [](auto resource, rlim_t most) {
    rlimit now{};
    ::getrlimit(resource, &now);
    now.rlim_cur = std::min(now.rlim_max, most);
    ::setrlimit(resource, &now);
  };
  limit(RLIMIT_CPU, static_cast<rlim_t>(std::ceil((processor_time() + limits.processor_time).count())));
#ifndef __SANITIZE_ADDRESS__  // which takes room for shadows of all memory
  std::size_t pages = 0;      // of the address space, which is much where there is a GPU
  std::ifstream("/proc/self/statm") >> pages;
  if (pages > 0) limit(RLIMIT_AS, pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + limits.memory);
#endif
}

Reply reply_of_child(const std::function<std::string()>& answer, const Limits& limits) try {
  using Outcome = Reply::Outcome;
  enum Kind : std::uint32_t { returned, threw };
  ForkedChild forked([&](int write_end) {
    limit_this_process(limits);
    try {
      send(write_end, {returned, 0, answer()});
    } catch (const std::exception& e) {
      send(write_end, {threw, 0, e.what()});
    }
  });
  Inbox inbox(std::move(forked.read_end));
  const SteadyClock clock;
  const Seconds end = clock.now() + limits.wall_time;
  do
    if (!is_readable(inbox.descriptor(), end - clock.now())) return {Outcome::died, "it does not end"};
  while (inbox.read_some());
  const Ending ending = forked.child.wait();
  auto message = inbox.next();
  if (!message || ending.signal()) return {Outcome::died, ending.text()};
  return {message->kind == returned ? Outcome::returned : Outcome::threw, std::move(message->text)};
} catch (const Error&) {
  return {};
}

}  // namespace npgpu::process

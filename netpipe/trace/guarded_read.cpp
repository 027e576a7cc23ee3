#include "netpipe/trace/guarded_read.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <exception>
#include <optional>

#include "netpipe/trace/files.hpp"
#include "npgpu/clock.hpp"

namespace npgpu::trace {

namespace {

constexpr Seconds max_patience{600};  // on the wall, should it wait for something

// The child's verdict on the pipe: '+' for well, '-' and a text for an exception.
void say(int pipe, const std::string& verdict) {
  std::size_t said = 0;
  while (said < verdict.size()) {
    const ssize_t put = ::write(pipe, verdict.data() + said, verdict.size() - said);
    if (put <= 0) break;
    said += static_cast<std::size_t>(put);
  }
}

// A loop without end is told by processor time, which a busy machine does not use up.
void limit_processor_time(Seconds most) {
  rlimit limit{};
  ::getrlimit(RLIMIT_CPU, &limit);
  limit.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(std::ceil(most.count())));
  ::setrlimit(RLIMIT_CPU, &limit);
}

[[noreturn]] void be_the_child(int mouth, const std::function<void()>& read, Seconds max_processor_time) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Where the standard descriptors are closed, the pipe may have got one of their numbers.
  const int pipe = mouth > STDERR_FILENO ? mouth : ::fcntl(mouth, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU, SIGTERM, SIGINT})
    ::signal(number, SIG_DFL);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  limit_processor_time(max_processor_time);
  // Aborting libraries print; the parent says it in its own words.
  const int nowhere = ::open("/dev/null", O_WRONLY);
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO})
    if (nowhere >= 0 && nowhere != standard) ::dup2(nowhere, standard);
  try {
    read();
    say(pipe, "+");
  } catch (const std::exception& e) {
    say(pipe, std::string("-") + e.what());
  }
  ::_exit(0);  // no destructors: what they would flush is the parent's
}

// Everything the child says until it ends; nothing if it takes too long.
std::optional<std::string> listen(int pipe) {
  const SteadyClock clock;
  const Seconds end = clock.now() + max_patience;
  std::string said;
  for (;;) {
    const Seconds left = end - clock.now();
    pollfd ready{pipe, POLLIN, 0};
    const int polled = left.count() <= 0 ? 0 : ::poll(&ready, 1, static_cast<int>(left.count() * 1000) + 1);
    if (polled < 0 && errno == EINTR) continue;
    if (polled <= 0) return std::nullopt;
    std::array<char, 4096> some;
    const ssize_t got = ::read(pipe, some.data(), some.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return said;
    said.append(some.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

GuardedRead guarded_read(const std::function<void()>& read, Seconds max_processor_time) {
  using Outcome = GuardedRead::Outcome;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const Descriptor ear(ends[0]);
  Descriptor mouth(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return {};
  if (child == 0) be_the_child(mouth.get(), read, max_processor_time);

  mouth = Descriptor();  // the child's is the only one now: its end is the end of the pipe
  const std::optional<std::string> said = listen(ear.get());
  if (!said) ::kill(child, SIGKILL);
  int status = 0;
  pid_t waited = 0;
  while ((waited = ::waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  if (said == "+") return {};
  if (said && !said->empty()) return {Outcome::threw, said->substr(1)};
  const bool by_signal = waited == child && WIFSIGNALED(status);
  if (!said || (by_signal && WTERMSIG(status) == SIGXCPU)) return {Outcome::died, "it does not end"};
  return {Outcome::died, by_signal ? ::strsignal(WTERMSIG(status)) : "it ends without a word"};
}

}  // namespace npgpu::trace

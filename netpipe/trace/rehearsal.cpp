#include "netpipe/trace/rehearsal.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>

#include "netpipe/trace/files.hpp"
#include "npgpu/clock.hpp"

namespace npgpu::trace {

namespace {

constexpr Seconds most_patience{60};  // a 4 GiB trace takes a few seconds

// The child's verdict on the pipe: '+' for well, '-' and a text for an exception.
void say(int pipe, const std::string& verdict) {
  std::size_t said = 0;
  while (said < verdict.size()) {
    const ssize_t put = ::write(pipe, verdict.data() + said, verdict.size() - said);
    if (put <= 0) break;
    said += static_cast<std::size_t>(put);
  }
}

[[noreturn]] void be_the_child(int pipe, const std::function<void()>& read) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM, SIGINT}) ::signal(number, SIG_DFL);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  // Aborting libraries print; the parent says it in its own words.
  const int nowhere = ::open("/dev/null", O_WRONLY);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
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
  const Seconds end = clock.now() + most_patience;
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

Rehearsal rehearse(const std::function<void()>& read) {
  using Outcome = Rehearsal::Outcome;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const Descriptor ear(ends[0]);
  Descriptor mouth(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return {};
  if (child == 0) be_the_child(mouth.get(), read);

  mouth = Descriptor();  // the child's is the only one now: its end is the end of the pipe
  const std::optional<std::string> said = listen(ear.get());
  if (!said) ::kill(child, SIGKILL);
  int status = 0;
  pid_t waited = 0;
  while ((waited = ::waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  if (!said) return {Outcome::died, "it does not end"};
  if (*said == "+") return {};
  if (!said->empty()) return {Outcome::threw, said->substr(1)};
  const bool by_signal = waited == child && WIFSIGNALED(status);
  return {Outcome::died, by_signal ? ::strsignal(WTERMSIG(status)) : "it ends without a word"};
}

}  // namespace npgpu::trace

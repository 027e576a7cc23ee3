#include "netpipe/process/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "npgpu/error.hpp"

namespace npgpu::process {

std::optional<int> Ending::signal() const {
  return WIFSIGNALED(status_) ? std::optional(WTERMSIG(status_)) : std::nullopt;
}

std::optional<int> Ending::exit_code() const {
  return WIFEXITED(status_) ? std::optional(WEXITSTATUS(status_)) : std::nullopt;
}

std::string Ending::text() const {
  if (!signal()) return "it ends without a word";
  return *signal() == SIGXCPU ? "it does not end" : ::strsignal(*signal());
}

Child::~Child() {
  if (!is_there()) return;
  signal(SIGKILL);
  (void)wait();
}

void Child::signal(int number) const {
  if (is_there()) ::kill(pid_, number);
}

Ending Child::wait() { return awaited(0).value_or(Ending(0)); }

std::optional<Ending> Child::ended() { return awaited(WNOHANG); }

std::optional<Ending> Child::awaited(int options) {
  int status = 0;  // where this process ignores SIGCHLD, how its children end is not known
  if (retried([&] { return ::waitpid(pid_, &status, options); }) == 0) return std::nullopt;
  pid_ = -1;
  return Ending(status);
}

Child started(const Program& program, const std::string& what) {
  const auto require = [&](int error) {
    if (error) throw Error(ErrorKind::failed, what + " cannot be started: " + system_text(error));
  };
  int highest = STDERR_FILENO;
  for (const Program::Given& one : program.given) highest = std::max(highest, one.number);
  struct Actions {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    Actions() { ::posix_spawn_file_actions_init(&files), ::posix_spawnattr_init(&attributes); }
    ~Actions() { ::posix_spawn_file_actions_destroy(&files), ::posix_spawnattr_destroy(&attributes); }
  } actions;
  // Copied above all numbers there, so that giving one does not replace another that is still to be given.
  std::vector<Descriptor> copies;
  for (const Program::Given& one : program.given) {
    copies.emplace_back(::fcntl(one.descriptor, F_DUPFD_CLOEXEC, highest + 1));
    require(copies.back().open() ? 0 : errno);
    require(::posix_spawn_file_actions_adddup2(&actions.files, copies.back().get(), one.number));
  }
  if (program.in_own_group) require(::posix_spawnattr_setflags(&actions.attributes, POSIX_SPAWN_SETPGROUP));
  std::vector<std::string> words = program.words;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = -1;
  require(::posix_spawn(&pid, program.file.c_str(), &actions.files, &actions.attributes, arguments.data(), environ));
  return Child(pid);
}

}  // namespace npgpu::process

#include "netpipe/cli/side_by_side.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "netpipe/cli/commands.hpp"
#include "npgpu/clock.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

// Those that are left at its end are told to stop, and awaited.
class Processes {
 public:
  ~Processes() {
    tell_to_stop();
    for (const auto& [pid, part] : running_) ::waitpid(pid, nullptr, 0);
  }
  void start(Part& part) {
    Arguments words = for_device(part.device, part.trace);
    words.insert(words.begin(), "npgpu");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    ::unlink(log_of(part).c_str());  // of a run that was killed
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log_of(part).c_str(), flags, 0644);
    // In a group of its own, which a terminal's Ctrl-C does not reach: it is told to stop once, by this process.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    pid_t pid = 0;
    const int error = ::posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
      throw Error(ErrorKind::failed, fmt::format("a process for {} cannot be started: {}", part.device,
                                                 std::generic_category().message(error)));
    part.begun = steady_clock().now();
    running_.emplace_back(pid, &part);
  }
  bool any() const { return !running_.empty(); }
  // Not by SIGTERM: a batch system may have sent them that as well, and a second one kills.
  void tell_to_stop() {
    for (const auto& [pid, part] : running_) ::kill(pid, SIGINT);
  }
  void look() {
    std::erase_if(running_, [](const auto& one) {
      int status = 0;
      if (::waitpid(one.first, &status, WNOHANG) != one.first) return false;
      ended(*one.second, status);
      return true;
    });
  }
  static std::string log_of(const Part& part) { return part.trace + ".log"; }

 private:
  static std::string last_line(const std::string& path) {
    std::ifstream file(path);
    std::string read, last;
    while (std::getline(file, read))
      if (!read.empty()) last = read;
    return last;
  }
  static void ended(Part& part, int status) {
    std::error_code ignored;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    // It had not come so far as to catch signals.
    const bool stopped_early = WIFSIGNALED(status) && WTERMSIG(status) == SIGINT;
    part.stopped = code == exit_code::stopped || stopped_early;
    const bool is_whole = WIFEXITED(status) && std::filesystem::exists(part.trace, ignored);  // whatever its verdict
    const std::string said = last_line(log_of(part));
    for (const char* rest : {".log", ".lock", ".tmp"}) std::filesystem::remove(part.trace + rest, ignored);
    if (part.stopped || is_whole) return;
    part.failed = WIFSIGNALED(status)
                      ? fmt::format("its process was killed by signal {}", WTERMSIG(status))
                      : fmt::format("its process ended with exit code {}{}", code, said.empty() ? "" : ": " + said);
  }

  std::vector<std::pair<pid_t, Part*>> running_;
};

}  // namespace

std::vector<Part> measure_side_by_side(const std::vector<std::string>& devices, const std::string& output,
                                       const std::function<bool()>& stop) {
  constexpr std::chrono::milliseconds between_looks{50};
  std::vector<Part> parts;
  for (const std::string& device : devices)
    parts.push_back({.device = device, .trace = fmt::format("{}.gpu{}.part", output, parts.size()), .failed = {}});
  Processes processes;
  for (Part& part : parts) processes.start(part);
  for (bool told = false; processes.any(); processes.look()) {
    if (stop() && !std::exchange(told, true)) processes.tell_to_stop();
    std::this_thread::sleep_for(between_looks);
  }
  return parts;
}

void stop_with_parent() {
  std::error_code fails;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", fails);
  const auto parent = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", ::getppid()), fails);
  if (!fails && parent == own) ::prctl(PR_SET_PDEATHSIG, SIGINT);
}

std::optional<Trace> trace_of(const Part& part) {
  std::error_code ignored;
  if (!std::filesystem::exists(part.trace, ignored)) return std::nullopt;
  Trace trace = read_trace(part.trace, Guard::child);
  std::filesystem::remove(part.trace, ignored);
  return trace;
}

}  // namespace npgpu::cli

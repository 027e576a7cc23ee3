#include "netpipe/cli/side_by_side.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "netpipe/cli/commands.hpp"
#include "netpipe/files/descriptor.hpp"
#include "npgpu/clock.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

using Part = GpuProcesses::Part;

struct SideBySide::Process {
  Part part{};
  pid_t pid = 0;          // 0: it has ended
  files::Descriptor may;  // a byte through it lets it measure
};

namespace {

constexpr int inherited_turn = STDERR_FILENO + 1;  // the descriptor of a process that is one of several

std::string log_of(const Part& part) { return part.trace + ".log"; }

std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string read, last;
  while (std::getline(file, read))
    if (!read.empty()) last = read;
  return last;
}

void note_end(Part& part, int status) {
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

pid_t spawn(const Part& part, int standard_input, int turn) {
  Arguments words = for_device(part.device, part.trace);
  words.insert(words.begin(), "npgpu");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  ::unlink(log_of(part).c_str());  // of a run that was killed
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
  posix_spawn_file_actions_adddup2(&actions, standard_input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, turn, inherited_turn);
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
    throw Error(ErrorKind::failed,
                fmt::format("a process for {} cannot be started: {}", part.device, files::system_text(error)));
  return pid;
}

bool has_parent = false;  // that lets it measure

}  // namespace

SideBySide::SideBySide(std::string output) : output_(std::move(output)) {}

SideBySide::~SideBySide() {
  tell_to_stop();
  for (const auto& one : processes_) {
    if (one->pid == 0) continue;
    int status = 0;
    ::waitpid(one->pid, &status, 0);
    note_end(one->part, status);
    std::error_code ignored;
    std::filesystem::remove(one->part.trace, ignored);
  }
}

void SideBySide::start(const std::string& device) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw Error(ErrorKind::failed,
                fmt::format("a process for {} cannot be started: {}", device, files::system_text(errno)));
  const files::Descriptor its_end(ends[0]);
  auto process = std::make_unique<Process>();
  process->may = files::Descriptor(ends[1]);
  process->part.device = device;
  process->part.trace = fmt::format("{}.gpu{}.part", output_, processes_.size());
  process->pid = spawn(process->part, its_end.get(), turn_.get());
  processes_.push_back(std::move(process));
}

void SideBySide::prepare(const std::vector<std::string>& devices) {
  for (const std::string& device : devices)
    if (std::ranges::none_of(processes_, [&](const auto& one) { return one->part.device == device; })) start(device);
}

// Not by SIGTERM: a batch system may have sent them that as well, and a second one kills.
void SideBySide::tell_to_stop() const {
  for (const auto& one : processes_)
    if (one->pid != 0) ::kill(one->pid, SIGINT);
}

void SideBySide::look() {
  for (const auto& one : processes_) {
    int status = 0;
    if (one->pid == 0 || ::waitpid(one->pid, &status, WNOHANG) != one->pid) continue;
    one->pid = 0;
    note_end(one->part, status);
  }
}

std::vector<Part> SideBySide::run(const std::vector<std::string>& devices, const std::function<bool()>& stop) {
  constexpr std::chrono::milliseconds between_looks{20};
  prepare(devices);
  for (const auto& one : processes_) {
    if (std::ranges::find(devices, one->part.device) == devices.end()) {
      if (one->pid != 0) ::kill(one->pid, SIGINT);
      continue;
    }
    one->part.begun = steady_clock().now();
    (void)!::write(one->may.get(), "", 1);  // one that has ended does not take it
  }
  const auto is_running = [](const auto& one) { return one->pid != 0; };
  for (bool told = false; std::ranges::any_of(processes_, is_running); look()) {
    if (stop() && !std::exchange(told, true)) tell_to_stop();
    std::this_thread::sleep_for(between_looks);
  }
  std::vector<Part> parts;
  for (const std::string& device : devices)
    for (const auto& one : processes_)
      if (one->part.device == device) parts.push_back(one->part);
  for (const auto& one : processes_)
    if (std::error_code ignored; std::ranges::find(devices, one->part.device) == devices.end())
      std::filesystem::remove(one->part.trace, ignored);
  return parts;
}

void stop_with_parent() {
  std::error_code fails;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", fails);
  const auto parent = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", ::getppid()), fails);
  if (fails || parent != own) return;
  ::prctl(PR_SET_PDEATHSIG, SIGINT);
  struct stat input {};
  has_parent = ::fstat(STDIN_FILENO, &input) == 0 && S_ISFIFO(input.st_mode);
}

bool is_one_of_several() { return has_parent; }

std::function<std::shared_ptr<void>()> turns_of_several() {
  if (!has_parent) return {};
  return [turn = files::Turn(files::Descriptor(inherited_turn))] { return turn.take(); };
}

void begin_with_parent(const std::function<bool()>& stop) {
  constexpr int between_looks_ms = 50;
  while (has_parent && !stop()) {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (::poll(&input, 1, between_looks_ms) <= 0) continue;
    char byte = 0;
    if (::read(STDIN_FILENO, &byte, 1) != 1) std::raise(SIGINT);  // it is gone
    has_parent = false;
  }
}

}  // namespace npgpu::cli

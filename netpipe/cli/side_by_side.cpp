#include "netpipe/cli/side_by_side.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "netpipe/cli/commands.hpp"
#include "netpipe/process/descriptor.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

using Part = GpuProcesses::Part;

struct SideBySide::Process {
  Part part{};
  process::Child child;     // none: it has ended
  process::Descriptor may;  // a byte through it lets it measure
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

void note_end(Part& part, const process::Ending& ending) {
  std::error_code ignored;
  // SIGINT: it had not come so far as to catch signals.
  part.stopped = ending.exit_code() == exit_code::stopped || ending.signal() == SIGINT;
  const bool is_whole = ending.exit_code() && std::filesystem::exists(part.trace, ignored);  // whatever its verdict
  const std::string said = last_line(log_of(part));
  for (const char* rest : {".log", ".lock", ".tmp"}) std::filesystem::remove(part.trace + rest, ignored);
  if (part.stopped || is_whole) return;
  part.failed = ending.signal() ? fmt::format("its process was killed by signal {}", *ending.signal())
                                : fmt::format("its process ended with exit code {}{}", ending.exit_code().value_or(-1),
                                              said.empty() ? "" : ": " + said);
}

process::Descriptor opened(const std::string& path, int how) {
  process::Descriptor fd(::open(path.c_str(), how | O_WRONLY | O_CLOEXEC, 0644));
  if (!fd.open()) throw Error(ErrorKind::failed, fmt::format("{}: {}", path, process::system_text(errno)));
  return fd;
}

process::Child started_for(const Part& part, int standard_input, int turn) {
  ::unlink(log_of(part).c_str());  // of a run that was killed
  const process::Descriptor nowhere = opened("/dev/null", 0);
  const process::Descriptor log = opened(log_of(part), O_CREAT | O_EXCL | O_NOFOLLOW);
  process::Program program{.words = for_device(part.device, part.trace),
                           .given = {{standard_input, STDIN_FILENO},
                                     {nowhere.get(), STDOUT_FILENO},
                                     {log.get(), STDERR_FILENO},
                                     {turn, inherited_turn}},
                           .in_own_group = true};  // this process alone stops it, once
  program.words.insert(program.words.begin(), "npgpu");
  return process::started(program, "a process for " + part.device);
}

bool has_parent = false;  // that lets it measure

}  // namespace

SideBySide::SideBySide(std::string output) : output_(std::move(output)) {}

SideBySide::~SideBySide() {
  tell_to_stop();
  for (const auto& one : processes_) {
    if (!one->child.is_there()) continue;
    note_end(one->part, one->child.wait());
    std::error_code ignored;
    std::filesystem::remove(one->part.trace, ignored);
  }
}

void SideBySide::start(const std::string& device) {
  process::Pipe pipe;
  auto process = std::make_unique<Process>();
  process->may = std::move(pipe.write_end);
  process->part.device = device;
  process->part.trace = fmt::format("{}.gpu{}.part", output_, processes_.size());
  process->child = started_for(process->part, pipe.read_end.get(), turn_.get());
  processes_.push_back(std::move(process));
}

void SideBySide::prepare(const std::vector<std::string>& devices) {
  for (const std::string& device : devices)
    if (std::ranges::none_of(processes_, [&](const auto& one) { return one->part.device == device; })) start(device);
}

// Not by SIGTERM: a batch system may have sent them that as well, and a second one kills.
void SideBySide::tell_to_stop() const {
  for (const auto& one : processes_) one->child.signal(SIGINT);
}

void SideBySide::look() {
  for (const auto& one : processes_) {
    if (!one->child.is_there()) continue;
    if (const auto ending = one->child.ended()) note_end(one->part, *ending);
  }
}

std::vector<Part> SideBySide::run(const std::vector<std::string>& devices, const std::function<bool()>& stop) {
  constexpr std::chrono::milliseconds between_looks{20};
  prepare(devices);
  for (const auto& one : processes_) {
    if (std::ranges::find(devices, one->part.device) == devices.end()) {
      one->child.signal(SIGINT);
      continue;
    }
    one->part.begun = steady_clock().now();
    (void)process::put(one->may.get(), '\0');  // one that has ended does not take it
  }
  const auto is_running = [](const auto& one) { return one->child.is_there(); };
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

std::function<std::shared_ptr<void>(HostShare)> turns_of_several() {
  static const auto turn =
      has_parent ? std::optional<process::Turn>(process::Descriptor(inherited_turn)) : std::nullopt;
  if (!turn) return {};
  return [](HostShare share) {
    constexpr int of_processors = 0, of_links = 1;
    return turn->take(share == HostShare::processors ? of_processors : of_links, share == HostShare::one_way);
  };
}

void begin_with_parent(const std::function<bool()>& stop) {
  constexpr Seconds between_looks{0.05};
  while (has_parent && !stop()) {
    if (!process::is_readable(STDIN_FILENO, between_looks)) continue;
    char byte = 0;
    if (!process::get(STDIN_FILENO, byte)) std::raise(SIGINT);  // it is gone
    has_parent = false;
  }
}

}  // namespace npgpu::cli

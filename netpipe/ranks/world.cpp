#include "netpipe/ranks/world.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <utility>

#include "npgpu/vocabulary/device.hpp"

extern "C" [[gnu::weak]] npgpu::ranks::World* npgpu_ranks_world();

namespace npgpu::ranks {

namespace {

#ifndef NPGPU_LIBRARY_FOLDER
#define NPGPU_LIBRARY_FOLDER "lib"
#endif
World* opened = nullptr;
AddressedWorld* over = nullptr;  // what began within it
bool has_ended = false;

std::string upper_case(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return text;
}

// The one that the variable names, alone; or next to the program, and where it is installed.
std::vector<std::string> places(const std::string& variable, const std::string& library) {
  if (const char* named = std::getenv(variable.c_str()); named && *named) return {named};
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  return {program / library, program / ".." / NPGPU_LIBRARY_FOLDER / "npgpu" / library};
}

// A function of libnpgpu_<name>.so. `asked` begins the sentence where there is none. MPI libraries load parts of their
// own, which look for its symbols among all: RTLD_GLOBAL.
void* entry_of(const std::string& name, const char* function, const std::string& asked, int scope) {
  const std::string upper = upper_case(name), variable = "NPGPU_" + upper + "_LIBRARY";
  std::string why;
  for (const std::string& place : places(variable, "libnpgpu_" + name + ".so")) {
    if (std::error_code ignored; !std::filesystem::exists(place, ignored)) {
      why += (why.empty() ? "there is no " : " and no ") + place;
      continue;
    }
    void* const handle = dlopen(place.c_str(), RTLD_NOW | scope);  // held as long as the process
    if (!handle)
      throw Error(ErrorKind::usage, fmt::format("{}: {}: install the {} that npgpu was built for, or name a library "
                                                "that was built for the one here with {}",
                                                asked, dlerror(), upper, variable));
    void* const entry = dlsym(handle, function);
    if (!entry) throw Error(ErrorKind::usage, asked + ": " + place + " is no library of npgpu");
    return entry;
  }
  throw Error(ErrorKind::usage,
              fmt::format("{}: {}: build npgpu where {} (-DNPGPU_{}=ON), or name the library with {}", asked, why,
                          name == "mpi" ? "an MPI with mpicxx is" : upper + " is", upper, variable));
}

// A rank that waits within MPI_Init or MPI_Finalize for one that never comes does not return, and may not call
// MPI_Abort either. This thread calls nothing of MPI, and ends the process; mpirun and srun then end the others.
class Watchdog {
 public:
  Watchdog(Seconds patience, std::string_view did, std::string_view why)
      : thread_([=](const std::stop_token& done) {
          std::mutex mutex;
          std::condition_variable_any wake;
          std::unique_lock guard(mutex);
          wake.wait_for(guard, done, patience, [] { return false; });
          if (done.stop_requested()) return;
          std::cerr << fmt::format(
                           "npgpu: MPI did not {} within {:g} s (--rank-timeout): another rank of this job {}\n", did,
                           patience.count(), why)
                    << std::flush;
          std::_Exit(1);
        }) {}

 private:
  std::jthread thread_;  // stopped, and waited for, when MPI has begun or ended
};

World* open(const std::string& asked) {
  if (npgpu_ranks_world) return npgpu_ranks_world();
  return reinterpret_cast<World* (*)()>(entry_of("mpi", "npgpu_ranks_world", asked, RTLD_GLOBAL))();
}

}  // namespace

World& world(Seconds patience, const std::string& asked) {
  if (!opened) {
    const Watchdog watchdog(patience, "begin", "was never started, or hangs");
    opened = open(asked);
  }
  return *opened;
}

bool is_open() { return opened != nullptr && !has_ended; }

void end(Seconds patience) {
  if (!is_open()) return;
  has_ended = true;
  const Watchdog watchdog(patience, "end", "hangs, or is slower");
  if (over) over->end();
  opened->end();
}

AddressedWorld& world_over(World& launcher, std::string_view module) {
  using Open = AddressedWorld* (*)(World&);
  const std::string name(module);
  over = reinterpret_cast<Open>(entry_of(name, "npgpu_ranks_world_over", "--module " + name, RTLD_LOCAL))(launcher);
  return *over;
}

HangWatchdog::HangWatchdog(How how, std::function<void(bool)> save_and_leave)
    : how_(std::move(how)), save_and_leave_(std::move(save_and_leave)) {
  trace_.lock();
  thread_ = std::jthread([this](const std::stop_token& end) { watch(end); });
}

void HangWatchdog::watch(const std::stop_token& end) {
  const auto signs = [this] { return beats_ + (how_.heard ? how_.heard() : 0); };
  std::uint64_t seen = 0;
  Seconds since = steady_clock().now();
  bool stopped = false;
  while (!end.stop_requested()) {
    {
      std::unique_lock guard(sleep_);
      wake_.wait_for(guard, end, how_.between_looks, [] { return false; });
    }
    const Seconds now = steady_clock().now();
    if (!stopped && how_.stopped && how_.stopped()) stopped = true, since = now;
    if (const std::uint64_t signs_now = signs(); signs_now != seen) seen = signs_now, since = now;
    if (end.stop_requested() || now - since < (stopped ? how_.once_stopped : how_.patience)) continue;
    if (!trace_.try_lock()) continue;
    if (signs() == seen) save_and_leave_(stopped);  // else a trial has just begun
    trace_.unlock();
  }
}

HangWatchdog::~HangWatchdog() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  trace_.unlock();
}

}  // namespace npgpu::ranks

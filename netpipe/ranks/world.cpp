#include "netpipe/ranks/world.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "npgpu/error.hpp"

extern "C" [[gnu::weak]] npgpu::ranks::World* npgpu_ranks_world();

namespace npgpu::ranks {

namespace {

#ifndef NPGPU_LIBRARY_FOLDER
#define NPGPU_LIBRARY_FOLDER "lib"
#endif
constexpr const char* library_name = "libnpgpu_mpi.so";
World* opened = nullptr;

// NPGPU_MPI_LIBRARY alone, or beside the program, and where it is installed.
std::vector<std::string> places() {
  if (const char* named = std::getenv("NPGPU_MPI_LIBRARY")) return {named};
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  return {program / library_name, program / ".." / NPGPU_LIBRARY_FOLDER / "npgpu" / library_name};
}

// A rank that waits within MPI_Init for one that never comes does not return, and may not call MPI_Abort either. This
// thread calls nothing of MPI, and ends the process; mpirun and srun then end the others.
class Watchdog {
 public:
  explicit Watchdog(Seconds patience)
      : thread_([patience](const std::stop_token& begun) {
          std::mutex mutex;
          std::condition_variable_any wake;
          std::unique_lock guard(mutex);
          wake.wait_for(guard, begun, patience, [] { return false; });
          if (begun.stop_requested()) return;
          std::cerr
              << fmt::format(
                     "npgpu: MPI did not begin within {:g} s (--rank-timeout): another rank of this job was never "
                     "started, or hangs\n",
                     patience.count())
              << std::flush;
          std::_Exit(1);
        }) {}

 private:
  std::jthread thread_;  // stopped, and waited for, when MPI has begun
};

World* open() {
  if (npgpu_ranks_world) return npgpu_ranks_world();
  std::string why;
  for (const std::string& place : places()) {
    if (!std::filesystem::exists(place)) {
      why += (why.empty() ? "there is no " : " and no ") + place;
      continue;
    }
    // MPI libraries load parts of their own, which look for its symbols among all.
    void* const handle = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);  // held as long as the process
    if (!handle) throw Error(ErrorKind::usage, std::string("--module mpi: ") + dlerror());
    using Open = World* (*)();
    const auto entry = reinterpret_cast<Open>(dlsym(handle, "npgpu_ranks_world"));
    if (!entry) throw Error(ErrorKind::usage, "--module mpi: " + place + " is no library of npgpu");
    return entry();
  }
  throw Error(ErrorKind::usage, "--module mpi: " + why +
                                    ": build npgpu where an MPI with mpicxx is (-DNPGPU_MPI=ON), or name the library "
                                    "with NPGPU_MPI_LIBRARY");
}

}  // namespace

World& world(Seconds patience) {
  if (!opened) {
    const Watchdog watchdog(patience);
    opened = open();
  }
  return *opened;
}

bool is_open() { return opened != nullptr; }

}  // namespace npgpu::ranks

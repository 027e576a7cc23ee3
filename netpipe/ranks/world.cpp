#include "netpipe/ranks/world.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>
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

World& world() {
  if (!opened) opened = open();
  return *opened;
}

bool is_open() { return opened != nullptr; }

}  // namespace npgpu::ranks

// The house's rules about includes, kept by a test: a folder includes only what is upstream of it, and a library's
// headers stay in the room that owns them.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace layering_test {

namespace fs = std::filesystem;

namespace {

const fs::path root = NPGPU_SOURCE_DIR;

struct Include {
  std::string file;    // relative to the source tree
  std::string header;  // as written, without brackets or quotes
};

std::vector<Include> includes(std::initializer_list<const char*> folders = {"include", "netpipe", "probes"}) {
  std::vector<Include> all;
  for (const char* folder : folders) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".cpp" && extension != ".hpp" && extension != ".cu" && extension != ".cuh") continue;
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        const std::size_t begin = line.find_first_not_of(" \t");
        if (begin == std::string::npos || line.compare(begin, 8, "#include") != 0) continue;
        const std::size_t open = line.find_first_of("<\"", begin);
        const std::size_t close = line.find_first_of(">\"", open + 1);
        all.push_back({fs::relative(entry.path(), root).string(), line.substr(open + 1, close - open - 1)});
      }
    }
  }
  return all;
}

bool starts(const std::string& text, const std::string& prefix) { return text.rfind(prefix, 0) == 0; }

// "netpipe/devices/cuda/check.hpp" -> "devices/cuda"; "netpipe/engine/transfer_runner.hpp" -> "engine".
std::string room(const std::string& path) {
  if (starts(path, "probes/")) {  // what descriptions are made of needs no device
    for (const char* name : {"/description.cpp", "/shapes.hpp", "/shapes.cpp", "/patterns.hpp", "/patterns.cpp",
                             "/gemm.hpp", "/elements.hpp", "/elements.cpp", "/tiles.hpp", "/walks.hpp"})
      if (path.ends_with(name)) return "descriptions";
    return "probes";
  }
  if (!starts(path, "netpipe/")) return {};
  std::string rest = path.substr(8);
  const std::size_t slash = rest.find('/');
  if (slash == std::string::npos) return {};
  std::string first = rest.substr(0, slash);
  if (first != "devices") return first;
  const std::size_t second = rest.find('/', slash + 1);
  return second == std::string::npos ? first : rest.substr(0, second);
}

}  // namespace

TEST_CASE("a folder includes only what is upstream of it") {
  const std::map<std::string, std::set<std::string>> upstream{
      {"engine", {}},
      {"process", {}},
      {"files", {"process"}},
      {"devices", {"engine"}},
      {"devices/host", {"engine", "files", "devices"}},
      {"devices/simulated", {"engine", "files", "devices", "devices/host"}},
      {"devices/nvml", {"devices/host"}},
      {"devices/cuda", {"engine", "process", "devices", "devices/host", "devices/nvml"}},
      {"devices/opencl", {"engine", "files", "devices", "devices/host"}},
      {"ranks", {"engine", "process", "devices/host"}},
      {"modules", {"engine", "ranks", "devices/host", "devices/simulated", "devices/cuda", "devices/opencl"}},
      {"simulate", {"engine"}},
      {"jobs", {"engine", "simulate", "devices/host", "devices/simulated", "devices/cuda", "devices/opencl"}},
      {"probes",
       {"engine", "files", "descriptions", "simulate", "devices", "devices/host", "devices/simulated", "devices/cuda",
        "devices/opencl"}},
      {"descriptions", {"engine"}},  // which the model links
      {"trace", {"engine", "process", "files"}},
      {"model", {"engine", "simulate"}},
      {"judge", {"engine", "model"}},
      {"report", {"engine", "model", "judge"}},
      {"legacy", {"engine", "ranks", "modules"}},
      {"cli",
       {"engine", "process", "files", "devices", "ranks", "modules", "probes", "jobs", "calls", "simulate", "trace",
        "model", "judge", "report", "campaign", "energy", "collectives", "record"}},
      {"record", {"engine", "process", "files", "devices/cuda"}},
      {"energy", {"engine", "campaign", "modules", "probes"}},
      {"soak", {"engine", "energy", "devices/simulated", "devices/cuda"}},
      {"collectives", {"engine", "process", "devices/host", "devices/simulated", "devices/cuda"}},
      {"campaign", {"engine", "process", "devices/host", "ranks", "trace", "model", "judge", "report"}},
  };
  // A room that is not listed is that of a kind of measurement.
  const std::set<std::string> of_kinds{"engine", "devices/host", "devices/simulated", "devices/cuda", "devices/opencl"};
  const auto all = includes();
  CHECK(all.size() > 100);  // the search itself works
  for (const Include& one : all) {
    const std::string from = room(one.file), to = room(one.header);
    if (to.empty() || to == from) continue;
    CAPTURE(one.file);
    CAPTURE(one.header);
    if (from.empty()) {
      FAIL_CHECK("a public header includes a private one");
      continue;
    }
    const auto listed = upstream.find(from);
    CHECK((listed == upstream.end() ? of_kinds : listed->second).count(to) == 1);
  }
}

TEST_CASE("a library's headers stay in the room that owns them") {
  for (const Include& one : includes()) {
    CAPTURE(one.file);
    CAPTURE(one.header);
    const std::string from = room(one.file);
    if (starts(one.header, "hdf5") || starts(one.header, "H5")) CHECK(from == "trace");
    if (starts(one.header, "boost/program_options")) CHECK(from == "cli");
    if (starts(one.header, "mpi")) CHECK(one.file == "netpipe/ranks/mpi.cpp");
    if (starts(one.header, "ucp/") || starts(one.header, "ucs/")) CHECK(one.file == "netpipe/ranks/ucx.cpp");
    if (starts(one.header, "CL/")) CHECK(from == "devices/opencl");
    if (starts(one.header, "hwloc")) CHECK(from == "devices/host");
    if (starts(one.header, "cuda") || starts(one.header, "cooperative_groups") || starts(one.header, "nvml")) {
      const bool module = starts(one.file, "netpipe/modules/cu");
      const bool kernel = from == "probes" && (one.file.ends_with(".cu") || one.file.ends_with(".cuh"));
      const std::set<std::string> closed{"engine", "process", "files",    "ranks",  "simulate", "trace", "model",
                                         "judge",  "report",  "campaign", "energy", "legacy",   "cli",   "modules"};
      const bool kind = !starts(from, "devices") && !closed.contains(from) && from != "probes" &&
                        (from != "jobs" || one.file.ends_with(".cu") || one.file.ends_with("cuda.cpp"));
      CHECK((from == "devices/cuda" || module || kernel || (kind && !from.empty())));
    }
    if (starts(one.file, "include/")) {
      CHECK_FALSE(starts(one.header, "boost/"));
      CHECK_FALSE(starts(one.header, "fmt/"));
      CHECK_FALSE(starts(one.header, "nlohmann/"));
      CHECK_FALSE(starts(one.header, "mpi"));
    }
  }
}

TEST_CASE("only the folder of GPUs spells how a GPU is called") {
  for (const char* folder : {"netpipe", "probes"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string file = fs::relative(entry.path(), root).string();
      const std::string extension = entry.path().extension().string();
      if (room(file) == "devices/cuda" || (extension != ".cpp" && extension != ".hpp" && extension != ".cu")) continue;
      std::ifstream text(entry.path());
      for (std::string line; std::getline(text, line);) {
        if (line.find("//") != std::string::npos) line.resize(line.find("//"));
        CAPTURE(file);
        CHECK(line.find("\"cuda:") == std::string::npos);
      }
    }
}

TEST_CASE("an example includes what is installed, and its own files") {
  const auto all = includes({"examples"});
  CHECK_FALSE(all.empty());
  for (const Include& one : all) {
    CAPTURE(one.file);
    CAPTURE(one.header);
    if (starts(one.header, "npgpu/")) CHECK(fs::exists(root / "include" / one.header));
    else if (one.header.find('/') != std::string::npos || one.header.find('.') != std::string::npos)
      CHECK((one.header == "cuda_runtime.h" || fs::exists(root / "examples" / one.header)));
  }
}

TEST_CASE("a file is one idea that fits a sitting") {
  for (const char* folder : {"include", "netpipe", "examples"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path());
      const auto lines = std::count(std::istreambuf_iterator<char>(file), {}, '\n');
      CAPTURE(entry.path().string());
      CHECK(lines <= 450);
    }
}

}  // namespace layering_test

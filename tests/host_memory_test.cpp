// Host buffers, and how much memory may be taken: folders stand in for /proc and /sys.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/host/payload.hpp"
#include "npgpu/error.hpp"
#include "npgpu/units.hpp"

namespace host_memory_test {

using namespace npgpu;
namespace fs = std::filesystem;

namespace {

class FakeRoot {
 public:
  FakeRoot() {
    std::string pattern = (fs::temp_directory_path() / "npgpu-root-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~FakeRoot() { fs::remove_all(path); }
  void file(const std::string& name, const std::string& text) {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
  }
  std::uint64_t free() const { return host::free_host_memory(path); }
  fs::path path;
};

const char* meminfo = "MemTotal:       8000 kB\nMemFree:        1000 kB\nMemAvailable:   6000 kB\n";

}  // namespace

TEST_CASE("a payload lies where it was asked for, with room for guards on both sides") {
  for (std::uint64_t offset : {0, 1, 63, 64, 4095, 4096, 5000})
    for (std::uint64_t bytes : {1, 4095, 4096, 100000}) {
      const host::PageableBuffer buffer(bytes, offset);
      CAPTURE(offset);
      CAPTURE(bytes);
      CHECK((reinterpret_cast<std::uintptr_t>(buffer.data()) - offset) % host::alignment_bytes == 0);
      CHECK(buffer.max_bytes() == bytes);
      const auto target = buffer.payload(bytes);
      payload::arm(target, 1);  // AddressSanitizer sees it if a guard lies outside
      payload::fill(target, 1);
      CHECK_FALSE(payload::verdict(target, 1));
    }
}

TEST_CASE("what an allocation takes can be added up by hand") {
  CHECK(host::allocation_bytes(1, 0) == 2 * 4096);          // a page of lead, then 1 + 64 bytes
  CHECK(host::allocation_bytes(4096 - 64, 0) == 2 * 4096);  // exactly full
  CHECK(host::allocation_bytes(4096 - 64, 1) == 3 * 4096);
  CHECK(host::allocation_bytes(std::numeric_limits<std::uint64_t>::max() - 10, 0) ==
        std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("a buffer larger than any memory is an error that says how large") {
  CHECK_THROWS_WITH_AS(host::PageableBuffer(std::uint64_t{1} << 62, 0),
                       doctest::Contains("no host memory for a buffer of 4611686018427387904 bytes"), Error);
  CHECK_THROWS_AS(host::PageableBuffer(std::numeric_limits<std::uint64_t>::max(), 7), Error);
}

TEST_CASE("a moved buffer keeps its bytes") {
  host::PageableBuffer a(100, 3);
  const std::byte* where = a.data();
  const host::PageableBuffer b = std::move(a);
  CHECK(b.data() == where);
}

TEST_CASE("without cgroups, free is what the kernel calls available") {
  FakeRoot root;
  root.file("proc/meminfo", meminfo);
  CHECK(root.free() == 6000 * KiB);
}

TEST_CASE("memory of GPUs that are NUMA nodes is none of the host's") {
  FakeRoot root;
  root.file("proc/meminfo", "MemTotal:       600000 kB\nMemFree:  1 kB\nMemAvailable:   400000 kB\n");
  CHECK(host::physical_memory(root.path) == 600000 * 1024);
  root.file("proc/driver/nvidia/gpus/0009:01:00.0/numa_status", "Node:           1\nNuma Status:    online\n");
  root.file("proc/driver/nvidia/gpus/0019:01:00.0/numa_status", "Node:           -1\nNuma Status:    disabled\n");
  root.file("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:  500000 kB\nNode 0 MemFree:  310000 kB\n");
  root.file("sys/devices/system/node/node1/meminfo",
            "Node 1 MemTotal:  100000 kB\nNode 1 MemFree:  80000 kB\nNode 1 Inactive(file):  4000 kB\n");
  CHECK(host::physical_memory(root.path) == 500000 * 1024);
  CHECK(root.free() == (400000 - 84000) * 1024);
}

TEST_CASE("cgroup 2: the tightest limit on the way up, page cache not counted as used") {
  FakeRoot root;
  root.file("proc/meminfo", meminfo);
  root.file("proc/self/cgroup", "0::/slice/job\n");
  root.file("sys/fs/cgroup/slice/job/memory.max", "max\n");
  root.file("sys/fs/cgroup/slice/job/memory.current", "1000\n");
  CHECK(root.free() == 6000 * KiB);
  root.file("sys/fs/cgroup/slice/memory.max", "1000000\n");
  root.file("sys/fs/cgroup/slice/memory.current", "300000\n");
  CHECK(root.free() == 700000);
  root.file("sys/fs/cgroup/slice/memory.stat", "anon 200000\nfile 100000\ninactive_file 60000\n");
  CHECK(root.free() == 760000);
  root.file("sys/fs/cgroup/slice/job/memory.max", "1500\n");
  CHECK(root.free() == 500);
  root.file("sys/fs/cgroup/slice/job/memory.current", "2000\n");  // over its limit: nothing, not 2^64 - 500
  CHECK(root.free() == 0);
}

TEST_CASE("cgroup 2 in a container: its own group is at the mount point, whatever path the host gave it") {
  FakeRoot root;
  root.file("proc/meminfo", meminfo);
  root.file("proc/self/cgroup", "0::/system.slice/docker-1234.scope\n");
  root.file("sys/fs/cgroup/memory.max", "2000000\n");
  root.file("sys/fs/cgroup/memory.current", "500000\n");
  CHECK(root.free() == 1500000);
}

TEST_CASE("cgroup 1: the memory controller's own tree, alone or mounted with others") {
  FakeRoot root;
  root.file("proc/meminfo", meminfo);
  for (const char* line : {"4:memory:/job/step\n", "3:cpuset:/\n4:cpu,memory:/job/step\n0::/\n"}) {
    root.file("proc/self/cgroup", line);
    root.file("sys/fs/cgroup/memory/job/step/memory.limit_in_bytes", "3000000\n");
    root.file("sys/fs/cgroup/memory/job/step/memory.usage_in_bytes", "1000000\n");
    root.file("sys/fs/cgroup/memory/job/step/memory.stat", "cache 500000\ntotal_inactive_file 400000\n");
    CHECK(root.free() == 2400000);
  }
  // "No limit" of version 1 is a number near 2^63.
  root.file("sys/fs/cgroup/memory/job/step/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(root.free() == 6000 * KiB);
}

TEST_CASE("this machine has free memory") { CHECK(host::free_host_memory() > 16 * MiB); }

}  // namespace host_memory_test

// Bytes of the host: what they hold, and where they lie.
#include "netpipe/devices/host/payload.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "netpipe/devices/host/memory.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace payload_test {

using namespace npgpu;
using payload::guard_bytes;

// The payload decides whether a run is believed, so it is tried against every way a copy can be wrong.

namespace {

// A target with its guards, at `shift` past whatever the allocator aligns to.
struct Target {
  explicit Target(std::size_t bytes, std::size_t shift = 0)
      : size(bytes), start(shift + guard_bytes), memory(start + bytes + guard_bytes) {}
  payload::Bytes span() { return {memory.data() + start, size}; }
  std::size_t size, start;
  std::vector<std::byte> memory;
};

unsigned byte_of(std::uint64_t word, int k) { return static_cast<unsigned>(word >> (8 * k)) & 0xff; }

}  // namespace

TEST_CASE("the pattern is what its header says") {
  // Seed 0: word 0 is 0; word 1 is 0x9E3779B97F4A7C15 ^ (the same >> 29) = 0x9E3779B97F4A7C15 ^ 0x4F1BBCDCB.
  const std::uint64_t word_1 = 0x9E3779B97F4A7C15 ^ 0x4F1BBCDCBull;
  Target t(17);
  payload::fill(t.span(), 0);
  for (int k = 0; k < 8; ++k) {
    CHECK(std::to_integer<unsigned>(t.span()[static_cast<std::size_t>(k)]) == 0);
    CHECK(std::to_integer<unsigned>(t.span()[8 + static_cast<std::size_t>(k)]) == byte_of(word_1, k));
  }
  // The 17th byte begins word 2 of a payload that ends in mid-word.
  const std::uint64_t x = 2 * 0x9E3779B97F4A7C15ull;
  CHECK(std::to_integer<unsigned>(t.span()[16]) == byte_of(x ^ (x >> 29), 0));
}

TEST_CASE("poison is the complement of every byte, so that no byte passes unwritten") {
  Target a(1000), b(1000);
  payload::fill(a.span(), 7);
  payload::poison(b.span(), 7);
  for (std::size_t i = 0; i < 1000; ++i) REQUIRE(a.span()[i] == ~b.span()[i]);
}

TEST_CASE("what was filled is right, at every size around words and blocks and at every misalignment") {
  for (std::size_t shift : {0, 1, 3, 8})
    for (std::size_t bytes = 1; bytes <= 1200; ++bytes) {
      Target t(bytes, shift);
      payload::arm(t.span(), bytes);
      payload::fill(t.span(), bytes);
      CAPTURE(bytes);
      REQUIRE_FALSE(payload::verdict(t.span(), bytes));
    }
}

TEST_CASE("every byte that is missing is found, first and last included") {
  for (std::size_t bytes = 1; bytes <= 300; ++bytes)
    for (std::size_t missing = 0; missing < bytes; ++missing) {
      Target t(bytes);
      payload::fill(t.span(), bytes);
      t.span()[missing] = ~t.span()[missing];  // what poison left there
      const auto wrong = payload::check(t.span(), bytes);
      REQUIRE(wrong);
      REQUIRE(wrong->index == missing);
    }
}

TEST_CASE("every change of one byte into any other value is found where it is") {
  for (std::size_t at : {0, 1, 511, 512, 513, 1023, 1024, 1029}) {
    Target t(1030);
    payload::fill(t.span(), 3);
    const std::byte right = t.span()[at];
    for (int flip = 1; flip < 256; ++flip) {
      t.span()[at] = right ^ std::byte(flip);
      const auto wrong = payload::check(t.span(), 3);
      REQUIRE(wrong);
      REQUIRE(wrong->index == at);
      REQUIRE(std::byte(wrong->expected) == right);
      REQUIRE(std::byte(wrong->actual) == t.span()[at]);
    }
  }
}

TEST_CASE("a copy from any wrong offset is found, from 8 bytes on") {
  std::vector<std::byte> source(300 + 4096);
  payload::fill(source, 42);
  for (std::size_t bytes = 8; bytes <= 300; ++bytes)
    for (std::size_t offset = 1; offset <= 4096; ++offset) {
      if (!payload::check({source.data() + offset, bytes}, 42)) {
        CAPTURE(bytes);
        CAPTURE(offset);
        FAIL("not found");
      }
    }
}

TEST_CASE("one byte cannot tell every wrong source byte, and that is said in the header") {
  std::vector<std::byte> source(4096);
  payload::fill(source, 42);
  int missed = 0;
  for (std::size_t offset = 1; offset < 4096; ++offset) missed += !payload::check({source.data() + offset, 1}, 42);
  CHECK(missed > 0);  // about 1 of 256
  CHECK(missed < 4096 / 64);
}

TEST_CASE("a copy that did nothing, stopped short or ran over is found") {
  for (std::size_t bytes = 1; bytes <= 300; ++bytes) {
    CAPTURE(bytes);
    Target source(bytes + 8), t(bytes);
    payload::fill(source.span(), 9);
    payload::arm(t.span(), 9);
    REQUIRE(payload::verdict(t.span(), 9));
    std::memcpy(t.span().data(), source.span().data(), bytes - 1);
    REQUIRE(payload::check(t.span(), 9) == payload::Mismatch{bytes - 1,
                                                             std::to_integer<std::uint8_t>(source.span()[bytes - 1]),
                                                             std::to_integer<std::uint8_t>(~source.span()[bytes - 1])});
    std::memcpy(t.span().data(), source.span().data(), bytes);
    REQUIRE_FALSE(payload::verdict(t.span(), 9));
    t.span().data()[bytes] = std::byte{0};
    REQUIRE(payload::verdict(t.span(), 9));
    t.span().data()[bytes] = payload::guard_value;
    t.span().data()[-1] = std::byte{0};
    REQUIRE(payload::verdict(t.span(), 9));
  }
}

TEST_CASE("every guard byte counts") {
  for (std::size_t i = 0; i < guard_bytes; ++i) {
    Target t(40);
    payload::arm(t.span(), 1);
    payload::fill(t.span(), 1);
    t.memory[i] = std::byte{1};
    CHECK(payload::verdict(t.span(), 1) == "guard byte " + std::to_string(i) +
                                               " of the 64 before the payload is 0x01, expected 0xa5: the copy wrote "
                                               "outside its target");
    t.memory[i] = payload::guard_value;
    t.memory[guard_bytes + 40 + i] = std::byte{2};
    CHECK(payload::verdict(t.span(), 1) == "guard byte " + std::to_string(i) +
                                               " of the 64 after the payload is 0x02, expected 0xa5: the copy wrote "
                                               "outside its target");
  }
}

TEST_CASE("a payload of zeros is said to be one, and one with a byte that is not zero is not") {
  for (const std::size_t bytes : {8, 9, 4096}) {
    Target t(bytes);
    payload::arm(t.span(), 42);
    std::ranges::fill(t.span(), std::byte{0});
    CHECK(payload::verdict(t.span(), 42) == payload::zeros_sentence(bytes));
    t.span().back() = std::byte{1};
    CHECK(payload::verdict(t.span(), 42).value().find("byte ") == 0);
  }
  CHECK(payload::zeros_sentence(4096) == "all 4096 bytes are 0x00");
}

TEST_CASE("a wrong byte is one sentence, and one never written says so") {
  CHECK(payload::sentence({17, 0xa3, 0x00}, 4096) == "byte 17 of 4096 is 0x00, expected 0xa3");
  CHECK(payload::sentence({17, 0xa3, 0x5c}, 4096) == "byte 17 of 4096 is 0x5c, expected 0xa3: never written");
}

// Host buffers, and how much memory may be taken: folders stand in for /proc and /sys.

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

}  // namespace payload_test

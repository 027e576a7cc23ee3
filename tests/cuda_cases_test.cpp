// What a CUDA copy cannot be asked for is said before any GPU is looked for: these run everywhere.
#include <doctest/doctest.h>

#include "netpipe/modules/cuda/copy_channel.hpp"

namespace cuda_cases_test {

using namespace npgpu;
using cuda::why_impossible;

namespace {

// A case that can run, with one thing changed.
TransferCase with(void (*change)(TransferCase&)) {
  TransferCase c = case_on("cudaMemcpy", "cuda:0");
  change(c);
  return c;
}

// Each refusal names the option at fault and one that would work.
void refused(const TransferCase& c, std::initializer_list<const char*> words) {
  const auto why = why_impossible(c);
  INFO(title(c));
  REQUIRE(why);
  INFO(*why);
  for (const char* word : words) CHECK(why->find(word) != std::string::npos);
  CHECK(why->find('\n') == std::string::npos);
  CHECK(why->back() != '.');
}

}  // namespace

TEST_CASE("what programs do with their GPU is not refused") {
  for (const bool async : {false, true})
    for (const Direction d : {Direction::h2d, Direction::d2h})
      for (const Memory m : {Memory::pinned, Memory::pageable, Memory::write_combined, Memory::managed})
        for (const Pattern p : {Pattern::stream, Pattern::pingpong})
          for (const Timing t : {Timing::host, Timing::event}) {
            TransferCase c = case_on("cudaMemcpy", "cuda:0", d);
            c.pattern = p;
            c.memory = m;
            c.async = async;
            c.timing = t;
            INFO(title(c));
            CHECK_FALSE(why_impossible(c));
          }
  CHECK_FALSE(why_impossible(with([](TransferCase& c) {
    c.direction = Direction::d2d;
    c.memory = Memory::device;
  })));
  CHECK_FALSE(why_impossible(with([](TransferCase& c) { c.direction = Direction::h2h; })));
  CHECK_FALSE(why_impossible(with([](TransferCase& c) {
    c.async = true;
    c.timing = Timing::gated;
    c.pattern = Pattern::duplex;
  })));
  CHECK_FALSE(why_impossible(with([](TransferCase& c) {  // two threads, as the engine drives what does not only enqueue
    c.async = true;
    c.memory = Memory::pageable;
    c.pattern = Pattern::duplex;
  })));
}

TEST_CASE("memories that do not fit their direction") {
  refused(with([](TransferCase& c) { c.direction = Direction::d2d; }),
          {"--direction d2d", "--memory device", "pinned"});
  refused(with([](TransferCase& c) { c.memory = Memory::device; }), {"--memory", "--direction h2d", "pinned"});
  refused(with([](TransferCase& c) {
            c.direction = Direction::d2h;
            c.memory = Memory::device;
          }),
          {"--memory", "--direction d2h", "pinned"});
  refused(with([](TransferCase& c) {
            c.direction = Direction::h2h;
            c.memory = Memory::write_combined;
          }),
          {"--direction h2h", "write-combined", "--memory pinned"});
  refused(with([](TransferCase& c) {
            c.direction = Direction::h2h;
            c.memory = Memory::managed;
          }),
          {"--direction h2h", "managed", "--memory pinned"});
  refused(with([](TransferCase& c) {
            c.direction = Direction::h2h;
            c.memory = Memory::device;
          }),
          {"--direction h2h", "--memory pinned"});
}

TEST_CASE("copies within the host are the CPU's") {
  refused(with([](TransferCase& c) {
            c.direction = Direction::h2h;
            c.async = true;
          }),
          {"--direction h2h", "--async"});
  refused(with([](TransferCase& c) {
            c.direction = Direction::h2h;
            c.timing = Timing::event;
          }),
          {"--timing event", "--timing host"});
  refused(with([](TransferCase& c) {
            c.direction = Direction::h2h;
            c.timing = Timing::gated;
          }),
          {"--timing gated", "--timing host"});
  refused(with([](TransferCase& c) {
            c.direction = Direction::h2h;
            c.pattern = Pattern::duplex;
          }),
          {"--pattern duplex", "--module memcpy"});
}

TEST_CASE("behind a gate only what enqueues") {
  refused(with([](TransferCase& c) { c.timing = Timing::gated; }), {"--timing gated", "--async"});
  for (const auto memory : {Memory::pageable, Memory::managed}) {
    TransferCase c = case_on("cudaMemcpy", "cuda:0");
    c.memory = memory;
    c.async = true;
    c.timing = Timing::gated;
    refused(c, {"--timing gated", "--memory pinned", "--timing host"});
  }
}

TEST_CASE("both directions at once") {
  refused(with([](TransferCase& c) { c.pattern = Pattern::duplex; }), {"--pattern duplex", "--async"});
  refused(with([](TransferCase& c) {
            c.pattern = Pattern::duplex;
            c.direction = Direction::d2d;
            c.memory = Memory::device;
            c.async = true;
          }),
          {"--pattern duplex", "--direction d2d", "h2d"});
}

TEST_CASE("between two GPUs") {
  TransferCase c = peer_case("cudaMemcpy", "cuda:0", "cuda:1", Access::read);
  for (const bool async : {false, true})
    for (const Pattern pattern : {Pattern::stream, Pattern::pingpong}) {
      c.async = async;
      c.pattern = pattern;
      CHECK_FALSE(why_impossible(c));
    }
  c.timing = Timing::gated;
  CHECK_FALSE(why_impossible(c));
  c.access = Access::staged;
  refused(c, {"--timing gated", "staged", "--timing event"});
  c.timing = Timing::event;
  CHECK_FALSE(why_impossible(c));
  c.executor = Executor::sm_kernel;
  refused(c, {"--access staged", "--executor copy-engine"});
  c.access = Access::write;
  c.async = false;
  refused(c, {"--executor sm-kernel", "--async"});
  c.memory = Memory::pinned;
  refused(c, {"--direction peer", "--memory device"});
  refused(peer_case("cudaMemcpy", "cuda:0", "cuda:0"), {"--direction peer", "two devices", "--to"});
}

TEST_CASE("single words: who can wait for them, and where they lie") {
  TransferCase c = case_on("cudaKernel", "cuda:0");
  c.pattern = Pattern::flag;
  refused(c, {"--pattern flag", "--executor sm-kernel"});
  c.executor = Executor::sm_kernel;
  c.async = true;
  CHECK_FALSE(why_impossible(c));
  c.memory = Memory::write_combined;
  refused(c, {"--pattern flag", "--memory pinned"});
  c.pattern = Pattern::atomic;
  CHECK_FALSE(why_impossible(c));
  c.cache = Cache::cold;
  refused(c, {"--pattern atomic", "--cache"});
  c = case_on("cudaKernel", "cuda:0", Direction::d2h);
  c.executor = Executor::sm_kernel;
  c.pattern = Pattern::chase;
  refused(c, {"--pattern chase", "--direction h2d", "--access read"});
  c = peer_case("cudaKernel", "cuda:0", "cuda:1", Access::write);
  c.executor = Executor::sm_kernel;
  c.async = true;
  c.pattern = Pattern::flag;
  CHECK_FALSE(why_impossible(c));
  c.pattern = Pattern::atomic;
  refused(c, {"--pattern atomic", "--access read"});
}

TEST_CASE("each module has its executor") {
  TransferCase c = case_on("cudaMemcpy", "cuda:0");
  CHECK_FALSE(cuda::why_other_executor(c, Executor::copy_engine));
  CHECK(cuda::why_other_executor(c, Executor::sm_kernel)->find("--executor sm-kernel") != std::string::npos);
  c.executor = Executor::sm_kernel;
  CHECK(cuda::why_other_executor(c, Executor::copy_engine)->find("--module cudaKernel") != std::string::npos);
  CHECK_FALSE(cuda::why_other_executor(c, Executor::sm_kernel));
}

TEST_CASE("several lanes of blocking copies would wait for each other") {
  TransferCase c = case_on("cudaMemcpy", "cuda:0");
  c.more_lanes = lanes(c);
  refused(c, {"several lanes", "--async"});
  c.async = true;
  CHECK_FALSE(why_impossible(c));
}

TEST_CASE("slots leave room for an offset and the guards, at one distance for both ends") {
  TransferCase c{.source_offset = 1, .target_offset = 7};
  // 7 + 100 + 2*64 = 235, in whole 256 bytes; with 22 more it would be 257
  CHECK(cuda::stride_bytes(c, 100) == 256);
  CHECK(cuda::stride_bytes(c, 121) == 256);
  CHECK(cuda::stride_bytes(c, 122) == 512);
  CHECK(cuda::stride_bytes(c, UINT64_MAX) == UINT64_MAX);
}

TEST_CASE("warm: one slot; cold: as many as fit into the footprint, and one where none does") {
  TransferCase c;
  CHECK(cuda::area_bytes(c, 100, 0) == 256);
  CHECK(cuda::slot_count(c, 100, 256) == 1);
  c.cache = Cache::cold;
  CHECK(cuda::area_bytes(c, 100, 1024) == 1024);
  CHECK(cuda::slot_count(c, 100, 1024) == 4);
  CHECK(cuda::area_bytes(c, 4096, 1024) == 4352);  // 4096 + 128 in whole 256 bytes
  CHECK(cuda::slot_count(c, 4096, 4352) == 1);
}

TEST_CASE("needs: both ends, the landing buffer of a round trip, managed memory on both sides") {
  // An end of 4096 + 128 bytes lies in 4352, behind a page of lead and in whole pages.
  TransferCase c;
  const MemoryNeed once = cuda::needs(c, 4096, 0);
  c.pattern = Pattern::pingpong;
  const MemoryNeed twice = cuda::needs(c, 4096, 0);
  CHECK(twice.host_bytes - once.host_bytes >= 4096 + 4352);
  CHECK(twice.host_bytes - once.host_bytes <= 4 * 4096);
  CHECK(twice.device_bytes == once.device_bytes);
  c.pattern = Pattern::stream;
  c.memory = Memory::managed;
  CHECK(cuda::needs(c, 4096, 0).device_bytes == once.device_bytes + 2 * MiB);
  CHECK(cuda::needs(c, UINT64_MAX, 0).host_bytes == UINT64_MAX);
  CHECK(cuda::needs(c, UINT64_MAX, 0).device_bytes == UINT64_MAX);
}

}  // namespace cuda_cases_test

// Copies by kernels, chases, several lanes at once; and, where there are two GPUs, all of it between them.
#include <doctest/doctest.h>

#include <string>

#include "tests/gpu/cases.hpp"

namespace peers_test {

using namespace npgpu;
using test::measured;

namespace {

std::vector<std::string> gpus() {
  std::vector<std::string> all;
  for (const DeviceInfo& gpu : devices::gpus()) all.push_back(gpu.id);
  return all;
}

bool has_two() {
  if (gpus().size() > 1) return true;
  MESSAGE("one GPU: nothing to copy to");
  return false;
}

TransferCase between(const char* module, Access access, Pattern pattern = Pattern::stream) {
  TransferCase c = peer_case(module, gpus()[0], gpus()[1], access);
  c.pattern = pattern;
  c.executor = test::module_called(module).executor();
  return c;
}

// Times are there, and what arrived is right.
void moves(TransferCase c, std::uint64_t bytes, std::uint64_t repeats = 4) {
  INFO(title(c) << " " << bytes);
  if (const auto why = test::module_called(c.module.c_str()).refuses_case(c)) {
    MESSAGE(*why);
    return;
  }
  const Measured<Transfers> point = measured(c, bytes, repeats);
  CHECK(point.mismatch == "");
  for (const TransferSample& sample : point.samples)
    CHECK((c.timing == Timing::host ? sample.host_us : sample.device_us) > 0);
}

}  // namespace

TEST_CASE("kernels copy every size and alignment, to, from and within a GPU") {
  for (const Direction direction : {Direction::h2d, Direction::d2h, Direction::d2d})
    for (const auto& [from, to] : {std::pair{0, 0}, {1, 1}, {1, 0}, {0, 2}, {4, 0}, {8, 0}, {3, 9}})
      for (const std::uint64_t bytes : {1, 7, 16, 17, 4095, 65537, 1 << 20}) {
        TransferCase c = case_on("cudaKernel", devices::default_device(), direction);
        c.executor = Executor::sm_kernel;
        c.async = true;
        c.timing = Timing::gated;
        c.source_offset = static_cast<std::uint64_t>(from);
        c.target_offset = static_cast<std::uint64_t>(to);
        moves(c, bytes);
      }
}

TEST_CASE("a chase ends where its order leads, and flags come back: host's memory and own, all timings") {
  for (const Pattern pattern : {Pattern::chase, Pattern::atomic, Pattern::flag})
    for (const Direction direction : {Direction::h2d, Direction::d2d}) {
      TransferCase c = case_on("cudaKernel", devices::default_device(), direction);
      c.executor = Executor::sm_kernel;
      c.pattern = pattern;
      c.async = true;
      if (test::module_called("cudaKernel").refuses_case(c)) continue;
      for (const Timing timing : {Timing::gated, Timing::event, Timing::host}) {
        c.timing = timing;
        moves(c, single_word_bytes, 5'000);
      }
      const Measured<Transfers> point = measured(c, single_word_bytes, 5'000);
      MESSAGE(title(c) << ": " << point.samples.back().host_us / 5 << " ns");
    }
}

TEST_CASE("a second process's memory: every size, there and back") {
  for (const Pattern pattern : {Pattern::stream, Pattern::pingpong})
    for (const Timing timing : {Timing::gated, Timing::event, Timing::host})
      for (const std::uint64_t bytes : {1, 4097, 3 << 20}) {
        TransferCase c = case_on("cudaIpc", devices::default_device(), Direction::d2d);
        c.pattern = pattern;
        c.async = true;
        c.timing = timing;
        REQUIRE(!test::module_called("cudaIpc").refuses_case(c));
        moves(c, bytes);
      }
}

TEST_CASE("four lanes of one GPU at once, each with a time of its own") {
  for (const char* module : {"cudaMemcpy", "cudaKernel"}) {
    TransferCase c = case_on(module, devices::default_device(), Direction::h2d);
    c.executor = test::module_called(module).executor();
    c.async = true;
    c.timing = Timing::gated;
    const Lane there = lanes(c).front();
    c.more_lanes = {reversed(there), there, reversed(there)};
    const Measured<Transfers> point = measured(c, 8 * MiB, 8);
    CHECK(point.mismatch == "");
    REQUIRE(point.samples.size() == 12);
    for (const TransferSample& sample : point.samples) CHECK(sample.device_us > 0);
  }
}

TEST_CASE("every copy between two GPUs arrives: modules, access, patterns, timings, sizes") {
  if (!has_two()) return;
  for (const char* module : {"cudaMemcpy", "cuMemcpy", "cudaKernel"})
    for (const Access access : {Access::write, Access::read, Access::staged})
      for (const Pattern pattern : {Pattern::stream, Pattern::pingpong, Pattern::duplex})
        for (const bool async : {false, true})
          for (const Timing timing : {Timing::host, Timing::event, Timing::gated})
            for (const std::uint64_t bytes : {1, 4097, 3 << 20}) {
              TransferCase c = between(module, access, pattern);
              c.async = async;
              c.timing = timing;
              if (!test::module_called(module).refuses_case(c)) moves(c, bytes);
            }
}

TEST_CASE("after copies through the host direct ones are direct again, and faster") {
  if (!has_two()) return;
  const auto rate = [](Access access) {
    TransferCase c = between("cudaMemcpy", access);
    c.async = true;
    c.timing = Timing::event;
    const Measured<Transfers> point = measured(c, 64 * MiB, 4);
    CHECK(point.mismatch == "");
    return 4.0 * 64 * MiB / point.samples.back().device_us / 1e3;
  };
  if (test::module_called("cudaMemcpy").refuses_case(between("cudaMemcpy", Access::write))) return;
  const double before = rate(Access::write), staged = rate(Access::staged), after = rate(Access::write);
  MESSAGE("direct " << before << " GB/s, through the host " << staged << ", direct again " << after);
  CHECK(staged < 0.9 * before);
  CHECK(after > 0.8 * before);
}

TEST_CASE("a load from another GPU, an atomic addition there, a flag to and fro") {
  if (!has_two()) return;
  for (const Pattern pattern : {Pattern::chase, Pattern::atomic, Pattern::flag}) {
    TransferCase c = between("cudaKernel", pattern == Pattern::flag ? Access::write : Access::read, pattern);
    c.async = true;
    c.timing = Timing::gated;
    INFO(title(c));
    if (test::module_called("cudaKernel").refuses_case(c)) continue;
    const Measured<Transfers> point = measured(c, single_word_bytes, 20'000);
    CHECK(point.mismatch == "");
    const double ns = point.samples.back().device_us / 20'000 * 1e3;
    MESSAGE(title(c) << ": " << ns << " ns");
    CHECK(ns > 100);
    CHECK(ns < 20'000);
  }
}

TEST_CASE("both ways at once between two GPUs, by engines and by kernels") {
  if (!has_two()) return;
  for (const char* module : {"cudaMemcpy", "cudaKernel"})
    for (const Access access : {Access::write, Access::read}) {
      TransferCase c = between(module, access);
      c.async = true;
      c.timing = Timing::gated;
      c.more_lanes = {reversed(lanes(c).front())};
      INFO(title(c));
      if (test::module_called(module).refuses_case(c)) continue;
      const Measured<Transfers> point = measured(c, 64 * MiB, 8);
      CHECK(point.mismatch == "");
      const auto rate = [&](std::size_t from_end) {
        return 8.0 * 64 * MiB / point.samples[point.samples.size() - from_end].device_us / 1e3;
      };
      MESSAGE(title(c) << ": " << rate(2) << " and " << rate(1) << " GB/s");
    }
}

}  // namespace peers_test

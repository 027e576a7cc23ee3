// Kernels on simulated multiprocessors: cycles that can be counted by hand.
#include "netpipe/devices/simulated/multiprocessors.hpp"

#include <doctest/doctest.h>

#include "netpipe/devices/simulated/library.hpp"
#include "npgpu/error.hpp"

namespace multiprocessors_test {

using namespace npgpu;
using namespace npgpu::simulated;

namespace {

// 2 SMs of 2 schedulers and 32 lanes: an instruction keeps a scheduler busy for 2 cycles. Results come after 18.
Multiprocessors made() {
  Multiprocessors m;
  m.sms = 2;
  m.schedulers = 2;
  m.lanes = 32;
  m.warps = 48;
  m.blocks = 8;
  m.block_threads = 1024;
  m.clock_hz = 1e9;
  return m;
}

constexpr WarpStep fma_step{.latency_cycles = 18, .instructions = 1};

double cycles(const Grid& grid, const WarpStep& step, double steps = 1) {
  return kernel_time(made(), grid, step, steps).cycles;
}

}  // namespace

TEST_CASE("a chain waits for its latency until enough warps hide it") {
  CHECK(cycles({1, 1}, fma_step) == 18);
  CHECK(cycles({1, 1}, fma_step, 10) == 180);
  CHECK(cycles({1, 32}, fma_step) == 18);    // as long as with one thread
  CHECK(cycles({1, 576}, fma_step) == 18);   // 18 warps, 9 a scheduler: 9 * 2
  CHECK(cycles({1, 577}, fma_step) == 20);   // the 19th makes one scheduler issue ten
  CHECK(cycles({1, 1024}, fma_step) == 32);  // 16 a scheduler
  CHECK(cycles({1, 1}, {18, 9}) == 18);      // nine chains of one warp fill its scheduler
  CHECK(cycles({1, 1}, {18, 10}) == 20);
}

TEST_CASE("an idle SM gets no block: the others take its share") {
  Multiprocessors m = made();
  m.idle_sms = 1;
  CHECK(kernel_time(m, {8, 1}, fma_step, 1).cycles == 18);
  CHECK(kernel_time(m, {16, 1}, fma_step, 1).cycles == 36);  // 18 on both
  CHECK(kernel_time(m, {16, 1}, fma_step, 1).units == 1);
}

TEST_CASE("blocks go to SMs in turn, as many at a time as an SM holds") {
  CHECK(cycles({2, 1}, fma_step) == 18);
  CHECK(cycles({16, 1}, fma_step) == 18);    // 8 an SM
  CHECK(cycles({17, 1}, fma_step) == 36);    // the 17th waits
  CHECK(cycles({160, 1}, fma_step) == 180);  // ten waves
  CHECK(cycles({6, 512}, fma_step) == 48);   // 3 blocks of 16 warps: 24 a scheduler
  CHECK(cycles({8, 512}, fma_step) ==
        48 + 18);  // a fourth does not fit beside them: it runs alone, 16 warps in 18 cycles
  const KernelTime t = kernel_time(made(), {17, 1}, fma_step, 1);
  CHECK(t.block_cycles == 18);
  CHECK(t.units == 2);
  CHECK(t.max_blocks_on_unit == 9);
  CHECK(kernel_time(made(), {1, 1}, fma_step, 1).units == 1);
}

TEST_CASE("alone: one block an SM at a time") {
  const KernelTime two = kernel_time(made(), {2, 1, true}, fma_step, 1);
  CHECK(two.cycles == 18);
  CHECK(two.max_blocks_on_unit == 1);
  const KernelTime four = kernel_time(made(), {4, 1, true}, fma_step, 1);
  CHECK(four.cycles == 36);
  CHECK(four.max_blocks_on_unit == 2);  // one after the other, but no more alone on its SM
}

TEST_CASE("an SM's way to memory and the bus set the pace once they are full") {
  Multiprocessors m = made();
  m.sm_bytes_per_cycle = 16;
  m.bus_bytes_per_s = 20e9;  // 20 B a cycle
  const auto of = [&](std::uint64_t blocks, double bytes, double bus) {
    return kernel_time(m, {blocks, 32}, {100, 2, bytes, bus}, 1).cycles;
  };
  CHECK(of(1, 256, 256) == 100);                     // 16 and 12.8 cycles: latency
  CHECK(of(1, 3200, 3200) == 200);                   // the way of one SM
  CHECK(of(2, 3200, 3200) == doctest::Approx(320));  // two SMs, and 6400 B on the bus
  CHECK(of(2, 320, 3200) == doctest::Approx(320));   // ten times the bytes in transactions
}

TEST_CASE("a block that no SM can hold is refused") {
  CHECK_THROWS_AS(cycles({1, 1025}, fma_step), Error);
  CHECK_THROWS_AS(cycles({0, 32}, fma_step), Error);
  CHECK_THROWS_AS(cycles({1, 0}, fma_step), Error);
  Multiprocessors m = made();
  m.warps = 16;
  CHECK_THROWS_AS(kernel_time(m, {1, 1024}, fma_step, 1), Error);
}

TEST_CASE("what a spec must say for kernels, and what it may leave out") {
  const Spec h200 = spec_of("sim:h200");
  CHECK_FALSE(why_no_kernels(h200, Need::compute));
  CHECK_FALSE(why_no_kernels(h200, Need::memory));
  const Multiprocessors m = multiprocessors_of(h200);
  CHECK(m.sms == 132);
  CHECK(m.schedulers == 4);
  CHECK(m.lanes == 128);
  CHECK(m.clock_hz == doctest::Approx(1.98e9));
  CHECK(m.bus_bytes_per_s == doctest::Approx(4282e9));
  const Spec plain = spec_of("sim:plain");
  const std::string why = why_no_kernels(plain, Need::compute).value_or("");
  CHECK(why.find("the spec of Plain does not say how its kernels run: add hardware.warps, hardware.blocks, "
                 "hardware.fma_latency_cycles to ") == 0);
  CHECK(why_no_kernels(plain, Need::memory)->find("memory_latency_cycles") != std::string::npos);
}

}  // namespace multiprocessors_test

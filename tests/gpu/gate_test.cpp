// The gate holds, opens, gives up, and says which.
#include "netpipe/devices/cuda/gate.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>

#include "netpipe/devices/cuda/check.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace gate_test {

using namespace npgpu;
using namespace npgpu::cuda;
using namespace std::chrono_literals;

namespace {

Seconds since(Seconds begin) { return steady_clock().now() - begin; }

}  // namespace

TEST_CASE("a closed gate holds what is behind it until it is opened") {
  make_current(0);
  const Stream stream;
  Gate gate;
  Buffer device(Memory::device, 64), host(Memory::pinned, 64);
  for (int round = 0; round < 3; ++round) {
    gate.hold(stream.get());
    check(cudaMemcpyAsync(device.data(), host.data(), 64, cudaMemcpyHostToDevice, stream.get()), "copying");
    std::this_thread::sleep_for(20ms);
    CHECK(cudaStreamQuery(stream.get()) == cudaErrorNotReady);
    (void)cudaGetLastError();
    const Seconds begin = steady_clock().now();
    gate.release();
    stream.synchronize();
    CHECK(since(begin) < 100ms);
    CHECK_FALSE(gate.timed_out());
  }
}

TEST_CASE("a gate that nobody opens gives up after its time, and only that hold is void") {
  make_current(0);
  const Stream stream;
  Gate gate(Seconds{0.1});
  const Seconds begin = steady_clock().now();
  gate.hold(stream.get());
  stream.synchronize();
  CHECK(since(begin) > 90ms);
  CHECK(since(begin) < 1s);
  CHECK(gate.timed_out());
  gate.hold(stream.get());
  gate.release();
  stream.synchronize();
  CHECK_FALSE(gate.timed_out());
}

TEST_CASE("a gate opened before its kernel starts is open") {
  make_current(0);
  const Stream stream;
  Gate gate(Seconds{1});
  for (int i = 0; i < 100; ++i) {
    gate.hold(stream.get());
    gate.release();
  }
  stream.synchronize();
  CHECK_FALSE(gate.timed_out());
}

TEST_CASE("leaving a closed gate behind opens it") {
  make_current(0);
  const Stream stream;
  const Seconds begin = steady_clock().now();
  {
    Gate gate;
    gate.hold(stream.get());
  }
  stream.synchronize();
  CHECK(since(begin) < 1s);
}

TEST_CASE("timing: between the marks, not the wait; nothing if the gate gave up; no gate, no hold") {
  make_current(0);
  const Stream stream;
  StreamTimer timer(0, stream.get(), Seconds{0.1});
  timer.hold();
  timer.start();
  timer.stop();
  std::this_thread::sleep_for(20ms);
  timer.release();
  stream.synchronize();
  const auto opened = timer.elapsed();
  REQUIRE(opened);
  CHECK(*opened < 1ms);  // the 20 ms before the gate opened are not in it

  timer.hold();
  timer.start();
  timer.stop();
  stream.synchronize();
  CHECK_FALSE(timer.elapsed());

  timer.start();  // an event-timed trial after a void one
  timer.stop();
  stream.synchronize();
  CHECK(timer.elapsed());

  StreamTimer ungated(0, stream.get(), std::nullopt);
  CHECK_THROWS_AS(ungated.hold(), Error);
}

// How many copies fit is the driver's secret; what is promised has to fit, with the events, of both directions of a
// duplex case at once. Prints what did fit.
TEST_CASE("what is promised to fit behind a gate does") {
  make_current(0);
  constexpr int tried = 2500;
  constexpr std::uint64_t most = 64 * MiB;
  constexpr std::uint64_t linked = 4 * MiB;  // over the link, where what did fit has to be waited for
  Buffer a(Memory::device, most + 8), b(Memory::device, most + 8), host(Memory::pinned, most + 8);
  Buffer combined(Memory::write_combined, most);
  struct Kind {
    std::string name;
    void* to;
    void* from;
    int streams;
    std::uint64_t largest;
  };
  for (const Kind& kind :
       {Kind{"h2d", a.data(), host.data(), 1, linked}, Kind{"d2h", host.data(), a.data(), 1, linked},
        Kind{"d2d", b.data(), a.data(), 1, most}, Kind{"h2d from write-combined", a.data(), combined.data(), 1, linked},
        Kind{"h2d at odd addresses", a.data() + 1, host.data() + 7, 1, linked},
        Kind{"d2d at odd addresses", b.data() + 1, a.data() + 7, 1, most},
        Kind{"h2d in two streams in turn", a.data(), host.data(), 2, linked}})
    for (const std::uint64_t bytes : {std::uint64_t{8}, 64 * KiB, kind.largest}) {
      const Stream one, two;
      Gate gate(Seconds{0.1}), second(Seconds{0.1});
      const auto copy = [&](int i) {
        check(cudaMemcpyAsync(kind.to, kind.from, bytes, cudaMemcpyDefault, (i % kind.streams ? two : one).get()),
              "copying");
      };
      copy(0);
      check(cudaDeviceSynchronize(), "loading");
      gate.hold(one.get());
      if (kind.streams == 2) second.hold(two.get());
      int fit = 0;
      for (; fit < tried; ++fit) {
        const Seconds begin = steady_clock().now();
        copy(fit);
        if (since(begin) > 20ms) break;
      }
      gate.release();
      second.release();
      check(cudaDeviceSynchronize(), "copying");
      MESSAGE(kind.name << " of " << bytes << " bytes: " << fit << std::string(fit == tried ? " or more" : "")
                        << " fit behind a gate");
      CHECK(static_cast<std::uint64_t>(fit) >= Gate::capacity() + 2);
    }
}

}  // namespace gate_test

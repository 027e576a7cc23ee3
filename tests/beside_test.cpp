// What is measured with a second process, on simulated devices, whose truth is exact: what both use takes twice as
// long, and everything else as long as before.
#include "npgpu/beside.hpp"

#include <doctest/doctest.h>

#include "netpipe/campaign/second_process.hpp"
#include "npgpu/module.hpp"
#include "npgpu/transfer.hpp"

namespace beside_test {

using namespace npgpu;

namespace {

TransferCase copy(Direction direction, Beside beside, bool async = false) {
  TransferCase c = case_on("simulated", "sim:plain", direction);
  c.async = async;
  c.beside = beside;
  return c;
}

struct Result {
  double us = 0;  // of an operation
  std::uint64_t beside_done = 0;
};
Result measured(const TransferCase& c, std::uint64_t bytes, std::uint64_t repeats = 100) {
  const std::vector<Step<Transfers>> steps{{c, {bytes}}};
  const auto runner =
      campaign::with_second_process<Transfers>(steps, [&] { return find_module(c.module)->open(steps); });
  runner->prepare(steps.front());
  std::vector<TransferSample> samples;
  REQUIRE(runner->run(repeats, samples));
  CHECK_FALSE(runner->check(samples));
  return {samples.front().host_us / static_cast<double>(repeats), runner->beside_done()};
}

}  // namespace

TEST_CASE("copies over the link share it with one that copies, and with nobody else") {
  // 10 GB/s there and 8 GB/s back.
  for (const auto& [direction, transfer_us] : {std::pair{Direction::h2d, 6.5536}, {Direction::d2h, 8.192}}) {
    const double alone = measured(copy(direction, Beside::nobody), 64 * KiB).us;
    CHECK(measured(copy(direction, Beside::copies), 64 * KiB).us - alone == doctest::Approx(transfer_us));
    for (const Beside beside : {Beside::idle, Beside::kernels, Beside::launches})
      CHECK(measured(copy(direction, beside), 64 * KiB).us == doctest::Approx(alone));
    CHECK(measured(copy(direction, Beside::nobody), 64 * KiB).us == doctest::Approx(alone));  // it is gone
  }
}

TEST_CASE("copies within the device share it with one that computes or launches") {
  const auto within = [](Beside beside) { return measured(copy(Direction::d2d, beside, true), MiB, 1000).us; };
  const double alone = within(Beside::nobody);
  CHECK(alone == doctest::Approx(10.48576 + 0.25).epsilon(0.001));  // 100 GB/s, and the gap
  for (const Beside beside : {Beside::kernels, Beside::launches})
    CHECK(within(beside) == doctest::Approx(2 * 10.48576 + 0.25).epsilon(0.001));
  for (const Beside beside : {Beside::idle, Beside::copies}) CHECK(within(beside) == doctest::Approx(alone));
}

TEST_CASE("what the second process did is counted; of one that has no work, nothing") {
  for (const Beside beside : {Beside::copies, Beside::kernels, Beside::launches})
    CHECK(measured(copy(Direction::h2d, beside), KiB).beside_done > 0);
  for (const Beside beside : {Beside::nobody, Beside::idle})
    CHECK(measured(copy(Direction::h2d, beside), KiB).beside_done == 0);
}

TEST_CASE("a device on which no second process can be is one sentence") {
  TransferCase c = case_on("memcpy", "host", Direction::h2h);
  c.beside = Beside::idle;
  const std::vector<Step<Transfers>> steps{{c, {KiB}}};
  CHECK_THROWS_WITH(campaign::with_second_process<Transfers>(steps, [&] { return find_module("memcpy")->open(steps); }),
                    "there is no second process on host");
}

}  // namespace beside_test

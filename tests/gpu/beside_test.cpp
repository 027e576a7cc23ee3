// The second process on a GPU: it works when it is told to, stops, says how much it did, and goes.
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "netpipe/campaign/second_process.hpp"
#include "tests/gpu/cases.hpp"

namespace beside_test {

using namespace npgpu;

std::vector<pid_t> children() {
  std::vector<pid_t> all;
  std::ifstream file("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  for (pid_t pid = 0; file >> pid;) all.push_back(pid);
  return all;
}

void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

// For ten seconds at most.
bool goes_on(const Companion& companion, std::uint64_t operations) {
  const std::uint64_t first = companion.done();
  for (int looks = 0; looks < 500; ++looks) {
    if (companion.done() >= first + operations) return true;
    pause();
  }
  return false;
}

TEST_CASE("a second process does what it is told, rests, and ends with its owner") {
  const std::size_t before = children().size();
  {
    const auto companion = devices::companion(devices::default_device());
    REQUIRE(companion != nullptr);
    CHECK(children().size() == before + 1);
    companion->work(Beside::idle);
    pause();
    CHECK(companion->done() == 0);
    for (const Beside beside : {Beside::copies, Beside::kernels, Beside::launches, Beside::copies}) {
      const std::string_view deed = name(beside);
      INFO(deed);
      companion->work(beside);
      CHECK(goes_on(*companion, 20));
      companion->rest();
      const std::uint64_t done = companion->done();
      pause();
      CHECK(companion->done() == done);
    }
  }
  CHECK(children().size() == before);
}

TEST_CASE("copies with a second process arrive intact, and it worked meanwhile") {
  for (const Beside beside : {Beside::idle, Beside::copies, Beside::kernels, Beside::launches}) {
    const std::string_view deed = name(beside);
    INFO(deed);
    TransferCase c = case_on("cudaMemcpy", devices::default_device());
    c.async = true;
    c.beside = beside;
    const std::vector<Step<Transfers>> steps{{c, {16 * MiB}}};
    const auto runner =
        campaign::with_second_process<Transfers>(steps, [&] { return find_module("cudaMemcpy")->open(steps); });
    runner->prepare(steps.front());
    std::vector<TransferSample> samples;
    // One that does little at a time, as under a checker, may finish nothing in a short trial: they become longer.
    for (int trial = 0; trial < 40 && (trial < 3 || (is_working(beside) && runner->beside_done() == 0)); ++trial) {
      samples.clear();
      CHECK(runner->run(100 * (1 + trial), samples));
    }
    CHECK(runner->check(samples) == std::nullopt);
    CHECK((runner->beside_done() > 0) == is_working(beside));
  }
}

TEST_CASE("a second process that dies is one sentence, and the next point gets another one") {
  const std::vector<pid_t> before = children();
  TransferCase c = case_on("cudaMemcpy", devices::default_device());
  c.beside = Beside::copies;
  const std::vector<Step<Transfers>> steps{{c, {4 * KiB}}};
  const auto runner =
      campaign::with_second_process<Transfers>(steps, [&] { return find_module("cudaMemcpy")->open(steps); });
  runner->prepare(steps.front());
  std::vector<TransferSample> samples;
  CHECK(runner->run(10, samples));
  const std::vector<pid_t> now = children();
  REQUIRE(now.size() == before.size() + 1);
  for (const pid_t pid : now)
    if (std::find(before.begin(), before.end(), pid) == before.end()) ::kill(pid, SIGKILL);
  CHECK_THROWS_WITH_AS(runner->run(10, samples), "the second process has ended before its time", Error);
  runner->prepare(steps.front());
  CHECK(runner->run(10, samples));
}

}  // namespace beside_test

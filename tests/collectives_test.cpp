// Operations of several GPUs: their arithmetic, what results have to be, the law of simulated nodes, and the library
// that is found at run time.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <set>

#include "netpipe/collectives/nccl.hpp"
#include "netpipe/collectives/values.hpp"
#include "npgpu/measuring/campaign.hpp"
#include "npgpu/vocabulary/collective.hpp"
#include "npgpu/vocabulary/device.hpp"

namespace collectives_test {

using namespace npgpu;

namespace {

constexpr CollectiveOperation all_operations[] = {
    CollectiveOperation::all_reduce,   CollectiveOperation::reduce_scatter, CollectiveOperation::all_gather,
    CollectiveOperation::broadcast,    CollectiveOperation::reduce,         CollectiveOperation::all_to_all,
    CollectiveOperation::send_receive, CollectiveOperation::gather,         CollectiveOperation::scatter};

const Backend<Collectives>& simulated() { return *reaching(backends<Collectives>(), "sim").at(0); }

struct Trial {
  std::vector<CollectiveSample> samples{};
  std::optional<std::string> wrong{};
  double us = 0;
};
Trial trial_of(const CollectiveCase& c, std::uint64_t bytes, std::uint64_t repeats = 1) {
  const Step<Collectives> step{c, {bytes}};
  REQUIRE(simulated().refuses(step) == std::nullopt);
  const auto runner = simulated().open({&step, 1});
  runner->prepare(step);
  Trial trial;
  REQUIRE(runner->run(repeats, trial.samples));
  trial.wrong = runner->check(trial.samples);
  trial.us = microseconds(Collectives::timed(c, trial.samples)) / static_cast<double>(repeats);
  return trial;
}

CollectiveCase gated(const char* node, CollectiveOperation operation) {
  CollectiveCase c = collective_on(devices::node(node), operation);
  c.timing = Timing::gated;
  return c;
}

}  // namespace

TEST_CASE("bus bandwidths are those of nccl-tests") {
  CHECK(bus_factor(CollectiveOperation::all_reduce, 8) == doctest::Approx(1.75));
  CHECK(bus_factor(CollectiveOperation::all_reduce, 2) == doctest::Approx(1));
  for (const auto o : {CollectiveOperation::reduce_scatter, CollectiveOperation::all_gather,
                       CollectiveOperation::all_to_all, CollectiveOperation::gather, CollectiveOperation::scatter})
    CHECK(bus_factor(o, 8) == doctest::Approx(0.875));
  for (const auto o : {CollectiveOperation::broadcast, CollectiveOperation::reduce, CollectiveOperation::send_receive})
    CHECK(bus_factor(o, 8) == 1);
}

TEST_CASE("sizes have whole elements and blocks") {
  CHECK(fitting_size(CollectiveOperation::all_reduce, DataType::fp32, 8, 8) == 8);
  CHECK(fitting_size(CollectiveOperation::all_reduce, DataType::fp32, 8, 1) == 4);
  CHECK(fitting_size(CollectiveOperation::all_gather, DataType::fp32, 8, 8) == 32);
  CHECK(fitting_size(CollectiveOperation::all_gather, DataType::int8, 3, 1000) == 1008);
  CHECK(fitting_size(CollectiveOperation::all_to_all, DataType::bf16, 8, MiB) == MiB);
  CHECK(fitting_size(CollectiveOperation::all_reduce, DataType::fp32, 8, UINT64_MAX) == UINT64_MAX - 3);
}

// Every element of every result is written once, by what some rank has.
TEST_CASE("the parts of all ranks fit each other") {
  constexpr std::uint64_t n = 4;
  for (const auto operation : all_operations) {
    const Step<Collectives> step{collective_on({"a", "b", "c", "d"}, operation, DataType::fp16), {64}};
    std::set<std::pair<std::int32_t, std::uint64_t>> used;
    for (std::uint64_t rank = 0; rank < n; ++rank) {
      const auto part = collectives::part_of(step, n, rank);
      std::uint64_t covered = 0;
      for (const auto& e : part.expected) {
        CHECK(e.at == covered);
        covered += e.count;
        if (e.rank == collectives::Expected::all) continue;
        const auto source = collectives::part_of(step, n, static_cast<std::uint64_t>(e.rank));
        CHECK(e.first + e.count <= source.operand);
        for (std::uint64_t i = 0; i < e.count; ++i) used.emplace(e.rank, e.first + i);
      }
      CHECK(covered == part.result);
      CHECK(std::max(part.operand_at + part.operand, part.result_at + part.result) <= 32);
    }
    if (operation == CollectiveOperation::all_to_all) CHECK(used.size() == n * 32);
  }
}

TEST_CASE("sums are whole numbers that bf16 holds, also of 256 GPUs") {
  for (const std::uint32_t ranks : {2U, 64U, 85U, 86U, 256U}) {
    const collectives::Values v{.seed = 7, .type = DataType::bf16, .are_summed = true, .ranks = ranks};
    bool differs = false;
    for (std::uint64_t i = 0; i < 100; ++i) {
      std::uint32_t sum = 0;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) sum += collectives::number_of(v, rank, i);
      CHECK(sum <= 256);
      differs |= collectives::number_of(v, 0, i) != collectives::number_of(v, 1, i);
    }
    CHECK(differs);
  }
}

TEST_CASE("a simulated node takes what rings take over its links") {
  // node64: 64 links of 400 GB/s to one switch, 0.5 us each; copies of kernels have no cap.
  constexpr double latency = 1.0, us_a_byte = 1e6 / 400e9, n = 64, bytes = 64 * MiB;
  const auto time = [](CollectiveOperation o) { return trial_of(gated("sim:node64", o), 64 * MiB, 3).us; };
  CHECK(time(CollectiveOperation::all_reduce) == doctest::Approx(2 * (n - 1) * (latency + bytes / n * us_a_byte)));
  CHECK(time(CollectiveOperation::all_gather) == doctest::Approx((n - 1) * (latency + bytes / n * us_a_byte)));
  CHECK(time(CollectiveOperation::reduce_scatter) == doctest::Approx((n - 1) * (latency + bytes / n * us_a_byte)));
  CHECK(time(CollectiveOperation::send_receive) == doctest::Approx(latency + bytes * us_a_byte));
  CHECK(time(CollectiveOperation::broadcast) == doctest::Approx((n - 1) * latency + bytes * us_a_byte));
  // Each link carries n-1 blocks each way.
  CHECK(time(CollectiveOperation::all_to_all) == doctest::Approx(latency + (n - 1) * bytes / n * us_a_byte));
  CHECK(time(CollectiveOperation::gather) == doctest::Approx(latency + (n - 1) * bytes / n * us_a_byte));
  // A link of half rate is the ring's.
  const auto sick = collective_on(devices::node("sim:node8-half-nvlink"), CollectiveOperation::send_receive);
  CHECK(trial_of(sick, MiB).samples.size() == 8);
  CollectiveCase c = sick;
  c.timing = Timing::gated;
  CHECK(trial_of(c, 64 * MiB).us == doctest::Approx(latency + bytes / 200e9 * 1e6));
}

TEST_CASE("small operations in a row take as long as their launches") {
  const CollectiveCase c = collective_on(devices::node("sim:node64"), CollectiveOperation::send_receive);
  const Trial one = trial_of(c, 8), many = trial_of(c, 8, 100);
  CHECK(one.samples.front().host_us > 0);
  CHECK(many.us <= one.us);
  CHECK(std::isnan(trial_of(gated("sim:node64", CollectiveOperation::send_receive), 8).samples.front().host_us));
}

// 64 GPUs, and a launch on each takes longer than an operation of 8 B: 100 of them are 6 graphs of 16, and 4 of one.
TEST_CASE("graphs save launches") {
  CollectiveCase c = collective_on(devices::node("sim:node64"), CollectiveOperation::send_receive);
  const double eager = trial_of(c, 8, 100).us, alone = trial_of(c, 8).us;
  c.launch = CollectiveLaunch::graph;
  const double graph = trial_of(c, 8, 100).us;
  c.timing = Timing::gated;
  const double device = trial_of(c, 8).us;
  const double rest = alone - device, launch = (100 * eager - alone) / 99;  // of an operation on all GPUs
  REQUIRE(launch > device);
  CHECK(100 * graph == doctest::Approx(rest + device + 99 * std::max(device, 10.0 / 100 * launch)));
  CHECK(trial_of(c, 8, 100).us == doctest::Approx(device));
}

TEST_CASE("the GPU whose results are wrong is named") {
  const Trial trial = trial_of(gated("sim:zeros", CollectiveOperation::send_receive), MiB);
  REQUIRE(trial.wrong);
  const auto gpus = devices::node("sim:zeros");
  for (std::size_t lane = 0; lane < gpus.size(); ++lane)
    CHECK((trial.samples[lane].intact == 0) == (trial.wrong->find(gpus[lane]) != std::string::npos));
  CHECK(trial_of(gated("sim:node64", CollectiveOperation::all_reduce), MiB).wrong == std::nullopt);
}

TEST_CASE("what cannot be done is said in one sentence") {
  const auto refusal = [](CollectiveCase c, std::uint64_t bytes) {
    return simulated().refuses({c, {bytes}}).value_or("");
  };
  const auto gpus = devices::node("sim:node8");
  CHECK(refusal(collective_on({"sim:node8:0"}, CollectiveOperation::all_reduce), 8)
            .starts_with("an operation of several"));
  CHECK(refusal(collective_on({"sim:node8:0", "sim:node64:1"}, CollectiveOperation::all_reduce), 8).find("one node") !=
        std::string::npos);
  CHECK(refusal(collective_on(gpus, CollectiveOperation::all_gather), 8).find("multiple of 32") != std::string::npos);
  CHECK(refusal(collective_on(gpus, CollectiveOperation::all_reduce, DataType::fp64), 8).starts_with("--type fp64"));
  CollectiveCase c = collective_on(gpus, CollectiveOperation::all_to_all);
  c.in_place = true;
  CHECK(refusal(c, 32).starts_with("--place in"));
  CHECK(refusal(collective_on(gpus, CollectiveOperation::all_reduce), 1ULL << 60).find("fit") != std::string::npos);
}

TEST_CASE("a title names the GPUs, and renaming them keeps their order") {
  CollectiveCase c = collective_on({"cuda:0", "cuda:1"}, CollectiveOperation::all_reduce, DataType::bf16);
  CHECK(title(c) == "collectives 2 GPUs cuda:0,cuda:1 all-reduce bf16");
  c.in_place = true;
  c.timing = Timing::gated;
  CHECK(title(c) == "collectives 2 GPUs cuda:0,cuda:1 all-reduce bf16 in-place gated");
  c.launch = CollectiveLaunch::graph;
  c.processes = "each-gpu";
  c.buffers = "registered";
  c.overlap = "memory";
  CHECK(title(c).ends_with("in-place gated each-gpu graph registered overlap-memory"));
  CHECK(devices_of(c) == std::vector<std::string>{"cuda:0", "cuda:1"});
  CHECK(title(collective_on(devices::node("sim:node8"), CollectiveOperation::reduce)) ==
        "collectives 8 GPUs sim:node8:0 to sim:node8:7 reduce fp32");
}

// As NCCL it is opened; what its functions do is of no matter to the loader.
TEST_CASE("a library in the place of NCCL is found at run time, and what is wrong with it is said in one sentence") {
  const auto loaded = [](const std::string& path) {
    setenv("NPGPU_NCCL", path.c_str(), 1);
    for (const char* told : {"NCCL_VERSION", "NCCL_DEBUG", "NCCL_ALGO", "NCCL_PROTO"}) unsetenv(told);
    setenv("NCCL_NVLS_ENABLE", "0", 1);
    const nccl::Library library = nccl::load();
    unsetenv("NPGPU_NCCL");
    unsetenv("NCCL_NVLS_ENABLE");
    return library;
  };
  const std::string fake = NPGPU_FAKE_NCCL;
  const nccl::Library whole = loaded(fake + "whole.so");
  CHECK(whole.why_not == "");
  CHECK(whole.version == 22809);
  CHECK(whole.text == "NCCL 2.28.9 (" + fake + "whole.so), NCCL_NVLS_ENABLE=0");
  CHECK(loaded(fake + "old.so").why_not.find("is NCCL 2.10.3, and 2.13 or later is needed; install") !=
        std::string::npos);
  CHECK(loaded(fake + "partial.so").why_not.find("has no ncclRecv: a NCCL of 2.13 or later has it") !=
        std::string::npos);
  CHECK(loaded("/nowhere/libnccl.so.2").why_not ==
        "NCCL is not there: /nowhere/libnccl.so.2, which NPGPU_NCCL names, cannot be opened");
  CHECK(loaded(fake + "hostile.so").why_not.find("does not report its version: no reason given; install") !=
        std::string::npos);
  for (const char* version : {"0", "-2147483648"}) {
    setenv("FAKE_NCCL_VERSION", version, 1);
    CHECK(loaded(fake + "hostile.so").why_not.find(fmt::format("reports the version {}; install", version)) !=
          std::string::npos);
  }
  setenv("FAKE_NCCL_VERSION", "2147483647", 1);
  CHECK(loaded(fake + "hostile.so").why_not == "");
  unsetenv("FAKE_NCCL_VERSION");
  // Its log is read, and the environment is left as it was.
  setenv("NCCL_DEBUG_FILE", "/somewhere", 1);
  const auto chosen = [&](const nccl::Library& library) {
    const nccl::Log log(library);
    return nccl::choice_in(log.text());
  };
  const nccl::Choice choice = chosen(whole);
  CHECK(choice.algorithm == 1);
  CHECK(choice.path == 1);
  CHECK(std::getenv("NCCL_DEBUG") == nullptr);
  CHECK(std::string(std::getenv("NCCL_DEBUG_FILE")) == "/somewhere");
  CHECK(chosen(loaded(fake + "old.so")).algorithm == -1);  // it cannot be asked
  setenv("NCCL_DEBUG", "WARN", 1);
  CHECK(chosen(whole).algorithm == -1);  // as it would begin the user's file anew
  unsetenv("NCCL_DEBUG_FILE");
  CHECK(chosen(whole).algorithm == 1);
  CHECK(std::string(std::getenv("NCCL_DEBUG")) == "WARN");
  setenv("NCCL_DEBUG", "INFO", 1);  // what the user wants of the log goes first
  CHECK(chosen(whole).algorithm == -1);
  unsetenv("NCCL_DEBUG");
}

TEST_CASE("NCCL's log says what it chose") {
  const auto text = [](const char* log) {
    const nccl::Choice c = nccl::choice_in(log);
    return std::array{c.algorithm, c.protocol, c.channels, c.path};
  };
  CHECK(text("vm:7:7 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
             "vm:7:7 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo NVLS_TREE proto LL128 channel{Lo..Hi}={0..23}\n") ==
        std::array{5, 1, 24, 0});
  // The slowest path of several, the last operation of several; numbers instead of names, and words behind them.
  CHECK(text("vm:7:7 [0] NCCL INFO Channel 00/0 : 1[1] -> 2[2] via SHM/direct/direct\n"
             "vm:7:7 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer\n"
             "vm:7:7 [0] NCCL INFO AllReduce: 8 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}\n"
             "vm:7:7 [0] NCCL INFO AllGather: 64 Bytes -> Algo 1 proto 2 channel{Lo..Hi}={4..7} cgaClusterSize 4\n") ==
        std::array{1, 2, 4, 1});
  CHECK(text("vm:7:7 [0] NCCL INFO AllReduce [Symmetric]: 64 Bytes -> Kernel AllReduce_AGxLL_R nchannels 1 nthreads "
             "512") == std::array{7, -1, 1, -1});
  CHECK(text("") == std::array{-1, -1, -1, -1});
  // Bytes of any kind, and lines that end anywhere.
  const std::string line =
      "vm:7:7 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo NVLS_TREE proto LL128 channel{Lo..Hi}={0..23}\n";
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string bad = line.substr(0, random() % (line.size() + 1)) + line;
    for (int k = 0; k < 4; ++k) bad[random() % bad.size()] = static_cast<char>(random());
    const nccl::Choice c = nccl::choice_in(bad);
    CHECK(c.algorithm >= -1);
    CHECK(c.channels >= -1);
  }
  CHECK(text("x Bytes -> Algo NEW proto 9 channel{Lo..Hi}={7..3}") == std::array{-1, -1, -1, -1});
}

}  // namespace collectives_test

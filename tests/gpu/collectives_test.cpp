// Collectives by NCCL on this machine's GPUs: results are right, a byte that is spoiled on purpose is found and its GPU
// named, and an operation that hangs is ended.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <cmath>

#include "netpipe/collectives/nccl_runner.hpp"
#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "npgpu/vocabulary/collective.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace collectives_test {

using namespace npgpu;

namespace {

std::vector<std::string> two_gpus() {
  std::vector<std::string> ids;
  for (const DeviceInfo& gpu : devices::gpus())
    if (ids.size() < 2) ids.push_back(gpu.id);
  if (ids.size() < 2) MESSAGE("left out: it needs two GPUs");
  return ids;
}

const Backend<Collectives>& backend() {
  for (const auto& one : backends<Collectives>())
    if (one->device_kind() == "cuda") return *one;
  throw Error(ErrorKind::failed, "no collectives on GPUs");
}

}  // namespace

TEST_CASE("every operation of every type gives right results, in and out of place") {
  const auto gpus = two_gpus();
  if (gpus.size() < 2) return;
  std::vector<Step<Collectives>> steps;
  for (const std::string_view word : names_of<CollectiveOperation>)
    for (const DataType type : {DataType::fp32, DataType::bf16, DataType::fp16, DataType::int8})
      for (const bool in_place : {false, true})
        for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{1000}, 4 * MiB}) {
          CollectiveCase c = collective_on(gpus, *named<CollectiveOperation>(word), type);
          c.in_place = in_place;
          const Step<Collectives> step{c, {fitting_size(c.operation, type, gpus.size(), bytes)}};
          if (const auto why = backend().refuses(step)) CHECK(why->starts_with("--place in"));
          else steps.push_back(step);
        }
  const auto runner = backend().open(steps);
  for (const auto& step : steps) {
    CAPTURE(title(step.question));
    CAPTURE(step.axes.bytes);
    runner->prepare(step);
    std::vector<CollectiveSample> trial;
    REQUIRE(runner->run(3, trial));
    const auto wrong = runner->check(trial);
    CHECK_MESSAGE(!wrong, wrong.value_or(""));
    REQUIRE(trial.size() == gpus.size());
    for (const CollectiveSample& s : trial) {
      CHECK(s.intact == 1);
      CHECK(s.host_us > 0);
      CHECK(s.device_us > 0);
    }
  }
}

TEST_CASE("behind gates there is device time without launches") {
  const auto gpus = two_gpus();
  if (gpus.size() < 2) return;
  for (const auto operation : {CollectiveOperation::all_reduce, CollectiveOperation::all_to_all}) {
    CollectiveCase c = collective_on(gpus, operation);
    c.timing = Timing::gated;
    const Step<Collectives> step{c, {64 * KiB}};
    const auto runner = backend().open({&step, 1});
    runner->prepare(step);
    CHECK(runner->max_repeats() > 10);
    std::vector<CollectiveSample> trial;
    REQUIRE(runner->run(runner->max_repeats(), trial));
    CHECK(!runner->check(trial));
    CHECK(std::isnan(trial.front().host_us));
    CHECK(trial.front().device_us > 0);
  }
}

TEST_CASE("graphs give right results, and what was chosen is told") {
  const auto gpus = two_gpus();
  if (gpus.size() < 2) return;
  std::vector<Step<Collectives>> steps;
  for (const auto operation : {CollectiveOperation::all_reduce, CollectiveOperation::all_to_all})
    for (const auto launch : {CollectiveLaunch::eager, CollectiveLaunch::graph}) {
      CollectiveCase c = collective_on(gpus, operation);
      c.launch = launch;
      c.in_place = operation == CollectiveOperation::all_reduce;
      steps.push_back({c, {4 * MiB}});
    }
  const auto runner = backend().open(steps);
  for (const auto& step : steps) {
    CAPTURE(title(step.question));
    REQUIRE(!backend().refuses(step));
    runner->prepare(step);
    std::vector<CollectiveSample> trial;
    CHECK(runner->run(37, trial));  // two graphs of 16, and five of one
    const auto wrong = runner->check(trial);
    CHECK_MESSAGE(!wrong, wrong.value_or(""));
    REQUIRE(trial.size() == gpus.size());
    for (const CollectiveSample& s : trial) CHECK(s.device_us > 0);
    const CollectiveSample& first = trial.front();
    MESSAGE(title(step.question), ": algorithm ", first.algorithm, ", protocol ", first.protocol, ", channels ",
            first.channels, ", path ", first.path, ", ", first.host_us / 37, " us");
    if (step.question.operation == CollectiveOperation::all_reduce) {
      CHECK(first.algorithm >= 0);
      CHECK(first.channels > 0);
    }
  }
}

TEST_CASE("a byte that is wrong on one GPU is found, and the GPU is named") {
  const auto gpus = two_gpus();
  if (gpus.size() < 2) return;
  for (const auto operation :
       {CollectiveOperation::all_reduce, CollectiveOperation::all_gather, CollectiveOperation::all_to_all}) {
    const Step<Collectives> step{collective_on(gpus, operation, DataType::bf16), {MiB}};
    nccl::NcclRunner runner({&step, 1});
    runner.prepare(step);
    std::vector<CollectiveSample> trial;
    REQUIRE(runner.run(2, trial));
    constexpr std::uint64_t offset = 70000;  // of element 35000
    std::uint8_t byte = 0;
    const cuda::Stream stream = cuda::stream_of(cuda::ordinal_or_throw(gpus[1]));
    const auto copy = [&](void* to, const void* from) {
      cuda::check(cudaMemcpyAsync(to, from, 1, cudaMemcpyDefault, stream.get()), "copying a byte");
      stream.synchronize();
    };
    copy(&byte, runner.rank(1).result() + offset);
    byte ^= 0x10;
    copy(runner.rank(1).result() + offset, &byte);
    const auto wrong = runner.check(trial);
    REQUIRE(wrong);
    MESSAGE(*wrong);
    CHECK(wrong->starts_with("on " + gpus[1] + " 1 of "));
    CHECK(wrong->find("number 35000 ") != std::string::npos);
    CHECK(trial[0].intact == 1);
    CHECK(trial[1].intact == 0);
  }
}

TEST_CASE("an operation that hangs is ended within the time-out, and the next one is right") {
  const auto gpus = two_gpus();
  if (gpus.size() < 2) return;
  const Step<Collectives> step{collective_on(gpus, CollectiveOperation::all_reduce), {MiB}};
  nccl::NcclRunner runner({&step, 1}, Seconds{2});
  runner.prepare(step);
  REQUIRE(nccl::library().group_start() == nccl::success);
  runner.rank(0).enqueue();  // and the other GPU does not come
  REQUIRE(nccl::library().group_end() == nccl::success);
  const Seconds begin = steady_clock().now();
  std::string what;
  try {
    runner.prepare(step);
  } catch (const Error& e) {
    what = e.what();
  }
  MESSAGE(what);
  CHECK(what.find("all-reduce hangs") != std::string::npos);
  CHECK(steady_clock().now() - begin < Seconds{20});
  runner.prepare(step);
  std::vector<CollectiveSample> trial;
  REQUIRE(runner.run(2, trial));
  CHECK(!runner.check(trial));
}

}  // namespace collectives_test

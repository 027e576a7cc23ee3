// The partition method on this machine's first GPU: right in every number of streams, timed whole and by stages.
#include "npgpu/vocabulary/partition.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace partition_test {

using namespace npgpu;

namespace {

const Backend<Partitions>& backend() {
  const Backend<Partitions>* found = nullptr;
  for (const auto& one : backends<Partitions>())
    if (one->device_kind() == devices::kind_of(devices::default_device())) found = one.get();
  REQUIRE(found);
  return *found;
}

PartitionSample run(Runner<Partitions>& runner, const PartitionStep& step) {
  CAPTURE(title(step.question));
  CAPTURE(text_of(step.axes));
  runner.prepare(step);
  std::vector<PartitionSample> samples;
  for (int i = 0; i < 3; ++i) REQUIRE(runner.run(1, samples));
  const auto wrong = runner.check(std::span(samples).last(1));
  CHECK_MESSAGE(!wrong, wrong.value_or(""));
  CHECK(samples.back().intact == 1);
  return samples.back();
}

}  // namespace

TEST_CASE("solutions are right to rounding, in any number of streams, whatever the sizes before") {
  const std::string device = devices::default_device();
  std::vector<PartitionStep> steps;
  for (const Precision type : {Precision::fp64, Precision::fp32})
    for (const std::uint64_t size : {std::uint64_t{1000}, std::uint64_t{4'000'003}, std::uint64_t{100'007}})
      for (const std::uint32_t sub_system : {2u, 10u, 33u})
        for (const std::uint32_t n : {1u, 3u, 8u, 30u})
          steps.push_back({{device, type, PartitionTiming::whole}, {size, sub_system, n, n}});
  const auto runner = backend().open(steps);
  for (const PartitionStep& step : steps) {
    if (backend().refuses(step)) continue;
    const PartitionSample s = run(*runner, step);
    const bool is_fp64 = step.question.type == Precision::fp64;
    CHECK(s.residual > 0);
    CHECK(s.residual <=
          16 * (is_fp64 ? std::numeric_limits<double>::epsilon() : double{std::numeric_limits<float>::epsilon()}));
    CHECK(s.host_us > s.stage2_us);
    CHECK(std::isnan(s.stage1_kernel_us));
  }
}

TEST_CASE("stages: each takes its time, and together they fit into the run") {
  const std::string device = devices::default_device();
  std::vector<PartitionStep> steps;
  for (const Precision type : {Precision::fp64, Precision::fp32})
    for (const std::uint64_t size : {std::uint64_t{1000}, std::uint64_t{4'000'000}})
      for (const std::uint32_t chunks : {1u, 32u})
        steps.push_back({{device, type, PartitionTiming::stages}, {size, 10, chunks, 1}});
  const auto runner = backend().open(steps);
  double small_us = 0;
  for (const PartitionStep& step : steps) {
    const PartitionSample s = run(*runner, step);
    double sum = s.stage2_us;
    for (const double us :
         {s.stage1_in_us, s.stage1_kernel_us, s.stage1_out_us, s.stage3_in_us, s.stage3_kernel_us, s.stage3_out_us}) {
      CHECK(us > 0);
      sum += us;
    }
    CHECK(sum < s.host_us);
    if (step.axes.size == 1000) small_us = s.stage1_in_us;
    else CHECK(s.stage1_in_us > small_us);
    MESSAGE(title(step.question) << ", " << text_of(step.axes) << ": T1 " << s.stage1_in_us << " + "
                                 << s.stage1_kernel_us << " + " << s.stage1_out_us << ", T2 " << s.stage2_us << ", T3 "
                                 << s.stage3_in_us << " + " << s.stage3_kernel_us << " + " << s.stage3_out_us << " us");
  }
}

}  // namespace partition_test

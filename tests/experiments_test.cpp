// What `npgpu streams` asks of a device.
#include "netpipe/jobs/experiments.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace experiments_test {

using namespace npgpu;

namespace {

JobChoice choice() { return {.device = "cuda:0"}; }

void all_possible_and_once(const std::vector<JobStep>& jobs) {
  std::set<JobStep> seen;
  for (const JobStep& job : jobs) {
    const auto why = refuses(job);
    CAPTURE(title(job.question));
    CHECK(why.value_or("") == "");
    CHECK(seen.insert(job).second);
  }
}

}  // namespace

TEST_CASE(
    "Gomez-Luna et al. 2012, experiment 1: each n divides the 30720 blocks of 512, so that all chunks are whole "
    "blocks") {
  JobChoice one = choice();
  one.iterations = {8};
  one.pools = {StreamPool::fresh};
  const auto jobs = fixed_experiment(one, "NVIDIA H200");
  all_possible_and_once(jobs);
  REQUIRE(jobs.size() == 19);  // 1, and the 18 divisors of 15*2^20 from 2 to 64
  for (const JobStep& job : jobs) {
    const JobShape& s = job.axes;
    CHECK(s.bytes_in == std::uint64_t{4} * 15 * 1024 * 1024);
    CHECK(s.bytes_out == s.bytes_in);
    CHECK(s.kernel_bytes == s.bytes_in);
    CHECK(s.bytes_in / 4 / 512 == 30720);
    CHECK(30720 % s.chunks == 0);
    CHECK(s.streams == s.chunks);
    CHECK(s.iterations == 8);
    CHECK(s.kernel_ratio == 0);
    CHECK(job.question.pool == StreamPool::fresh);
  }
}

TEST_CASE("experiment 1 has 20 lengths of kernel: the paper's on its GPUs, shares of the copies on others") {
  struct Gpu {
    const char* name;
    std::set<std::uint64_t> some;
    std::size_t lengths;
  };
  const Gpu gpus[] = {{"GeForce 8800 GTS 512", {1, 18}, 18},  {"GeForce 9800 GX2", {1, 20}, 20},
                      {"GeForce GTX 260", {5, 24}, 20},       {"GeForce GTX 280", {8, 27}, 20},
                      {"GeForce GTX 480", {20, 25, 115}, 20}, {"GeForce GTX 580", {25, 30, 120}, 20}};
  for (const auto& [name, some, lengths] : gpus) {
    CAPTURE(name);
    std::set<std::uint64_t> iterations;
    const auto jobs = fixed_experiment(choice(), name);
    for (const JobStep& job : jobs) iterations.insert(job.axes.iterations);
    CHECK(iterations.size() == lengths);
    CHECK(*iterations.begin() == *some.begin());
    CHECK(*iterations.rbegin() == *some.rbegin());
    for (const std::uint64_t one : some) CHECK(iterations.count(one));
    CHECK(jobs.size() == 2 * 19 * lengths);  // in both pools
  }
  std::set<double> ratios;
  for (const JobStep& job : fixed_experiment(choice(), "NVIDIA H200")) ratios.insert(job.axes.kernel_ratio);
  CHECK(ratios.size() == 20);
  CHECK(*ratios.begin() == doctest::Approx(0.1));
  CHECK(*ratios.rbegin() == doctest::Approx(4));
}

TEST_CASE("Gomez-Luna et al. 2012, experiment 2: 13 shares of 24 MiB") {
  JobChoice one = choice();
  one.iterations = {1};
  one.chunks = {16};
  one.pools = {StreamPool::pooled};
  const auto jobs = asymmetric_experiment(one, "NVIDIA H200");
  all_possible_and_once(jobs);
  REQUIRE(jobs.size() == 13);
  for (const JobStep& job : jobs) CHECK(job.axes.bytes_in + job.axes.bytes_out == 24 * MiB);
  CHECK(jobs.front().axes.bytes_in == MiB);
  CHECK(jobs.front().axes.kernel_bytes == 23 * MiB);
  CHECK(jobs.back().axes.bytes_in == 23 * MiB);
  const auto iterations_on = [](const char* name) {
    std::set<std::uint64_t> all;
    for (const JobStep& job : asymmetric_experiment(choice(), name)) all.insert(job.axes.iterations);
    return all;
  };
  CHECK(iterations_on("GeForce GTX 280") == std::set<std::uint64_t>{1, 2, 4, 8, 16});
  CHECK(iterations_on("GeForce GTX 480") == std::set<std::uint64_t>{8, 16, 24, 32, 40});
  CHECK(asymmetric_experiment(choice(), "NVIDIA H200").size() == 13 * 2 * 5 * 2);
}

TEST_CASE("a user's own lists: every combination") {
  JobChoice own = choice();
  own.bytes_in = {MiB, 2 * MiB};
  own.bytes_out = {MiB};
  own.chunks = {1, 8};
  own.streams = {4};
  own.pools = {StreamPool::fresh, StreamPool::pooled};
  const auto jobs = chosen_jobs(own);
  all_possible_and_once(jobs);
  CHECK(jobs.size() == 8);
  CHECK(jobs[0].axes.streams == 4);
  own.streams.clear();
  CHECK(chosen_jobs(own)[1].axes.streams == 8);
}

TEST_CASE("overheads: what a simulator needs is there") {
  const auto jobs = overheads_experiment("cuda:0");
  all_possible_and_once(jobs);
  const auto count = [&](auto wanted) {
    return std::count_if(jobs.begin(), jobs.end(), [&](const JobStep& j) { return wanted(j.question, j.axes); });
  };
  // Copies of 4 KiB .. 64 MiB, one at a time, either way: eight sizes.
  for (const bool in : {true, false})
    CHECK(count([&](const JobCase& c, const JobShape& s) {
            return c.gating == Gating::gated && c.order == Order::breadth_first && c.workload == Workload::none &&
                   s.chunks == 1 && (in ? s.bytes_in && !s.bytes_out : s.bytes_out && !s.bytes_in);
          }) == 8);
  // Both directions at once, 1 .. 64 MiB.
  CHECK(count([](const JobCase& c, const JobShape& s) {
          return c.order == Order::independent && c.workload == Workload::none && s.bytes_in == s.bytes_out &&
                 s.chunks == 1;
        }) == 7);
  CHECK(count([](const JobCase& c, const JobShape&) { return c.pool == StreamPool::fresh; }) == 10);
  // The last of 2 .. 64 streams free, 23 numbers: so many bytes a stream copied in, copied out, or worked on by one
  // block. Tiny copies in would go with the kernels.
  const auto free = [&](auto part, std::uint64_t bytes) {
    return count([&](const JobCase& c, const JobShape& s) {
      return c.gating == Gating::last_stream_free && s.chunks == s.streams && s.*part == s.chunks * bytes &&
             s.bytes_in + s.bytes_out + s.kernel_bytes == s.*part;
    });
  };
  CHECK(free(&JobShape::bytes_in, 256 * KiB) == 23);
  CHECK(free(&JobShape::bytes_out, 256 * KiB) == 23);
  CHECK(free(&JobShape::kernel_bytes, 128) == 23);
  CHECK(count([](const JobCase& c, const JobShape&) { return c.gating == Gating::last_stream_free; }) == 69);
  CHECK(count([](const JobCase&, const JobShape& s) { return s.kernel_bytes && s.iterations == 0; }) >= 13);
  for (const JobStep& job : jobs) CHECK(job.axes.bytes_in <= 256 * MiB);
}

TEST_CASE("the design: the same everywhere, spread as it says, in random order") {
  const auto jobs = design_experiment("cuda:0", 210);
  all_possible_and_once(jobs);
  std::map<JobShape, std::pair<double, std::size_t>> workloads;  // without the cut: ratio and how many cuts
  std::map<Workload, std::set<JobShape>> kernels;
  for (const JobStep& job : jobs) {
    JobShape unsplit = job.axes;
    CHECK(unsplit.streams == unsplit.chunks);
    unsplit.chunks = unsplit.streams = 1;
    unsplit.kernel_ratio = 0;
    auto& [ratio, cuts] = workloads[unsplit];
    CHECK((cuts++ == 0 || ratio == job.axes.kernel_ratio));
    ratio = job.axes.kernel_ratio;
    kernels[job.question.workload].insert(unsplit);
  }
  CHECK(workloads.size() == 210);
  for (const Workload w : {Workload::increment, Workload::memory, Workload::compute}) CHECK(kernels[w].size() == 70);
  int small = 0, even = 0, quick = 0, few = 0;
  for (const auto& [job, told] : workloads) {
    // A kernel of 512 threads is cut into 16 parts at most, which have a warp each.
    CHECK(told.second == (job.kernel_bytes >= 64 * 128   ? 16u
                          : job.kernel_bytes >= 48 * 128 ? 15u
                          : job.kernel_bytes >= 32 * 128 ? 14u
                                                         : 11u));
    const double total = static_cast<double>(job.bytes_in + job.bytes_out);
    const double share = static_cast<double>(job.bytes_in) / static_cast<double>(job.bytes_out);
    CHECK((total >= 64.0 * KiB && total <= 512.0 * MiB));
    CHECK(job.bytes_in >= 64 * 128);
    CHECK((share > 0.99 / 23 && share < 23.01));
    CHECK((told.first >= 0.05 && told.first <= 20));
    CHECK((blocks_of(job) >= 1 && blocks_of(job) < 10'000));
    small += total < std::sqrt(512.0 * 1024 / 64) * 64 * KiB;
    even += share < 1;
    quick += told.first < 1;
    few += blocks_of(job) < 100;
  }
  // Half of a logarithm's range, 105 of 210: five standard deviations are 36.
  for (const int half : {small, even, quick, few}) CHECK(std::abs(half - 105) < 36);
  CHECK(design_experiment("cuda:0", 210)[1000] == jobs[1000]);
  // No workload of another seed's design is among them.
  for (const JobStep& job : design_experiment("cuda:0", 20, 1)) {
    JobShape unsplit = job.axes;
    unsplit.chunks = unsplit.streams = 1;
    unsplit.kernel_ratio = 0;
    CHECK_FALSE(workloads.count(unsplit));
  }
  // A longer design begins with the same workloads.
  const auto more = design_experiment("cuda:0", 211);
  CHECK(std::any_of(more.begin(), more.end(), [&](const JobStep& j) { return j == jobs[0]; }));
  // In order, chunks would repeat every 16 points.
  int repeats = 0;
  for (std::size_t i = 16; i < jobs.size(); ++i) repeats += jobs[i].axes.chunks == jobs[i - 16].axes.chunks;
  CHECK(repeats < 400);  // some 210 by chance
}

TEST_CASE("a design issued both ways has each point twice, and the same points as one way") {
  const auto streams = design_experiment("cuda:0", 4, 7),
             both = design_experiment("cuda:0", 4, 7, {Issuing::streams, Issuing::graph});
  REQUIRE(both.size() == 2 * streams.size());
  std::multiset<JobShape> once, graphs;
  for (const JobStep& step : streams) once.insert(step.axes);
  for (const JobStep& step : both)
    if (step.question.issue == Issuing::graph) graphs.insert(step.axes);
  CHECK(once == graphs);
}

}  // namespace experiments_test

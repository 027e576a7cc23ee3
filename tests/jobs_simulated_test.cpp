// Jobs in streams on a simulated device, whose times can be added up by hand.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

#include "npgpu/vocabulary/job.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace jobs_simulated_test {

using namespace npgpu;

namespace {

std::optional<JobSample> run_once(Runner<Jobs>& runner) {
  std::vector<JobSample> samples;
  if (!runner.run(1, samples)) return std::nullopt;
  return samples.at(0);
}

// 1 GB/s in, 2 GB/s out; calls of 3 us; 1 us between copies in, 2 us between copies out; 5 us until a kernel may follow
// its copy. Two SMs of 32 lanes and one block of 32 threads each at a time, at 1 GHz; an FMA takes 4 cycles.
class Plain {
 public:
  // `more`: further keys of the spec, "noise" or "faults"; `host`: of its host.
  explicit Plain(const std::string& more = "", const std::string& host = "")
      : folder_(std::filesystem::temp_directory_path() / "npgpu_jobs_simulated_test") {
    std::filesystem::create_directories(folder_);
    id = "sim:" + (folder_ / "plain.json").string();
    std::ofstream(folder_ / "plain.json") << "{" << more << R"(
      "name": "Plain", "source": "made up", "memory_bytes": 1000000000,
      "host": {"copy_us": 3, "copy_async_us": 3, "launch_us": 3, "synchronize_us": 10)"
                                          << host << R"(},
      "links": {"h2d": {"pinned": {"rate_gb_s": 1, "latency_us": 5, "gap_us": 1}},
                "d2h": {"pinned": {"rate_gb_s": 2, "latency_us": 0, "gap_us": 2}},
                "d2d": {"rate_gb_s": 100}},
      "hardware": {"sms": 2, "schedulers": 1, "lanes": 32, "shader_clock_mhz": 1000, "blocks": 1, "warps": 1,
                   "fma_latency_cycles": 4, "memory_latency_cycles": 100, "stream_create_us": 7,
                   "stream_destroy_us": 2}})";
  }
  ~Plain() { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Runner<Jobs>> open(const JobCase& c, const JobShape& job) {
    const JobStep step{c, job};
    return find_job_backend(id).open({&step, 1});
  }
  // Nothing if the gate timed out.
  std::optional<JobSample> try_run(const JobCase& c, const JobShape& job) {
    const auto runner = open(c, job);
    runner->prepare({c, job});
    const auto sample = run_once(*runner);
    CHECK_FALSE(runner->check({}));
    return sample;
  }
  JobSample run(const JobCase& c, const JobShape& job) { return try_run(c, job).value(); }
  JobCase job_case(Workload workload, Order order, StreamPool pool, bool gated) const {
    return {id, workload, order, pool, gated ? Gating::gated : Gating::open};
  }
  std::string id;

 private:
  std::filesystem::path folder_;
};

constexpr JobShape copies{.bytes_in = 128'000, .chunks = 4, .streams = 4};

std::string faults_at(std::initializer_list<int> calls) {
  std::string list;
  for (const int call : calls)
    list +=
        (list.empty() ? "" : ",") + std::string(R"({"kind": "gate-timeout", "call": )") + std::to_string(call) + "}";
  return "\"faults\": [" + list + "],";
}

struct Scatter {
  double mean = 0, deviation = 0;
};
// Of the device's times over 400 runs, in us.
Scatter scatter_of(Plain& plain, const JobCase& c, const JobShape& job) {
  constexpr int runs = 400;
  const auto runner = plain.open(c, job);
  runner->prepare({c, job});
  double sum = 0, squares = 0;
  for (int i = 0; i < runs; ++i) {
    const double t = run_once(*runner).value().device_us;
    sum += t;
    squares += t * t;
  }
  const double mean = sum / runs;
  return {mean, std::sqrt(std::max(0.0, squares / runs - mean * mean))};
}

}  // namespace

TEST_CASE("simulated job: copies in streams of their own follow each other on the engine") {
  Plain plain;
  const auto ran = plain.run(plain.job_case(Workload::none, Order::breadth_first, StreamPool::pooled, true), copies);
  CHECK(ran.device_us == doctest::Approx(4 * (1 + 32)));  // nothing follows that would wait for the latency
  CHECK(ran.issue_us == doctest::Approx(4 * 3));
}

TEST_CASE("simulated job: in one stream a copy does not wait for the latency of the one before") {
  Plain plain;
  JobShape job = copies;
  job.streams = 1;
  const auto ran = plain.run(plain.job_case(Workload::none, Order::breadth_first, StreamPool::pooled, true), job);
  CHECK(ran.device_us == doctest::Approx(4 * (1 + 32)));
}

TEST_CASE("simulated job: the host's clock sees the first call, streams made, and the synchronization") {
  Plain plain;
  const auto ran = plain.run(plain.job_case(Workload::none, Order::breadth_first, StreamPool::fresh, false), copies);
  CHECK(ran.host_us == doctest::Approx(4 * 7 + 3 + 4 * (1 + 32) + 10));
  CHECK(ran.create_us == doctest::Approx(28));
  CHECK(ran.destroy_us == doctest::Approx(8));
  CHECK(std::isnan(ran.device_us));
}

TEST_CASE("simulated job: in independent order both directions and the kernel wait for nothing but their engines") {
  Plain plain;
  // In 128 us, out 64 us; the kernel: 4 blocks of 32 threads in 2 slots are two waves of 8*4 = 32 cycles each.
  const JobShape job{.bytes_in = 128'000, .bytes_out = 128'000, .kernel_bytes = 512, .iterations = 1, .threads = 32};
  const auto independent =
      plain.run(plain.job_case(Workload::compute, Order::independent, StreamPool::pooled, true), job);
  CHECK(independent.device_us == doctest::Approx(1 + 128));
  const auto after = plain.run(plain.job_case(Workload::compute, Order::depth_first, StreamPool::pooled, true), job);
  CHECK(after.device_us == doctest::Approx((1 + 128 + 5) + 2 * 32e-3 + (2 + 64)));
}

TEST_CASE("simulated job: a spec that says nothing of kernels refuses them by name") {
  Plain plain;
  CHECK_THROWS_AS(plain.run(plain.job_case(Workload::memory, Order::breadth_first, StreamPool::fresh, true), copies),
                  Error);
  JobShape kernel = copies;
  kernel.kernel_bytes = 512;
  const auto why =
      find_job_backend("sim:plain").refuses({{.device = "sim:plain", .workload = Workload::memory}, kernel});
  REQUIRE(why);
  CHECK(why->find("hardware.memory_latency_cycles") != std::string::npos);
  CHECK_FALSE(find_job_backend("sim:plain").refuses({{.device = "sim:plain", .workload = Workload::none}, copies}));
  JobShape wrong = copies;
  wrong.chunks = 0;
  CHECK_THROWS_AS(plain.run(plain.job_case(Workload::none, Order::breadth_first, StreamPool::pooled, false), wrong),
                  Error);
}

// The gate opens 200 us after the last call.
TEST_CASE("simulated job: one stream free is held up where there are more streams than queues") {
  const JobCase c{"sim:h200", Workload::none, Order::breadth_first, StreamPool::pooled, Gating::last_stream_free};
  const JobStep two{c, {.bytes_in = 256, .chunks = 2, .streams = 2}};
  const auto runner = find_job_backend("sim:h200").open({&two, 1});  // 32 queues
  for (const std::uint32_t streams : {2u, 32u, 33u, 64u}) {
    CAPTURE(streams);
    runner->prepare({c, {.bytes_in = streams * 128, .chunks = streams, .streams = streams}});
    const JobSample ran = run_once(*runner).value();
    CHECK_FALSE(runner->check({}));
    CHECK(std::isnan(ran.device_us));
    const double waited = ran.host_us - ran.issue_us;
    if (streams <= 32) CHECK(waited < 30);
    else CHECK(waited > 200);
  }
}

TEST_CASE("simulated job: noise of single copies is on their bytes, each by itself") {
  Plain plain(R"("noise": {"operation_sigma": 0.05},)");
  JobShape one = copies;
  one.chunks = one.streams = 1;
  const auto gated = plain.job_case(Workload::none, Order::breadth_first, StreamPool::pooled, true);
  // One copy of 128 us scatters by 5 %, 6.4 us; of four of 32 us, 1.6 us each, the sum by twice that.
  const Scatter unsplit = scatter_of(plain, gated, one), cut = scatter_of(plain, gated, copies);
  CHECK(unsplit.mean == doctest::Approx(1 + 128).epsilon(0.01));
  CHECK(unsplit.deviation == doctest::Approx(6.4).epsilon(0.15));
  CHECK(cut.mean == doctest::Approx(4 * (1 + 32)).epsilon(0.01));
  CHECK(cut.deviation == doctest::Approx(3.2).epsilon(0.15));
  // A kernel copies nothing.
  const JobShape kernel{.kernel_bytes = 512, .iterations = 1, .threads = 32};
  const auto compute = plain.job_case(Workload::compute, Order::breadth_first, StreamPool::pooled, true);
  CHECK(scatter_of(plain, compute, kernel).deviation < 1e-6);
}

TEST_CASE("simulated job: a gate that times out while it is closed voids the run, and that one alone") {
  // Calls: 1 makes the gate's stream, 2 poisons the results; a run is 3 close the gate, 4 launch, 5 synchronize.
  const auto voided = [](int call, bool gated) {
    Plain plain(faults_at({call}));
    const auto c = plain.job_case(Workload::none, Order::breadth_first, StreamPool::pooled, gated);
    const auto runner = plain.open(c, copies);
    runner->prepare({c, copies});
    const auto first = run_once(*runner), second = run_once(*runner);
    REQUIRE(second);
    CHECK(std::isnan(second->device_us) == !gated);
    if (first) CHECK(std::isnan(first->device_us) == !gated);
    return !first;
  };
  CHECK(voided(3, true));
  CHECK(voided(4, true));
  CHECK_FALSE(voided(5, true));  // it is open by then
  for (const int call : {1, 2, 3}) CHECK_FALSE(voided(call, false));
}

TEST_CASE("simulated job: a void run is run again, three in a row end the job") {
  const auto measured = [](std::initializer_list<int> calls) {
    Plain plain(faults_at(calls));
    const auto c = plain.job_case(Workload::none, Order::breadth_first, StreamPool::pooled, true);
    const auto runner = plain.open(c, copies);
    const auto schedule = classic_schedule({.trials = 2});
    return measure<Jobs>(*runner, *schedule, {c, copies}, {})->samples;
  };
  // Every run is of three calls, the first of them call 3: two void ones, then those that are asked for.
  const auto samples = measured({3, 6});
  REQUIRE(samples.size() == 2);
  for (const JobSample& s : samples) CHECK(s.device_us == doctest::Approx(4 * (1 + 32)));
  CHECK_THROWS_WITH_AS(measured({3, 6, 9}), doctest::Contains("the gate timed out 3 times"), Error);
}

TEST_CASE("simulated job: more calls than a gate holds time it out, as many as it holds do not") {
  Plain plain("", R"(, "gate_capacity": 4)");
  const auto c = plain.job_case(Workload::none, Order::breadth_first, StreamPool::pooled, true);
  CHECK(plain.try_run(c, copies));
  JobShape five = copies;
  five.chunks = five.streams = 5;
  CHECK_FALSE(plain.try_run(c, five));
  CHECK(plain.try_run(plain.job_case(Workload::none, Order::breadth_first, StreamPool::pooled, false), five));
}

TEST_CASE("simulated job: a device that does not say what graphs cost runs none, and names the key") {
  Plain plain;
  const JobCase graph{plain.id, Workload::none, Order::breadth_first, StreamPool::pooled, Gating::open, Issuing::graph};
  CHECK(find_job_backend(plain.id).refuses({graph, copies}).value_or("").find("call_graph_launch_us is missing") !=
        std::string::npos);
}

TEST_CASE("simulated job: on a device that says what graphs cost, only the host's part of a job changes") {
  const JobShape job{.bytes_in = 4 * 4096, .chunks = 4, .streams = 4};
  JobCase c{"sim:h200", Workload::none, Order::breadth_first};
  const auto issue_us = [&] {
    const JobStep step{c, job};
    const auto runner = find_job_backend(c.device).open({&step, 1});
    runner->prepare(step);
    return run_once(*runner).value().issue_us;
  };
  CHECK(issue_us() == doctest::Approx(4 * 1.9).epsilon(0.05));
  c.issue = Issuing::graph;
  CHECK(issue_us() == doctest::Approx(1.3 + 4 * 0.8).epsilon(0.05));
}

}  // namespace jobs_simulated_test

// Jobs in streams on a simulated device, whose times can be added up by hand.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "npgpu/error.hpp"
#include "npgpu/overlap.hpp"

using namespace npgpu;

namespace {

// 1 GB/s in, 2 GB/s out; calls of 3 us; 1 us between copies in, 2 us between copies out; 5 us until a kernel may follow
// its copy. Two SMs of 32 lanes and one block of 32 threads each at a time, at 1 GHz; an FMA takes 4 cycles.
class Plain {
 public:
  Plain() : folder_(std::filesystem::temp_directory_path() / "npgpu_overlap_simulated_test") {
    std::filesystem::create_directories(folder_);
    id = "sim:" + (folder_ / "plain.json").string();
    std::ofstream(folder_ / "plain.json") << R"({
      "name": "Plain", "source": "made up", "memory_bytes": 1000000000,
      "host": {"copy_us": 3, "copy_async_us": 3, "launch_us": 3, "synchronize_us": 10},
      "links": {"h2d": {"pinned": {"rate_gb_s": 1, "latency_us": 5, "gap_us": 1}},
                "d2h": {"pinned": {"rate_gb_s": 2, "latency_us": 0, "gap_us": 2}},
                "d2d": {"rate_gb_s": 100}},
      "hardware": {"sms": 2, "schedulers": 1, "lanes": 32, "shader_clock_mhz": 1000, "blocks": 1, "warps": 1,
                   "fma_latency_cycles": 4, "memory_latency_cycles": 100, "stream_create_us": 7,
                   "stream_destroy_us": 2}})";
  }
  ~Plain() { std::filesystem::remove_all(folder_); }

  JobRan run(const OverlapCase& c, const JobShape& job) {
    const JobQuestion question{c, job};
    const auto runner = find_overlap_backend(id).open(id, {&question, 1});
    runner->prepare(c, job);
    const JobRan ran = runner->run();
    CHECK_FALSE(runner->intact());
    return ran;
  }
  OverlapCase asked(Workload workload, IssueOrder order, StreamPool pool, bool gated) const {
    return {id, workload, order, pool, gated};
  }
  std::string id;

 private:
  std::filesystem::path folder_;
};

double us(Seconds t) { return microseconds(t); }

constexpr JobShape copies{.bytes_in = 128'000, .chunks = 4, .streams = 4};

}  // namespace

TEST_CASE("simulated job: copies in streams of their own follow each other on the engine") {
  Plain plain;
  const auto ran = plain.run(plain.asked(Workload::none, IssueOrder::breadth_first, StreamPool::pooled, true), copies);
  REQUIRE(ran.device);
  CHECK(us(*ran.device) == doctest::Approx(4 * (1 + 32) + 5));  // the latency of the last
  CHECK(us(ran.issue) == doctest::Approx(4 * 3));
}

TEST_CASE("simulated job: in one stream a copy does not wait for the latency of the one before") {
  Plain plain;
  JobShape job = copies;
  job.streams = 1;
  const auto ran = plain.run(plain.asked(Workload::none, IssueOrder::breadth_first, StreamPool::pooled, true), job);
  CHECK(us(*ran.device) == doctest::Approx(4 * (1 + 32) + 5));
}

TEST_CASE("simulated job: the host's clock sees the first call, streams made, and the synchronization") {
  Plain plain;
  const auto ran = plain.run(plain.asked(Workload::none, IssueOrder::breadth_first, StreamPool::fresh, false), copies);
  CHECK(us(ran.host) == doctest::Approx(4 * 7 + 3 + 4 * (1 + 32) + 5 + 10));
  REQUIRE(ran.create);
  CHECK(us(*ran.create) == doctest::Approx(28));
  CHECK(us(*ran.destroy) == doctest::Approx(8));
  CHECK_FALSE(ran.device);
}

TEST_CASE("simulated job: apart, both directions and the kernel wait for nothing but their engines") {
  Plain plain;
  // In 128 us, out 64 us; the kernel: 4 blocks of 32 threads in 2 slots are two waves of 8*4 = 32 cycles each.
  const JobShape job{.bytes_in = 128'000, .bytes_out = 128'000, .kernel_bytes = 512, .iterations = 1, .threads = 32};
  const auto apart = plain.run(plain.asked(Workload::compute, IssueOrder::apart, StreamPool::pooled, true), job);
  CHECK(us(*apart.device) == doctest::Approx(1 + 128 + 5));
  const auto after = plain.run(plain.asked(Workload::compute, IssueOrder::depth_first, StreamPool::pooled, true), job);
  CHECK(us(*after.device) == doctest::Approx((1 + 128 + 5) + 2 * 32e-3 + (2 + 64)));
}

TEST_CASE("simulated job: a spec that says nothing of kernels refuses them by name") {
  Plain plain;
  CHECK_THROWS_AS(plain.run(plain.asked(Workload::memory, IssueOrder::breadth_first, StreamPool::fresh, true), copies),
                  Error);
  const auto why = find_overlap_backend("sim:gtx280")
                       .refuses({{.device = "sim:gtx280", .workload = Workload::memory}, copies});
  REQUIRE(why);
  CHECK(why->find("hardware.memory_latency_cycles") != std::string::npos);
  CHECK_FALSE(find_overlap_backend("sim:gtx280").refuses({{.device = "sim:gtx280", .workload = Workload::none}, copies}));
  JobShape wrong = copies;
  wrong.chunks = 0;
  CHECK_THROWS_AS(plain.run(plain.asked(Workload::none, IssueOrder::breadth_first, StreamPool::pooled, false), wrong),
                  Error);
}

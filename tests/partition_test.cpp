// The partition method's cuts, its arithmetic, its runs on the host, and its exact times on a simulated device.
#include "npgpu/vocabulary/partition.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "netpipe/jobs/partition/rows.hpp"
#include "netpipe/jobs/partition/runner.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace partition_test {

using namespace npgpu;
using namespace npgpu::partition;

namespace {

template <class Real> struct System {
  std::vector<Real> a, b, c, d, interface, ends, x;
  explicit System(const PartitionShape& shape)
      : a(shape.size), b(a), c(a), d(a), interface(8 * sub_systems_of(shape)), ends(2 * sub_systems_of(shape)), x(a) {
    for (std::uint64_t i = 0; i < shape.size; ++i) {
      const Row<Real> row = row_of<Real>(i);
      a[i] = row.a, b[i] = row.b, c[i] = row.c, d[i] = row.d;
    }
  }
  SubSystems of(const PartitionShape& shape, std::uint32_t chunk) {
    const PartitionChunk piece = chunk_of(shape, chunk);
    return {a.data(),    b.data(),        c.data(),           d.data(),      interface.data(),
            ends.data(), x.data(),        piece.first_system, piece.systems, sub_systems_of(shape),
            shape.size,  shape.sub_system};
  }
  void solve(const PartitionShape& shape) {
    for (std::uint32_t c_ = 0; c_ < shape.chunks; ++c_)
      for (std::uint64_t i = 0; i < of(shape, c_).count; ++i) stage1<Real>(of(shape, c_), i);
    solve_interface(interface.data(), ends.data(), sub_systems_of(shape));
    const std::vector<Real> untouched = c;
    for (std::uint32_t c_ = 0; c_ < shape.chunks; ++c_)
      for (std::uint64_t i = 0; i < of(shape, c_).count; ++i) stage3<Real>(of(shape, c_), i);
    c = untouched;  // stage 3 writes over it
  }
};

template <class Real> double error_of(const PartitionShape& shape) {
  System<Real> s(shape);
  s.solve(shape);
  return backward_error(s.a.data(), s.b.data(), s.c.data(), s.d.data(), s.x.data(), shape.size);
}

const Backend<Partitions>& backend(const std::string& kind) {
  for (const auto& one : backends<Partitions>())
    if (one->device_kind() == kind) return *one;
  throw Error(ErrorKind::failed, "no backend");
}

PartitionSample run(const PartitionStep& step) {
  const auto runner = backend(std::string(devices::kind_of(step.question.device))).open({&step, 1});
  runner->prepare(step);
  std::vector<PartitionSample> samples;
  CHECK(runner->run(1, samples));
  REQUIRE(samples.size() == 1);
  const auto wrong = runner->check(samples);
  CHECK_MESSAGE(!wrong, wrong.value_or(""));
  CHECK(samples[0].intact == 1);
  return samples[0];
}

// Round numbers: copies 1 us a 10 kB, gaps 1 us; a row of the interface system 0.01 us.
class Device {
 public:
  explicit Device(const nlohmann::json& hardware = nlohmann::json::object()) {
    std::ifstream in(std::filesystem::path(NPGPU_SOURCE_DIR) / "data/devices/plain.json");
    auto spec = nlohmann::json::parse(in);
    spec.erase("noise");
    spec["duplex"] = {{"sl_h", 1}, {"sl_d", 1}};
    for (const char* way : {"h2d", "d2h"})
      spec["links"][way] = {{"pinned", {{"rate_gb_s", 10}, {"latency_us", 0}, {"gap_us", 1}}}};
    spec["host"] = {{"copy_us", 1}, {"copy_async_us", 0.5}, {"launch_us", 0.5}};
    spec["hardware"] = {{"sms", 10},
                        {"schedulers", 1},
                        {"lanes", 32},
                        {"shader_clock_mhz", 1000},
                        {"blocks", 4},
                        {"warps", 32},
                        {"block_threads", 1024},
                        {"memory_latency_cycles", 500},
                        {"interface_row_us", 0.01}};
    spec["hardware"].update(hardware);
    std::ofstream(path_) << spec;
  }
  ~Device() { std::filesystem::remove(path_); }
  std::string id() const { return "sim:" + path_.string(); }

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("partition_test_" + std::to_string(++made_) + ".json");
  static inline int made_ = 0;
};

}  // namespace

TEST_CASE("chunks are whole sub-systems, the last one has the rows that are left over") {
  const PartitionShape shape{.size = 1007, .sub_system = 10, .chunks = 3, .streams = 3};
  CHECK(sub_systems_of(shape) == 100);
  const PartitionChunk first = chunk_of(shape, 0), second = chunk_of(shape, 1), third = chunk_of(shape, 2);
  CHECK(first.systems == 33);
  CHECK(second.first_system == 33);
  CHECK(third.first_system == 66);
  CHECK(third.systems == 34);
  CHECK(first.rows == 330);
  CHECK(third.first_row == 660);
  CHECK(third.rows == 347);
  const PartitionBuffer& interface = partition_buffers[buffer_named("interface")];
  CHECK(range_of(interface, third).first == 8 * 66);
  CHECK(range_of(interface, third).count == 8 * 34);
  CHECK(range_of(partition_buffers[buffer_named("x")], third).first == 660);
}

TEST_CASE("the pipeline moves the paper's bytes: 4 N down, 8 for each sub-system up, 2 down, N up") {
  const Pipeline p = partition_pipeline(Precision::fp64, {.size = 1000, .sub_system = 10});
  REQUIRE(p.size() == 2);
  std::uint64_t bytes[2][2] = {};
  for (int part = 0; part < 2; ++part)
    for (const PipelineStage& s : p[static_cast<std::size_t>(part)].stages)
      if (s.stage != Stage::kernel) bytes[part][s.stage == Stage::d2h] += s.bytes;
  CHECK(bytes[0][0] == 4 * 8000);
  CHECK(bytes[0][1] == 8 * 100 * 8);
  CHECK(bytes[1][0] == 2 * 100 * 8);
  CHECK(bytes[1][1] == 8000);
  CHECK(p[0].host_work == "stage2");
}

TEST_CASE("a system that can be solved on paper") {
  // x = 1, 2, 3, 4 of rows (2, -1), (-1, 3, -1), (1, 4, 1), (-1, 2).
  double a[] = {99, -1, 1, -1}, b[] = {2, 3, 4, 2}, c[] = {-1, -1, 1, 99}, d[] = {0, 2, 18, 5}, rows[16], ends[4], x[4];
  for (const std::uint32_t sub_system : {2u, 4u}) {
    double own[] = {c[0], c[1], c[2], c[3]};
    SubSystems s{a, b, own, d, rows, ends, x, 0, 4 / sub_system, 4 / sub_system, 4, sub_system};
    for (std::uint64_t i = 0; i < s.count; ++i) stage1<double>(s, i);
    solve_interface(rows, ends, s.count);
    for (std::uint64_t i = 0; i < s.count; ++i) stage3<double>(s, i);
    for (int i = 0; i < 4; ++i) CHECK(x[i] == doctest::Approx(i + 1));
  }
}

TEST_CASE("solutions are right to a few rounding errors, whatever the sub-systems and chunks") {
  for (const std::uint32_t sub_system : {2u, 3u, 4u, 10u, 64u, 1000u})
    for (const std::uint64_t size :
         {std::uint64_t{sub_system}, std::uint64_t{sub_system} * 2 + 1, std::uint64_t{20011}})
      for (const std::uint32_t chunks : {1u, 2u}) {
        if (size / sub_system < chunks) continue;
        CAPTURE(sub_system);
        CAPTURE(size);
        const PartitionShape shape{size, sub_system, chunks, chunks};
        CHECK(error_of<double>(shape) <= 16 * std::numeric_limits<double>::epsilon());
        CHECK(error_of<float>(shape) <= 16 * double{std::numeric_limits<float>::epsilon()});
      }
}

TEST_CASE("a wrong number in a solution is seen: by its residual, and by LAPACK where there is one") {
  const PartitionShape shape{.size = 1000};
  System<double> s(shape);
  s.solve(shape);
  const auto error = [&] {
    return backward_error(s.a.data(), s.b.data(), s.c.data(), s.d.data(), s.x.data(), shape.size);
  };
  CHECK_FALSE(judge_residual(error(), max_backward_error<double>()));
  Lapack lapack;
  MESSAGE(lapack.text());
  const bool has_lapack = lapack.text().starts_with("compared");
  CHECK_FALSE(lapack.differs(s.x.data(), shape.size));
  const double right = s.x[500];
  s.x[500] *= 1 + 1e-10;
  CHECK(judge_residual(error(), max_backward_error<double>()));
  CHECK(lapack.differs(s.x.data(), shape.size).has_value() == has_lapack);
  s.x[500] = std::numeric_limits<double>::quiet_NaN();
  CHECK(judge_residual(error(), max_backward_error<double>()));
  CHECK(lapack.differs(s.x.data(), shape.size).has_value() == has_lapack);
  s.x[500] = right;
  CHECK_FALSE(judge_residual(error(), max_backward_error<double>()));
}

TEST_CASE("on the host: right in every number of streams, with all times of its stages") {
  for (const Precision type : {Precision::fp32, Precision::fp64})
    for (const std::uint32_t streams : {1u, 3u, 8u}) {
      const PartitionSample s = run({{"host", type, PartitionTiming::whole}, {10007, 10, streams, streams}});
      CHECK(s.host_us > s.stage2_us);
      CHECK(s.stage2_us > 0);
      CHECK(std::isnan(s.stage1_kernel_us));
      CHECK(s.residual > 0);
      CHECK(s.residual < (type == Precision::fp32 ? 1e-5 : 1e-14));
    }
  const PartitionSample s = run({{"host", Precision::fp64, PartitionTiming::stages}, {10007, 10, 4, 1}});
  for (const double us :
       {s.stage1_in_us, s.stage1_kernel_us, s.stage1_out_us, s.stage3_in_us, s.stage3_kernel_us, s.stage3_out_us})
    CHECK(us > 0);
}

TEST_CASE("simulated: the unsplit run is the sum of its stages, by hand") {
  const Device device;
  const PartitionShape shape{.size = 100'000};
  const PartitionSample stages = run({{device.id(), Precision::fp64, PartitionTiming::stages}, shape});
  CHECK(stages.stage1_in_us == doctest::Approx(4 * (80 + 1)));  // 800 kB each at 10 GB/s, and a gap
  CHECK(stages.stage1_out_us == doctest::Approx(64 + 1));       // 10,000 sub-systems of 64 B
  CHECK(stages.stage3_in_us == doctest::Approx(16 + 1));
  CHECK(stages.stage3_out_us == doctest::Approx(80 + 1));
  CHECK(stages.stage2_us == doctest::Approx(20'000 * 0.01));
  CHECK(stages.stage1_kernel_us >= 10 * 0.5);  // ten rows, each waits for its loads
  // Four parts of a kernel that fills the device many times take together little longer than the whole.
  const auto kernel_us = [&](std::uint32_t chunks) {
    return run({{device.id(), Precision::fp64, PartitionTiming::stages}, {1'000'000, 10, chunks, 1}}).stage1_kernel_us;
  };
  CHECK(kernel_us(4) > kernel_us(1));
  CHECK(kernel_us(4) < 1.5 * kernel_us(1));
  const PartitionSample whole = run({{device.id(), Precision::fp64, PartitionTiming::whole}, shape});
  // The first call of each part is 0.5 us; the others are made while the first copy is on its way.
  CHECK(whole.host_us == doctest::Approx(stages.host_us + 2 * 0.5));
  const PartitionSample split = run({{device.id(), Precision::fp64, PartitionTiming::whole}, {100'000, 10, 4, 4}});
  CHECK(split.host_us < whole.host_us);
  // Never below the copies of each part that its engine has to make, and the host.
  CHECK(split.host_us > 4 * 80 + 80 + 200);
}

TEST_CASE("what cannot run says why") {
  const auto why = [](PartitionShape shape, PartitionTiming timed = PartitionTiming::whole) {
    return refuses({{"host", Precision::fp64, timed}, shape}).value_or("");
  };
  CHECK(why({1000, 10, 8, 8}).empty());
  CHECK(why({1000, 1, 1, 1}).find("2 to") != std::string::npos);
  CHECK(why({5, 10, 1, 1}).find("0 sub-systems") != std::string::npos);
  CHECK(why({100, 10, 11, 11}).find("too few for 11 chunks") != std::string::npos);
  CHECK(why({1000, 10, 2, 4}).find("streams") != std::string::npos);
  CHECK(why({1000, 10, 4, 4}, PartitionTiming::stages).find("one stream") != std::string::npos);
  CHECK(why({10000, 10, 41, 1}, PartitionTiming::stages).find("gate") != std::string::npos);
  const auto plain = backend("sim").refuses({{"sim:plain", Precision::fp64}, {.size = 1000}});
  REQUIRE(plain);
  CHECK(plain->find("interface_row_us") != std::string::npos);
}

TEST_CASE("the plan: every size whole in every number of streams, and by stages in 1, 4 and the most") {
  const auto sizes = paper_partition_sizes();
  CHECK(sizes.size() == 25);
  CHECK(std::set(sizes.begin(), sizes.end()).size() == 25);
  const Precision types[] = {Precision::fp64};
  const std::uint64_t one[] = {1'000'000};
  const std::uint32_t streams[] = {1, 2, 4, 8, 16, 32};
  const auto steps = partition_steps("host", types, one, 10, streams);
  REQUIRE(steps.size() == 9);
  CHECK(steps[5].axes == PartitionShape{1'000'000, 10, 32, 32});
  CHECK(steps[8].question.timed == PartitionTiming::stages);
  CHECK(steps[8].axes == PartitionShape{1'000'000, 10, 32, 1});
  const std::uint32_t few[] = {1, 3};
  CHECK(partition_steps("host", types, one, 10, few).size() == 4);
}

}  // namespace partition_test

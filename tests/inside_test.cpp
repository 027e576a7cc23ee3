// Inside a multiprocessor, on simulated devices: clusters, bulk copies and warp groups take exactly the time that the
// spec and their laws give, and what is derived of them is what the spec says.
#include <cmath>

#include "fastest_rate.hpp"
#include "npgpu/model/derive.hpp"
#include "npgpu/vocabulary/questions.hpp"
#include "probed.hpp"
#include "probes/banks/shapes.hpp"
#include "probes/cluster/shapes.hpp"
#include "probes/instructions/shapes.hpp"
#include "probes/tma/shapes.hpp"
#include "probes/wgmma/shapes.hpp"

namespace inside_test {

using namespace npgpu;
using nlohmann::json;

namespace {

constexpr double clock_hz = 1980e6;  // of sim:h200, as 132 SMs
constexpr double sms = 132;

// Without noise, and without what a launch takes before the kernel runs.
ChangedSpec exact() {
  return ChangedSpec("h200", [](json& j) {
    j["noise"] = json::object();
    j["hardware"]["kernel_latency_us"] = 1e-9;
  });
}

double says(const char* figure) { return number_fact(devices::find("sim:h200").facts, figure); }

std::vector<ProbeCase> cases_of(const char* probe, const std::string& device) {
  return find_probe(probe, device).cases(device);
}
ProbeCase case_of(const char* probe, const std::string& device, Operation operation, Space space,
                  DataType type = DataType::fp32, Form form = Form::streaming) {
  for (const ProbeCase& c : cases_of(probe, device))
    if (c.operation == operation && c.space == space && (operation == Operation::chase || c.type == type) &&
        (operation == Operation::chase || c.form == form))
      return c;
  FAIL("no such case");
  return {};
}
double rate(const ProbeCase& c, const Shape& shape) {
  return fastest_rate(c, shape, {.trials = 3, .fixed_repeats = 50});
}
// Of a chase: cycles of a load.
double cycles(const ProbeCase& c, const Shape& shape) { return clock_hz / rate(c, shape); }

DeviceParameters derived(const char* probe, const std::string& device) {
  Trace trace;
  const auto schedule = classic_schedule({.trials = 9, .fixed_repeats = 20000});
  for (const ProbeCase& c : cases_of(probe, device)) trace.of<Probes>().push_back(probed(c, *schedule));
  return derive(trace).at(0);
}

}  // namespace

TEST_CASE("a cluster's shared memory: one latency from wherever in the cluster, and a rate of each unit") {
  const ChangedSpec spec = exact();
  const ProbeCase chase = case_of("cluster", spec.id(), Operation::chase, Space::shared);
  const Shape far{.blocks = 8, .access_bytes = 8, .bytes = 4096, .one_block_per_sm = 1, .stride = 5, .cluster = 8};
  CHECK(cycles(chase, far) == doctest::Approx(says("cluster_latency_cycles")).epsilon(1e-4));
  Shape own = far;
  own.stride = 0;
  CHECK(cycles(chase, own) == doctest::Approx(23).epsilon(1e-4));
  const ProbeCase read = case_of("cluster", spec.id(), Operation::read, Space::shared);
  const Shape ring{.blocks = 128,
                   .threads = 1024,
                   .ilp = 4,
                   .access_bytes = 16,
                   .bytes = 128 * KiB,
                   .one_block_per_sm = 1,
                   .stride = 1,
                   .cluster = 4};
  CHECK(rate(read, ring) == doctest::Approx(128 * says("cluster_bytes_per_cycle") * clock_hz).epsilon(1e-3));
  Shape few = ring;  // 32 threads of 16 bytes in a latency are less than the way carries
  few.threads = 32, few.ilp = 1, few.bytes = 512;
  CHECK(rate(read, few) == doctest::Approx(128 * 512 / says("cluster_latency_cycles") * clock_hz).epsilon(1e-3));
}

TEST_CASE("clusters that cannot be are refused, in words") {
  const Probe& probe = find_probe("cluster", "sim:h200");
  const ProbeCase read = case_of("cluster", "sim:h200", Operation::read, Space::shared);
  const Shape good{
      .blocks = 8, .threads = 32, .access_bytes = 16, .bytes = 512, .one_block_per_sm = 1, .stride = 1, .cluster = 4};
  CHECK_FALSE(probe.refuses({read, good}));
  for (const auto& [change, what] :
       {std::pair<void (*)(Shape&), const char*>{[](Shape& s) { s.blocks = 9; }, "whole clusters"},
        {[](Shape& s) { s.cluster = 0; }, "whole clusters"},
        {[](Shape& s) { s.stride = 4; }, "0 to 3 on"},
        {[](Shape& s) { s.bytes = 500; }, "in steps of 512"},
        {[](Shape& s) { s.one_block_per_sm = 0; }, "one_block_per_sm is 1"},
        {[](Shape& s) { s.ilp = 2; }, "1 or 4 in flight"}}) {
    Shape changed = good;
    change(changed);
    CHECK(probe.refuses({read, changed}).value_or("").find(what) != std::string::npos);
  }
  const ChangedSpec small("h200", [](json& j) { j["hardware"]["cluster_blocks"] = 2; });
  const ProbeCase there = case_of("cluster", small.id(), Operation::read, Space::shared);
  CHECK(find_probe("cluster", small.id()).refuses({there, good}).value_or("").find("no clusters of 4") !=
        std::string::npos);
}

TEST_CASE("a device that does not say how its clusters run has none, and says what is missing") {
  for (const auto& [probe, key] : {std::pair{"cluster", "cluster_blocks"},
                                   {"tma", "bulk_latency_cycles"},
                                   {"wgmma", "wgmma_latency_cycles"},
                                   {"banks", "shared_conflict_cycles"},
                                   {"instructions", "instructions_popc_lanes"}}) {
    CHECK(cases_of(probe, "sim:gtx280").empty());
    const auto why = find_probe(probe, "sim:gtx280").refuses_case({.probe = probe, .device = "sim:gtx280"});
    CHECK(why.value_or("").find(key) != std::string::npos);
  }
}

TEST_CASE("bulk copies: over a plain load what the spec adds; so many under way, and then what L2 sends") {
  const ChangedSpec spec = exact();
  const ProbeCase chase = case_of("tma", spec.id(), Operation::chase, Space::l2);
  const auto latency = [&](std::uint32_t rung) {
    return cycles(chase, {.access_bytes = 16, .bytes = MiB, .one_block_per_sm = 1, .rung = rung});
  };
  CHECK(latency(tma::plain) == doctest::Approx(281).epsilon(1e-4));
  CHECK(latency(tma::bulk) == doctest::Approx(281 + says("bulk_latency_cycles")).epsilon(1e-4));
  CHECK(latency(tma::box) == doctest::Approx(281 + says("box_latency_cycles")).epsilon(1e-4));
  const ProbeCase read = case_of("tma", spec.id(), Operation::read, Space::l2);
  Shape shape{.blocks = 132,
              .threads = 128,
              .ilp = 2,
              .access_bytes = 1024,
              .bytes = 16 * MiB,
              .one_block_per_sm = 1,
              .rung = tma::bulk};
  CHECK(rate(read, shape) ==
        doctest::Approx(sms * 4 * 2 * 1024 / (281 + says("bulk_latency_cycles")) * clock_hz).epsilon(1e-3));
  shape.ilp = 8, shape.access_bytes = 4096;
  CHECK(rate(read, shape) == doctest::Approx(10500e9).epsilon(1e-3));
  shape.rung = tma::multicast, shape.cluster = 4;  // each byte leaves L2 once for four blocks
  CHECK(rate(read, shape) == doctest::Approx(4 * 10500e9).epsilon(1e-3));
}

TEST_CASE("a product of a group keeps the tensor cores for its operations, and one that is waited for a latency more") {
  const ChangedSpec spec = exact();
  const auto interval = [&](Operation operation, DataType type, Form form, std::uint32_t n,
                            std::uint32_t threads = 128) {
    const ProbeCase c = case_of("wgmma", spec.id(), operation, Space::shared, type, form);
    const Shape shape{.blocks = 1, .threads = threads, .n = n};
    return wgmma::operations_of_product(c, shape) * (threads / 128) * clock_hz / rate(c, shape);
  };
  // 64 * 256 * 16 multiply-adds at 2048 a cycle.
  CHECK(interval(Operation::wgmma, DataType::fp16, Form::streaming, 256) == doctest::Approx(128).epsilon(1e-4));
  CHECK(interval(Operation::wgmma, DataType::fp16, Form::dependent, 256) ==
        doctest::Approx(128 + says("wgmma_latency_cycles")).epsilon(1e-4));
  CHECK(interval(Operation::wgmma, DataType::fp16, Form::streaming, 8) == doctest::Approx(4).epsilon(1e-4));
  CHECK(interval(Operation::wgmma, DataType::tf32, Form::streaming, 256) == doctest::Approx(128).epsilon(1e-4));
  CHECK(interval(Operation::wgmma_fp16, DataType::fp8, Form::streaming, 64) == doctest::Approx(32).epsilon(1e-4));
  CHECK(interval(Operation::wgmma_sparse, DataType::fp16, Form::streaming, 256) == doctest::Approx(128).epsilon(1e-4));
  CHECK(interval(Operation::wgmma, DataType::fp16, Form::streaming, 256, 256) == doctest::Approx(256).epsilon(1e-4));
}

TEST_CASE("numbers of a group's products stay exact: nine of them in fp16, and in what fp8 keeps") {
  for (const ProbeCase& c : wgmma::cases("sim:h200"))
    for (const Operands operands : {Operands::usual, Operands::zeros, Operands::random}) {
      const tensor::Range range = wgmma::range_of(operands, c.operation, c.type);
      int most = 0;
      for (unsigned row = 0; row < wgmma::rows; ++row)
        for (unsigned column = 0; column < wgmma::most_columns; ++column) {
          int sum = 0;
          for (unsigned j = 0; j < wgmma::kept(c.type); ++j)
            sum += tensor::a0(row, j, range) * tensor::b(wgmma::row_of_b(c.operation, j), column, range);
          most = std::max(most, std::abs(sum));
        }
      const std::string what = title(c);
      CAPTURE(what);
      const int room = c.operation == Operation::wgmma_fp16 ? 1 << 11 : c.type == DataType::fp8 ? 1 << 13 : 1 << 24;
      CHECK(9 * most + 61 < room);
      CHECK((most > 0) == (operands != Operands::zeros));
    }
}

TEST_CASE("the largest of 32 bins that get 32 balls, and bins that hold one or two") {
  CHECK(expected_random_passes(1) == doctest::Approx(1));  // 32 words in all: each bank has one
  // Two rows, 64 words: no conflict in 2^32 of C(64, 32) choices, else two lanes in a bank.
  CHECK(expected_random_passes(2) == doctest::Approx(2 - std::pow(2, 32) / 1.832624140942590534e18));
  CHECK(expected_random_passes(256) == doctest::Approx(3.52446).epsilon(1e-5));
  // By hand with whole numbers, as the one before.
  CHECK(expected_random_passes(1 << 16) == doctest::Approx(3.53291).epsilon(1e-5));
  CHECK(random_passes(256) == doctest::Approx(expected_random_passes(256)).epsilon(0.03));
}

TEST_CASE("words of patterns: each once, and in the banks that they are for") {
  for (const std::uint32_t rung : {banks::strided, banks::shuffled, banks::random})
    for (const std::uint32_t stride : {1u, 4u, 32u}) {
      auto words = banks::words_of(rung, stride, 64);
      const double passes = banks::passes_of(words, 32, 1);
      if (rung == banks::strided) CHECK(passes == stride);
      else if (rung == banks::shuffled) CHECK(passes == 1);
      else CHECK(passes == random_passes(64));
      std::ranges::sort(words);
      for (std::uint32_t i = 0; i < words.size(); ++i) CHECK(words[i] == i);
    }
  CHECK(banks::passes_of(banks::words_of(banks::strided, 2, 64), 32, 2) == 1);  // banks of 8 bytes
}

TEST_CASE("banks: each lane more in a bank adds its cycles to a load, and a pass to what all warps wait for") {
  const ChangedSpec spec = exact();
  const ProbeCase chase = case_of("banks", spec.id(), Operation::chase, Space::shared);
  const ProbeCase read = case_of("banks", spec.id(), Operation::read, Space::shared, DataType::fp32, Form::dependent);
  const auto shape = [](std::uint32_t rung, std::uint32_t stride) {
    return Shape{.threads = 32, .access_bytes = 4, .bytes = 16 * KiB, .stride = stride, .rung = rung};
  };
  const double latency = says("shared_latency_cycles"), conflict = says("shared_conflict_cycles");
  CHECK(cycles(chase, shape(banks::shuffled, 1)) == doctest::Approx(latency).epsilon(1e-4));
  CHECK(cycles(chase, shape(banks::strided, 8)) == doctest::Approx(latency + 7 * conflict).epsilon(1e-4));
  CHECK(cycles(chase, shape(banks::random, 1)) ==
        doctest::Approx(latency + (random_passes(128) - 1) * conflict).epsilon(1e-4));
  Shape all = shape(banks::random, 1);
  all.blocks = 264, all.threads = 1024;
  CHECK(rate(read, all) == doctest::Approx(sms * 128 / random_passes(128) * clock_hz).epsilon(1e-3));
  const DeviceParameters device = derived("banks", spec.id());
  CHECK(value_of(device, "bank latency") == doctest::Approx(latency).epsilon(1e-3));
  CHECK(value_of(device, "bank conflict cycles") == doctest::Approx(conflict).epsilon(1e-3));
  CHECK(value_of(device, "bank passes, random words") == doctest::Approx(random_passes(256)).epsilon(1e-3));
  CHECK(find(device, "bank passes, random words")->verdict == Agreement::agrees);
  const ProbeSeries series = probed(read, *classic_schedule({.trials = 3, .fixed_repeats = 50}));
  const auto usual = law_of(series);
  REQUIRE(usual);
  for (const LawPoint& p : usual->points) {
    const std::string what = text_of(p.shape);
    CAPTURE(what);
    CHECK(p.measured.value == doctest::Approx(p.law).epsilon(1e-3));
  }
  CHECK_FALSE(rule_of(chase));  // passes do not multiply a latency
  const ChangedSpec half("h200", [](json& j) { j["hardware"]["shared_banks"] = 16; });
  const ProbeCase there = case_of("banks", half.id(), Operation::read, Space::shared, DataType::fp32, Form::dependent);
  const auto law = law_of(probed(there, *classic_schedule({.trials = 9, .fixed_repeats = 50})));
  CHECK(std::ranges::count(law->points, Agreement::disagrees, &LawPoint::verdict) > 0);
}

TEST_CASE("words of banks that cannot be are refused in words") {
  const ProbeCase words = case_of("banks", "sim:h200", Operation::chase, Space::shared);
  for (const auto& [shape, what] :
       {std::pair<Shape, const char*>{{.threads = 32, .access_bytes = 4, .bytes = 3 * KiB, .rung = 1}, "power of two"},
        {{.threads = 32, .access_bytes = 4, .bytes = 2 * KiB, .stride = 32, .rung = 1}, "stride 32"},
        {{.threads = 32, .access_bytes = 4, .bytes = 4 * KiB, .stride = 2, .rung = 3}, "have a stride"},
        {{.threads = 64, .access_bytes = 4, .bytes = 4 * KiB, .rung = 3}, "one warp's"},
        {{.threads = 32, .access_bytes = 4, .bytes = 4 * KiB}, "the rungs are"}})
    CHECK(find_probe("banks", "sim:h200").refuses({words, shape}).value_or("").find(what) != std::string::npos);
}

TEST_CASE("an instruction waits its class's latency, or for its lanes") {
  const ChangedSpec spec = exact();
  const auto its = [&](Operation operation, DataType type) {
    return case_of("instructions", spec.id(), operation, Space::registers, type);
  };
  const Shape one{.blocks = 1, .threads = 32}, all{.blocks = 132, .threads = 1024, .ilp = 4};
  CHECK(32 * clock_hz / rate(its(Operation::rsqrt, DataType::fp32), one) ==
        doctest::Approx(says("instructions_special_cycles")).epsilon(1e-4));
  CHECK(rate(its(Operation::rsqrt, DataType::fp32), all) == doctest::Approx(16 * sms * clock_hz).epsilon(1e-3));
  CHECK(32 * clock_hz / rate(its(Operation::via_fp64, DataType::fp32), one) ==
        doctest::Approx(says("instructions_convert_fp64_cycles")).epsilon(1e-4));
  CHECK(rate(its(Operation::mul, DataType::fp64), all) == doctest::Approx(64 * sms * clock_hz).epsilon(1e-3));
  const DeviceParameters device = derived("instructions", "sim:h200");
  CHECK(value_of(device, "shuffle int32 latency") ==
        doctest::Approx(says("instructions_shuffle_cycles")).epsilon(0.02));
  CHECK(value_of(device, "popc int32 rate") == doctest::Approx(16).epsilon(0.02));
}

TEST_CASE("what chains of instructions come to, counted by hand") {
  const auto of = [](Operation operation, DataType type) {
    return ProbeCase{.probe = "instructions", .operation = operation, .type = type};
  };
  using namespace instructions;
  CHECK(first(33, 1) == 42);
  CHECK(word_after(of(Operation::dpx, DataType::int32), 2, 0, 10) == 13);
  CHECK(word_after(of(Operation::shuffle, DataType::int32), 30, 0, 3) == 2);  // of lane 1
  CHECK(word_after(of(Operation::popc, DataType::int32), 6, 0, 1) == 3);
  CHECK(word_after(of(Operation::popc, DataType::int32), 6, 0, 1000) == 1);
  CHECK(word_after(of(Operation::mul, DataType::int64), 0, 0, 1) ==
        static_cast<std::uint32_t>(int64_factor) + static_cast<std::uint32_t>(int64_factor >> 32));
  CHECK(value_after(of(Operation::rcp, DataType::fp32), 3, 0, 7) == 0.25);
  CHECK(value_after(of(Operation::ex2, DataType::fp32), 3, 0, 500) == doctest::Approx(0.641186));
  CHECK(value_after(of(Operation::rsqrt, DataType::fp32), 3, 0, 500) == doctest::Approx(1));
}

TEST_CASE("what is derived of clusters, bulk copies and warp groups is what the spec says") {
  const auto near = [](double value) { return doctest::Approx(value).epsilon(0.02); };
  const DeviceParameters cluster = derived("cluster", "sim:h200");
  CHECK(value_of(cluster, "cluster latency, 2 blocks") == near(says("cluster_latency_cycles")));
  CHECK(value_of(cluster, "cluster latency, 16 blocks") == near(says("cluster_latency_cycles")));
  CHECK(value_of(cluster, "cluster ring, 16 blocks") == near(says("cluster_bytes_per_cycle")));
  CHECK(value_of(cluster, "cluster pairs, 4 blocks") == near(says("cluster_bytes_per_cycle")));
  CHECK(value_of(cluster, "cluster writes, 8 blocks") == near(says("cluster_bytes_per_cycle")));
  const DeviceParameters bulk = derived("tma", "sim:h200");
  CHECK(value_of(bulk, "load latency, L2") == near(281));
  CHECK(value_of(bulk, "bulk copy latency, L2") == near(281 + says("bulk_latency_cycles")));
  CHECK(value_of(bulk, "box latency, memory") == near(685 + says("box_latency_cycles")));
  CHECK(value_of(bulk, "bulk copy reads of L2") == near(10500e9 / sms / clock_hz));
  const DeviceParameters groups = derived("wgmma", "sim:h200");
  CHECK(value_of(groups, "wgmma latency, n 256") == near(128 + says("wgmma_latency_cycles")));
  CHECK(value_of(groups, "wgmma interval, n 64") == near(32));
  CHECK(value_of(groups, "wgmma fp8, random") == near(8192));
  CHECK(value_of(groups, "wgmma fp16, sparse, random") == near(8192));
}

}  // namespace inside_test

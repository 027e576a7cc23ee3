// The host's probes as their users see them: cases, layouts, shapes, refusals, and every shape run once, small.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "netpipe/devices/host/facts.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/questions.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "probes/compute/chains.hpp"
#include "probes/host/probe.hpp"

namespace host_probes_test {

using namespace npgpu;

namespace {

// Those whose loops are npgpu's own; gemm has host_gemm_test.cpp.
std::vector<const Probe*> of_host() {
  std::vector<const Probe*> all;
  for (const auto& probe : probes())
    if (probe->device_kind() == "host" && probe->name() != "gemm") all.push_back(probe.get());
  return all;
}

// For shapes of that case up to so many bytes.
std::unique_ptr<Runner<Probes>> open(const Probe& probe, const ProbeCase& question, std::uint64_t max_bytes) {
  const ProbeStep step{question, {.bytes = max_bytes}};
  return probe.open({&step, 1});
}

}  // namespace

TEST_CASE("compute, bandwidth and latency reach the host, and no other host") {
  std::set<std::string_view> names;
  for (const Probe* probe : of_host()) {
    names.insert(probe->name());
    CHECK(&find_probe(probe->name(), "host") == probe);
    CHECK_THROWS_AS(find_probe(probe->name(), "host:1"), Error);
    CHECK_FALSE(probe->summary().empty());
  }
  CHECK(names == std::set<std::string_view>{"compute", "bandwidth", "latency"});
}

TEST_CASE("a layout is what the affinity mask, the registers and the caches say") {
  const auto cores = host::core_cpus().size();
  for (const Probe* probe : of_host())
    for (const ProbeCase& question : probe->cases("host")) {
      const Layout l = probe->context(question).layout;
      CHECK(l.units == cores);
      CHECK(l.units >= 1);
      CHECK(l.clock_mhz > 100);
      CHECK(l.cache_bytes >= l.near_cache_bytes);
      if (const auto isa = widest_isa()) CHECK(l.lanes == chains::find(*isa, question.type, 1).lanes);
    }
}

TEST_CASE("shapes begin with One-One, are each asked once, and stay within the layout") {
  for (const Probe* probe : of_host())
    for (const ProbeCase& question : probe->cases("host")) {
      if (probe->refuses_case(question)) continue;
      CAPTURE(title(question));
      const Layout l = probe->context(question).layout;
      const auto shapes = probe->shapes(question);
      REQUIRE_FALSE(shapes.empty());
      if (!description_of(question).axes.has_pattern()) {
        CHECK(shapes[0].blocks == 1);
        CHECK(shapes[0].threads == 1);
        CHECK(shapes[0].ilp == 1);
      }
      CHECK(std::set<Shape>(shapes.begin(), shapes.end()).size() == shapes.size());
      bool all_units = false, all_lanes = false;
      for (const Shape& s : shapes) {
        CHECK(s.one_block_per_sm);
        CHECK(s.blocks <= l.units);
        CHECK((s.threads == 1 || s.threads == l.lanes));
        all_units |= s.blocks == l.units;
        all_lanes |= s.threads == l.lanes;
      }
      CHECK((all_units || question.operation == Operation::chase));
      CHECK((all_lanes || question.form == Form::dependent));
    }
}

TEST_CASE("every shape runs, is exact, and stays on as many cores as it has blocks") {
  for (const Probe* probe : of_host())
    for (const ProbeCase& question : probe->cases("host")) {
      if (const auto why = probe->refuses_case(question)) {
        MESSAGE("skipped: " << *why);
        continue;
      }
      const auto runner = open(*probe, question, 64 * MiB);
      std::vector<ProbeSample> samples;
      for (Shape shape : probe->shapes(question)) {
        if (shape.bytes > 4 * MiB) shape.bytes = 4 * MiB;
        CAPTURE(title(question));
        CAPTURE(shape.blocks);
        CAPTURE(shape.threads);
        CAPTURE(shape.ilp);
        CAPTURE(shape.bytes);
        runner->prepare({question, shape});
        CHECK(runner->work() > 0);
        samples.clear();
        CHECK(runner->run(1, samples));
        CHECK(runner->run(2, samples));
        const ProbeSample& sample = samples.at(1);
        CHECK(sample.repeats == 2);
        CHECK(sample.host_us > 0);
        CHECK((std::isnan(sample.cycles) || sample.cycles > 0));
        CHECK(std::isnan(sample.device_us));
        CHECK(sample.units == shape.blocks);
        CHECK(sample.max_blocks_on_unit == 1);
        CHECK(runner->check(std::span(samples).last(1)).value_or("") == "");
        CHECK(samples[0].intact == -1);
        CHECK(sample.intact == 1);
      }
      CHECK(runner->binding().find("cpus") != std::string::npos);
    }
}

TEST_CASE("work is counted by hand") {
  if (isas_here().empty()) return;
  const Probe& compute = find_probe("compute", "host");
  const ProbeCase chains = compute.cases("host")[0];
  const auto runner = open(compute, chains, 0);
  runner->prepare({chains, {.ilp = 3}});
  CHECK(runner->work() == 2 * 3 * 32768);
  const Probe& bandwidth = find_probe("bandwidth", "host");
  for (const ProbeCase& question : bandwidth.cases("host")) {
    const auto walk = open(bandwidth, question, MiB);
    walk->prepare({question, {.access_bytes = 8, .bytes = 3 * 4096}});
    const bool twice = question.operation == Operation::rmw;  // both others' arrays share the set
    CHECK(walk->work() == (twice ? 2 : 1) * 3 * 4096 * 683);  // 683 passes are the first to make 8 MiB
  }
}

TEST_CASE("a large set is walked through piece by piece, and each piece holds what its passes make of it") {
  if (isas_here().empty()) return;
  const Probe& bandwidth = find_probe("bandwidth", "host");
  for (const ProbeCase& question : bandwidth.cases("host")) {
    CAPTURE(title(question));
    const auto walk = open(bandwidth, question, 96 * MiB);
    const ProbeStep step{question, {.access_bytes = 8, .bytes = 96 * MiB}};
    walk->prepare(step);
    const bool twice = question.operation == Operation::rmw;
    CHECK(walk->work() == doctest::Approx((twice ? 2.0 : 1.0) * 32 * MiB).epsilon(1e-3));
    std::vector<ProbeSample> samples;
    for (const std::uint64_t repeats : {1, 2, 5}) {  // one of three pieces; the other two; around
      REQUIRE(walk->run(repeats, samples));
      CHECK(walk->check(std::span(samples).last(1)).value_or("") == "");
    }
    walk->prepare(step);  // the same again goes on where it was
    REQUIRE(walk->run(2, samples));
    CHECK(walk->check(std::span(samples).last(1)).value_or("") == "");
  }
}

TEST_CASE("what cannot run says which option and why") {
  if (isas_here().empty()) return;
  const auto refused = [](const std::string& probe, const Shape& shape) {
    const Probe& one = find_probe(probe, "host");
    const ProbeStep step{one.cases("host")[0], shape};
    const auto runner = open(one, step.question, MiB);
    try {
      runner->prepare(step);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      // Whoever plans it is told the same, but for what the runner was opened for.
      if (shape.bytes <= MiB) CHECK(error.what() == "--shape: " + one.refuses(step).value_or(""));
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  CHECK(refused("compute", {.blocks = 100000}).find("--shape") == 0);
  CHECK(refused("compute", {.blocks = 0}).find("--shape") == 0);
  CHECK(refused("compute", {.threads = 3}).find("--shape") == 0);
  CHECK(refused("compute", {.ilp = 99}).find("--shape") == 0);
  CHECK(refused("bandwidth", {.blocks = 100000, .access_bytes = 8, .bytes = 4096}).find("--shape") == 0);
  CHECK(refused("bandwidth", {.access_bytes = 16, .bytes = 4096}).find("--shape") == 0);
  CHECK(refused("bandwidth", {.access_bytes = 8, .bytes = 2 * MiB}).find("--shape") == 0);
  CHECK(refused("bandwidth", {.access_bytes = 8, .bytes = 8}).find("--shape") == 0);
  CHECK(refused("bandwidth", {.ilp = 3, .access_bytes = 8, .bytes = 4096}).find("--shape") == 0);
  CHECK(refused("latency", {.access_bytes = 8, .bytes = 2 * MiB}).find("--shape: a working set of 2097152 bytes") == 0);
  CHECK(refused("latency", {.blocks = 2, .access_bytes = 8, .bytes = 4096}).find("--shape: a chase has one block") ==
        0);

  for (const Probe* probe : of_host()) {
    ProbeCase other = probe->cases("host")[0];
    other.type = DataType::bf16;
    CHECK(probe->refuses_case(other));
    CHECK_THROWS_AS(open(*probe, other, MiB), Error);
  }
}

TEST_CASE("documented ports: known cores, unknown ones, and models that may have one unit or two") {
  using host::Processor;
  const auto ports = [](const Processor& p, Isa isa) { return documented_ports(p, isa, DataType::fp32).per_cycle; };
  const Processor zen4{"AuthenticAMD", 0x19, 0x11, "AMD EPYC 9654"}, zen3{"AuthenticAMD", 0x19, 0x01, "AMD EPYC 7763"};
  CHECK(ports(zen4, Isa::avx512) == 1);
  CHECK(ports(zen4, Isa::avx2) == 2);
  CHECK(ports(zen4, Isa::scalar) == 2);
  CHECK(ports({"AuthenticAMD", 0x1a, 0x02, ""}, Isa::avx512) == 2);
  CHECK(std::isnan(ports(zen3, Isa::avx512)));
  CHECK(ports({"GenuineIntel", 6, 0x8f, ""}, Isa::avx512) == 2);
  CHECK(ports({"GenuineIntel", 6, 0x55, "Intel Xeon Platinum 8280"}, Isa::avx512) == 2);
  CHECK(std::isnan(ports({"GenuineIntel", 6, 0x55, "Intel Xeon Silver 4114"}, Isa::avx512)));
  CHECK(std::isnan(ports({"GenuineIntel", 6, 1, ""}, Isa::avx2)));
  CHECK(std::isnan(ports({}, Isa::scalar)));
  CHECK(documented_ports({"GenuineIntel", 6, 1, ""}, Isa::avx2, DataType::fp32).source.find("GenuineIntel family 6") !=
        std::string::npos);
  CHECK(std::isnan(documented_ports(zen4, Isa::avx512, DataType::int32).per_cycle));
}

TEST_CASE("the cores one by one end with all of them") {
  CHECK(cores_one_by_one(0).empty());
  CHECK(cores_one_by_one(1) == std::vector<std::uint32_t>{1});
  CHECK(cores_one_by_one(4) == std::vector<std::uint32_t>{1, 2, 3, 4});
  const auto many = cores_one_by_one(192);
  CHECK(many.back() == 192);
  CHECK(many.size() < 40);
  CHECK(std::set<std::uint32_t>(many.begin(), many.end()).size() == many.size());
}

}  // namespace host_probes_test

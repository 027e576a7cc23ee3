// How long kernels take by the figures of a device: by hand, on simulated devices whose figures are known, and on kept
// traces of GPUs, whose points the figures do not come from.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "netpipe/model/kernels/scheduler.hpp"
#include "netpipe/model/probes/probe_rates.hpp"
#include "npgpu/model/device_model.hpp"
#include "npgpu/model/predict.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "probed.hpp"

namespace kernel_time_test {

using namespace npgpu;

namespace {

// Two multiprocessors of one scheduler and 32 lanes at 1 GHz, which hold two blocks of two warps: an operation lasts
// 4 ns and keeps its scheduler for 1; a load lasts 400 ns; 100 GB/s.
DeviceModel small_device(double knee) {
  DeviceModel d{.device = "made"};
  const auto set = [&](const char* key, double value) { d.figures[key] = {value, value, value, {}, "made up"}; };
  set("sms", 2), set("schedulers", 1), set("lanes", 32), set("shader_clock_mhz", 1000), set("fma_latency_cycles", 4);
  set("blocks", 2), set("warps", 4), set("memory_latency_cycles", 400), set("memory_gb_s", 100),
      set("memory_knee", knee);
  return d;
}

// Without what an empty kernel takes.
double ns_of(const DeviceModel& d, const KernelCounts& c) {
  const KernelTime t = time_of_kernel(d, c);
  return 1e9 * (t.likely - t.launch).count();
}

double moves_of(Operation op) {
  return op == Operation::triad ? 3 : op == Operation::read || op == Operation::write ? 1 : 2;
}

// The kernel of a point of the bandwidth or the compute probe, and the seconds that it took.
std::pair<KernelCounts, double> kernel_of(const ProbeSeries& series, const ProbeResult& r) {
  const Shape& s = r.axes;
  KernelCounts c{.type = series.question.type, .blocks = s.blocks, .threads = s.threads, .in_flight = s.ilp};
  const double threads = double(s.blocks) * s.threads;
  if (series.question.probe == "compute") {
    c.flops = 2e6 * threads;
    c.source_registers = 2;  // x * f + f
    return {c, c.flops / r.rate.value};
  }
  const Operation op = series.question.operation;
  const bool walks = s.blocks <= 132.0 * (2048 / s.threads);
  const double moves = moves_of(op), steps = walks ? 1000 : 1;
  c.word_bytes = s.access_bytes;
  if (op == Operation::triad) c.in_flight *= 2;  // it loads from two arrays
  c.bytes = moves * s.access_bytes * s.ilp * threads * steps;
  c.bytes_written = op == Operation::read ? 0 : op == Operation::write ? c.bytes : c.bytes / moves;
  return {c, c.bytes / r.rate.value};
}

struct Errors {
  std::vector<double> all;
  double inside = 0, width = 0;
  double at(double part) {
    std::ranges::sort(all);
    return all.at(static_cast<std::size_t>(part * static_cast<double>(all.size() - 1)));
  }
};

Errors errors_of(const char* name, const std::string& probe, const std::vector<DataType>& types) {
  const Trace trace = read_trace((std::filesystem::path(NPGPU_SOURCE_DIR) / "data/traces" / name).string());
  const DeviceModel device = device_models(trace).at(0);
  Errors errors;
  std::vector<double> widths;
  for (const ProbeSeries& s : trace.of<Probes>()) {
    const ProbeCase& q = s.question;
    if (q.probe != probe || q.device != device.device || q.form == Form::dependent ||
        std::ranges::find(types, q.type) == types.end())
      continue;
    for (const ProbeResult& r : model::rates_of(s)) {
      const Shape& a = r.axes;
      if (probe == "bandwidth" ? a.bytes < 100 * MiB || a.threads == 1 || a.blocks == 1 : a.blocks * a.threads == 1)
        continue;
      const auto [counts, seconds] = kernel_of(s, r);
      const KernelTime t = time_of_kernel(device, counts);
      errors.all.push_back(std::abs((t.likely - t.launch).count() / seconds - 1));
      errors.inside += (t.low - t.launch).count() <= seconds && seconds <= (t.high - t.launch).count();
      widths.push_back(t.high / t.low);
    }
  }
  errors.inside /= static_cast<double>(errors.all.size());
  errors.width = median(widths);
  return errors;
}

}  // namespace

TEST_CASE("the time of a kernel, added up by hand") {
  const DeviceModel d = small_device(0);
  // One warp: 10 operations that wait for each other last 10 * 4 ns; two at once half of that.
  CHECK(ns_of(d, {.flops = 2 * 10 * 32, .blocks = 1, .threads = 32, .in_flight = 1}) == doctest::Approx(40));
  CHECK(ns_of(d, {.flops = 2 * 10 * 32, .blocks = 1, .threads = 32, .in_flight = 2}) == doctest::Approx(20));
  // 8 blocks of two warps: 4 at once, two of them on a multiprocessor, so that four warps share its scheduler: 10 * 4
  // ns, twice. With 5 blocks the last one has a multiprocessor alone: two warps, 10 * 2 ns.
  CHECK(ns_of(d, {.flops = 2 * 10 * 8 * 64, .blocks = 8, .threads = 64, .in_flight = 4}) == doctest::Approx(80));
  CHECK(ns_of(d, {.flops = 2 * 10 * 5 * 64, .blocks = 5, .threads = 64, .in_flight = 4}) == doctest::Approx(60));
  // Every thread loads 4 B, twice: 4 * 64 * 4 B is 10 ns of the memory's rate, and a load lasts 400 ns.
  CHECK(ns_of(d, {.bytes = 2 * 4 * 4 * 64, .bytes_written = 0, .blocks = 4, .threads = 64, .in_flight = 1}) ==
        doctest::Approx(800));
  CHECK(ns_of(d, {.bytes = 2 * 4 * 4 * 64, .bytes_written = 0, .blocks = 4, .threads = 64, .in_flight = 2}) ==
        doctest::Approx(400));
  // 160 kB in 4 blocks, 625 B a thread at once: 1600 ns of the memory's rate.
  CHECK(ns_of(d, {.bytes = 160e3, .bytes_written = 0, .word_bytes = 625, .blocks = 4, .threads = 64, .in_flight = 1}) ==
        doctest::Approx(1600));
  // A smooth knee: latency and rate of 400 ns each last 400 * 2^(1/k), with k = 2.5 where all is read.
  CHECK(ns_of(small_device(4),
              {.bytes = 40e3, .bytes_written = 0, .word_bytes = 160, .blocks = 4, .threads = 64, .in_flight = 1}) ==
        doctest::Approx(400 * std::pow(2, 1 / 2.5)).epsilon(0.01));
}

TEST_CASE("a scheduler serves its oldest block first") {
  // An operation lasts 4 cycles and keeps its scheduler for 2, so that two warps fill it.
  const auto cycles = [](double blocks, double resident, int warps, int schedulers) {
    return model::operations_of({blocks, resident, warps, schedulers, 2},
                                [](double in_flight) { return std::max(4.0, 2 * in_flight); });
  };
  CHECK(cycles(1, 8, 1, 1) == doctest::Approx(4));
  CHECK(cycles(2, 8, 1, 1) == doctest::Approx(4));
  CHECK(cycles(3, 8, 1, 1) == doctest::Approx(8));  // the third waits until the first two have ended
  CHECK(cycles(1, 8, 3, 1) == doctest::Approx(6));  // three of one block share
  // 2, 1 and 2 warps of three blocks: two, then one beside a half of the others, then the rest of these.
  CHECK(cycles(3, 8, 6, 4) == doctest::Approx(10));
  CHECK(cycles(4, 1, 1, 4) == doctest::Approx(16));  // one block at once
  CHECK(cycles(1e6, 16, 4, 4) == doctest::Approx(2e6).epsilon(1e-4));
}

TEST_CASE("kernels of few warps that an H200 timed") {
  const MeasuredCosts twin = costs_of_spec(devices::find("sim:twins/h200"));
  const auto us = [&](DataType type, std::uint64_t blocks, std::uint32_t threads, std::uint32_t in_flight,
                      double operations, std::uint32_t shared = 0) {
    const double all = 2 * operations * static_cast<double>(blocks) * threads;
    const KernelCounts counts{.flops = all,
                              .type = type,
                              .blocks = blocks,
                              .threads = threads,
                              .shared_bytes = shared,
                              .in_flight = in_flight,
                              .source_registers = type == DataType::fp64 ? 2u : 3u};
    return 1e6 * likely_time(twin, counts).count();
  };
  // tests/bench/frozen_shapes.cu; equal shares would give 55, 87, 88 and 367 us.
  CHECK(us(DataType::int32, 583, 64, 1, 16384) == doctest::Approx(71.6).epsilon(0.05));
  CHECK(us(DataType::int32, 534, 128, 1, 16384) == doctest::Approx(104.9).epsilon(0.05));
  CHECK(us(DataType::int32, 669, 96, 1, 16384, 48 << 10) == doctest::Approx(104.3).epsilon(0.05));
  CHECK(us(DataType::fp64, 1333, 256, 1, 16384, 48 << 10) == doctest::Approx(401.4).epsilon(0.05));
}

TEST_CASE("what bounds a kernel, and what cannot be known") {
  const DeviceModel d = small_device(0);
  const auto bound = [&](const KernelCounts& c) { return time_of_kernel(d, c).bound; };
  CHECK(bound({.flops = 640, .blocks = 1, .threads = 32, .in_flight = 1}) == KernelBound::dependent_operations);
  CHECK(bound({.flops = 6.4e6, .blocks = 8, .threads = 64, .in_flight = 4}) == KernelBound::arithmetic);
  CHECK(bound({.bytes = 1e3, .blocks = 4, .threads = 64, .in_flight = 1}) == KernelBound::memory_latency);
  CHECK(bound({.bytes = 1e6, .word_bytes = 1024, .blocks = 4, .threads = 64, .in_flight = 4}) ==
        KernelBound::memory_rate);
  CHECK_THROWS_WITH_AS(time_of_kernel(d, {.flops = 1e6, .type = DataType::fp64, .threads = 32}),
                       doctest::Contains("instructions_fp64_"), Error);
  CHECK_THROWS_WITH_AS(time_of_kernel(d, {.flops = 1e6, .blocks = 1, .threads = 1024}),
                       doctest::Contains("no block of 1024 threads"), Error);
  CHECK_THROWS_AS(time_of_kernel(d, {}), Error);
  const KernelTime t = time_of_kernel(d, {.bytes = 1e6, .blocks = 4, .threads = 64});
  CHECK(t.low < t.likely);
  CHECK(2 * t.low < t.likely);  // with four loads in flight it would take a quarter
  REQUIRE(t.notes.size() == 1);
  CHECK(t.notes[0].find("--in-flight") != std::string::npos);
}

TEST_CASE("figures found by probing a simulated device give the times that its spec gives, within 3 %") {
  for (const char* name : {"h200", "gtx470", "gtx480", "gts250"}) {
    CAPTURE(name);
    const ChangedSpec spec(name, [](nlohmann::json& json) { json.erase("noise"); });
    const auto found = device_models(probed_trace(spec.id()));
    REQUIRE(found.size() == 1);
    const DeviceModel truth = device_model(devices::find(spec.id()));
    CHECK(found[0].at("sms") == truth.at("sms"));
    CHECK(found[0].at("memory_knee") == 0);
    for (const double waves : {0.2, 0.5, 1.0, 1.5, 3.0, 10.25})
      for (const std::uint32_t threads : {32u, 128u, 512u})
        for (const std::uint32_t in_flight : {1u, 4u}) {
          KernelCounts c{.threads = threads, .in_flight = in_flight};
          c.flops = 1;
          c.blocks = static_cast<std::uint64_t>(std::ceil(waves * static_cast<double>(time_of_kernel(truth, c).slots)));
          const double all = static_cast<double>(c.blocks) * threads;
          for (const auto& [flops, bytes] : {std::pair{2000.0, 0.0}, {0.0, 16.0}, {40.0, 64.0}}) {
            c.flops = flops * all;
            c.bytes = bytes * all;
            CAPTURE(c.blocks);
            CAPTURE(threads);
            CAPTURE(flops);
            CHECK(ns_of(found[0], c) == doctest::Approx(ns_of(truth, c)).epsilon(0.03));
          }
        }
  }
}

TEST_CASE("multiprocessors that run nothing are not counted on, and said") {
  Trace trace = probed_trace("sim:gtx280");  // of 30
  for (ProbeSeries& series : trace.of<Probes>())
    for (ProbeSample& sample : series.samples) sample.units = std::min(sample.units, 27u);
  const DeviceModel found = device_models(trace).at(0);
  CHECK(found.at("sms") == 27);
  REQUIRE(found.warnings.size() == 1);
  CHECK(found.warnings[0].starts_with("27 of the 30 multiprocessors"));
}

TEST_CASE("kernels of kept traces of H200s") {
  const std::vector floats{DataType::fp32, DataType::fp64, DataType::int32};
  for (const char* name : {"h200_run_a.h5", "h200_node.h5", "h200_probes.h5"}) {
    CAPTURE(name);
    Errors arithmetic = errors_of(name, "compute", floats), memory = errors_of(name, "bandwidth", floats);
    CHECK(arithmetic.all.size() == 402);
    CHECK(arithmetic.at(0.5) < 0.005);
    CHECK(arithmetic.at(0.95) < 0.03);
    CHECK(arithmetic.inside > 0.95);
    CHECK(memory.all.size() == 245);
    CHECK(memory.at(0.5) < 0.015);
    CHECK(memory.at(0.95) < 0.06);
    CHECK(memory.inside > 0.95);
    CHECK(arithmetic.width < 1.2);
    CHECK(memory.width < 1.25);
    Errors halves = errors_of(name, "compute", {DataType::fp16, DataType::bf16});
    CHECK(halves.at(0.95) < 0.17);
    CHECK(halves.inside > 0.95);
  }
}

}  // namespace kernel_time_test

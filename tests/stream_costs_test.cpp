// What streams cost, found on devices whose truth is their spec: each cost must come out as it went in, and the
// simulator with them must give the times of jobs that were not looked at.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "npgpu/error.hpp"
#include "npgpu/predict.hpp"
#include "probed.hpp"
#include "streamed.hpp"

namespace stream_costs_test {

using namespace npgpu;

namespace {

// An H200 without scatter, and with every cost different from every other.
ChangedSpec odd_h200(const std::function<void(nlohmann::json&)>& more = [](nlohmann::json&) {}) {
  return ChangedSpec("h200", [&](nlohmann::json& spec) {
    spec.erase("noise");
    spec["host"]["copy_async_us"] = 1.9;
    spec["host"]["launch_us"] = 2.6;
    spec["host"]["synchronize_us"] = 4.5;
    spec["links"]["h2d"]["pinned"]["gap_us"] = 2.4;
    spec["links"]["d2h"]["pinned"]["gap_us"] = 1.5;
    spec["links"]["h2d"]["pinned"]["latency_us"] = 3;
    spec["links"]["d2h"]["pinned"]["latency_us"] = 2;
    spec["hardware"]["kernel_latency_us"] = 1.25;
    spec["hardware"]["kernel_gap_us"] = 1.7;
    spec["hardware"]["stream_create_us"] = 2.1;
    spec["hardware"]["stream_destroy_us"] = 1.4;
    more(spec);
  });
}

MeasuredCosts costs_of(const Trace& trace) {
  const auto all = stream_costs(trace);
  REQUIRE(all.size() == 1);
  return all.front();
}

MeasuredCosts measured(const std::string& id) { return costs_of(streamed(id, overheads_experiment(id))); }

// It as it is, measured once for all tests: under a sanitizer that takes seconds.
const std::string& odd() {
  static const ChangedSpec spec = odd_h200();
  static const std::string id = spec.id();
  return id;
}
const Trace& odd_trace() {
  static const Trace trace = streamed(odd(), overheads_experiment(odd()));
  return trace;
}
const MeasuredCosts& odd_costs() {
  static const MeasuredCosts costs = costs_of(odd_trace());
  return costs;
}

const Parameter& parameter(const MeasuredCosts& m, const std::string& name) {
  for (const Parameter& p : m.parameters)
    if (p.name == name) return p;
  FAIL("no parameter " << name);
  return m.parameters.front();
}

// The trace of odd_h200(), but for these jobs of `increment` as the host issues them: with the times that the simulator
// has with such costs and a kernel of 1 us.
Trace with_times_of(const StreamCosts& costs, const std::function<bool(const JobShape&)>& wanted) {
  Trace trace = odd_trace();
  std::size_t changed = 0;
  for (JobSeries& series : trace.of<Jobs>()) {
    const JobCase& c = series.question;
    if (c.workload != Workload::increment || c.gating != Gating::open || c.order != Order::breadth_first) continue;
    for (const auto& visit : series.visits) {
      const JobShape& j = visit.axes;
      if (!wanted(j)) continue;
      const Job job{.in_bytes = j.bytes_in, .out_bytes = j.bytes_out, .kernel = Seconds{1e-6}};
      for (std::size_t i = 0; i < visit.samples; ++i, ++changed)
        series.samples[visit.first_sample + i].host_us =
            microseconds(simulate_total(job, j.chunks, costs, c.order).total);
    }
  }
  REQUIRE(changed > 10);
  return trace;
}

auto about(double value) { return doctest::Approx(value).epsilon(1e-3); }
double us(Seconds t) { return microseconds(t); }

}  // namespace

TEST_CASE("costs of a simulated device are those of its spec") {
  const MeasuredCosts& m = odd_costs();
  CHECK(m.missing.empty());
  REQUIRE(m.usable);
  const StreamCosts& c = m.costs;
  CHECK(us(c.issue.h2d) == about(1.9));
  CHECK(us(c.issue.kernel) == about(2.6));
  CHECK(us(c.issue.d2h) == about(1.9));
  CHECK(us(c.gap.h2d) == about(2.4));
  CHECK(us(c.gap.d2h) == about(1.5));
  CHECK(us(c.gap.kernel) == about(1.7));
  // There before an operation, here after the one before it: 3 + 1.25 until a kernel may begin, 2 until a copy out.
  CHECK(us(c.latency.h2d) == about(4.25));
  CHECK(us(c.latency.kernel) == doctest::Approx(2).epsilon(0.01));
  CHECK(us(c.latency.d2h) < 1e-3);
  CHECK(us(c.submit) == doctest::Approx(4.5).epsilon(0.01));
  CHECK(us(m.create) == about(2.1));
  CHECK(us(m.destroy) == about(1.4));
  CHECK(us(c.stream_create) == 0);
  CHECK(c.duplex_slowdown_h2d == about(1.060699));
  CHECK(c.duplex_slowdown_d2h == about(1.093707));
  CHECK(us(c.duplex_extra_gap) < 0.1);
  CHECK(c.copy_engines == 2);
  CHECK(c.queues.h2d == 32);
  CHECK(c.queues.kernel == 32);
  CHECK(c.queues.d2h == 32);
  CHECK(us(c.copy_h2d(55.57e6)) == about(1000));
  CHECK(us(c.copy_d2h(55.44e6)) == about(1000));
  for (const CostParameter& p : m.parameters) {
    CAPTURE(p.name);
    CHECK(p.name == name(p.cost));
    if (p.estimate.unit == "us") CHECK_FALSE(std::min({p.estimate.value, p.estimate.low, p.estimate.high}) < 0);
  }
  CHECK(parameter(m, "copy engines").verdict == Agreement::agrees);
  for (const char* queues : {"queues h2d", "queues kernel", "queues d2h"})
    CHECK(parameter(m, queues).verdict == Agreement::agrees);
}

TEST_CASE("rates and slow-downs rest on every time that shows them, not on one") {
  // Operations scatter by 1 %. Beside 16 MiB only a quarter of 64 MiB is slowed down: there 1 % of the time is 4 % of
  // the slow-down.
  for (const int seed : {1, 4, 7}) {
    CAPTURE(seed);
    const ChangedSpec spec("h200", [&](nlohmann::json& s) { s["noise"]["seed"] = seed; });
    const MeasuredCosts m = measured(spec.id());
    REQUIRE(m.usable);
    CHECK(parameter(m, "rate h2d").estimate.value == doctest::Approx(55.57e9).epsilon(0.01));
    CHECK(parameter(m, "rate d2h").estimate.value == doctest::Approx(55.44e9).epsilon(0.01));
    CHECK(m.costs.duplex_slowdown_h2d == doctest::Approx(1.060699).epsilon(0.035));
    CHECK(m.costs.duplex_slowdown_d2h == doctest::Approx(1.093707).epsilon(0.02));
  }
}

// In trials that differ in their calls only, which take 0.8 to 1.2 times as long: of 21 such times the 10th percentile
// is 0.84, the 90th 1.16.
TEST_CASE("how much calls vary is found in what the same job's calls took from trial to trial") {
  Trace trace = odd_trace();
  CHECK(costs_of(trace).costs.call_factors.empty());  // three trials say nothing of it
  constexpr std::uint32_t trials = 21;
  for (JobSeries& series : trace.of<Jobs>()) {
    std::vector<JobSample> samples;
    for (auto& visit : series.visits) {
      const JobSample first = series.samples.at(visit.first_sample);
      visit.first_sample = samples.size();
      visit.samples = trials;
      for (std::uint32_t i = 0; i < trials; ++i) {
        samples.push_back(first);
        samples.back().issue_us *= 0.8 + 0.02 * i;
      }
    }
    series.samples = std::move(samples);
  }
  const MeasuredCosts found = costs_of(trace);
  const Estimate spread = parameter(found, "spread of calls").estimate;
  CHECK(spread.unit == "%");
  CHECK(spread.value == doctest::Approx(32));
  CHECK(spread.low == doctest::Approx(32));
  CHECK(spread.high == doctest::Approx(32));
  REQUIRE(found.costs.call_factors.size() == 9);
  for (int i = 0; i < 9; ++i) CHECK(found.costs.call_factors[i] == doctest::Approx(0.84 + 0.04 * i));
}

// Of chunks of 512 KiB with a kernel each the times are those that the simulator has with such a gap.
TEST_CASE("the gap ahead of a kernel is found in what one chunk more costs") {
  const MeasuredCosts& m = odd_costs();
  CHECK(us(m.costs.gap_ahead_of_kernel) < 0.05);
  StreamCosts costs = m.costs;
  costs.gap_ahead_of_kernel = Seconds{1.3e-6};
  const Trace trace = with_times_of(costs, [](const JobShape& j) {
    return j.chunks == j.streams && j.bytes_in == j.chunks * 512 * KiB && !j.bytes_out;
  });
  const MeasuredCosts found = costs_of(trace);
  CHECK(us(found.costs.gap_ahead_of_kernel) == doctest::Approx(1.3).epsilon(0.05));
  CHECK(parameter(found, "gap ahead of kernel").estimate.value == doctest::Approx(1.3).epsilon(0.05));
}

// Kernels of 1024 iterations: twelve warps of sixteen take 0.7 of a block's time for them.
TEST_CASE("what a part of a block takes comes from the kernels with the most iterations") {
  const auto share_of_12_warps = [](const Trace& trace) {
    for (const KernelTimes& times : costs_of(trace).kernels)
      if (times.workload == Workload::compute)
        return (times.time_of_many(0.75) - times.time_of_few(0.75)) / (times.time_of_many(1) - times.time_of_few(1));
    return not_measured;
  };
  Trace trace = odd_trace();
  const double before = share_of_12_warps(trace);
  CHECK(before != doctest::Approx(0.7).epsilon(0.01));
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<JobSample*>> by_shape;  // warps, iterations
  for (JobSeries& series : trace.of<Jobs>())
    if (series.question.workload == Workload::compute && series.question.gating == Gating::gated)
      for (const auto& visit : series.visits)
        if (const JobShape& j = visit.axes; j.chunks == 1 && !j.bytes_in && !j.bytes_out && j.kernel_bytes <= 16 * 128)
          for (std::size_t i = 0; i < visit.samples; ++i)
            by_shape[{j.kernel_bytes / 128, j.iterations}].push_back(&series.samples[visit.first_sample + i]);
  const auto us_of = [&](std::uint64_t warps, std::uint64_t iterations) {
    return by_shape.at({warps, iterations}).front()->device_us;
  };
  for (JobSample* sample : by_shape.at({12, 1024}))
    sample->device_us = us_of(12, 1) + 0.7 * (us_of(16, 1024) - us_of(16, 1));
  CHECK(share_of_12_warps(trace) == doctest::Approx(0.7).epsilon(0.01));
}

// Of small chunks with all three stages the times are those that the simulator has with such a gap; their calls stay.
TEST_CASE("the gap behind a kernel is found in what small chunks take after their calls") {
  const MeasuredCosts& m = odd_costs();
  CHECK(us(m.costs.gap_behind_kernel) < 0.05);
  StreamCosts costs = m.costs;
  costs.gap_behind_kernel = Seconds{0.7e-6};
  const Trace trace = with_times_of(costs, [](const JobShape& j) {
    return j.chunks > 1 && j.chunks == j.streams && j.bytes_in == j.bytes_out && j.bytes_in == j.kernel_bytes;
  });
  const MeasuredCosts found = costs_of(trace);
  CHECK(us(found.costs.gap_behind_kernel) == doctest::Approx(0.7).epsilon(0.05));
  CHECK(parameter(found, "gap behind kernel").estimate.value == doctest::Approx(0.7).epsilon(0.05));
  CHECK(us(found.costs.latency.kernel) == doctest::Approx(us(m.costs.latency.kernel) - 0.7).epsilon(0.05));
}

TEST_CASE("one copy engine and few queues are found, not asked") {
  const ChangedSpec spec = odd_h200([](nlohmann::json& s) {
    s["copy_engines"] = 1;
    s["hardware"]["hardware_queues"] = 8;
  });
  const MeasuredCosts m = measured(spec.id());
  CHECK(m.costs.copy_engines == 1);
}

TEST_CASE("eight queues") {
  const ChangedSpec spec = odd_h200([](nlohmann::json& s) { s["hardware"]["hardware_queues"] = 8; });
  const MeasuredCosts m = measured(spec.id());
  CHECK(m.costs.queues.h2d == 8);
  CHECK(m.costs.queues.kernel == 8);
  CHECK(m.costs.queues.d2h == 8);
}

TEST_CASE("jobs that no cost was fitted to are predicted") {
  const MeasuredCosts& m = odd_costs();
  const auto workloads = workloads_of(streamed(odd(), design_experiment(odd(), 6)));
  REQUIRE(workloads.size() == 6);
  std::vector<double> errors;
  for (const PredictedJob& one : predict_jobs(workloads, m).jobs) {
    std::ranges::copy(errors_of(one), std::back_inserter(errors));
    const auto chosen = std::ranges::min_element(one.predicted_us) - one.predicted_us.begin();
    const auto& times = one.workload.time_us;
    CHECK(times.at(static_cast<std::size_t>(chosen)).value <
          1.02 * std::ranges::min(times, {}, &Estimate::value).value);
  }
  CHECK(spread_of(errors).median < 0.005);
  // 14 % where the kernel's 611 blocks are 1.16 waves: the spec's multiprocessors are not done with one all at once.
  CHECK(spread_of(errors).most < 0.15);
}

TEST_CASE("a kernel in parts: few blocks leave room, many take turns") {
  // Of 4 multiprocessors with 2 slots each. Without iterations 1 us; 100 of them 11 us with up to 4 blocks, 21 with 8.
  KernelTimes times;
  times.few = 0;
  times.many = 100;
  const auto curve = [](std::initializer_list<std::pair<double, double>> us) {
    std::vector<Curve::Point> points;
    for (const auto& [blocks, t] : us) points.push_back({blocks, from_microseconds(t)});
    return Curve(std::move(points));
  };
  times.time_of_few = curve({{1, 1}, {4, 1}, {8, 1}, {80, 1}});
  times.time_of_many = curve({{1, 11}, {4, 11}, {8, 21}, {80, 201}});
  // A wave of 8 takes 0.1 us and 0.2 us an iteration, as in the longest, whose slots are never empty. 8 blocks for 41
  // us are 204.5 iterations, of which 4 blocks take 0.1 us each.
  const KernelParts parts = kernel_parts(times, 8, from_microseconds(41), 8);
  CHECK(us(parts.of_fraction(1)) == doctest::Approx(41));
  CHECK(us(parts.block_time(4)) == doctest::Approx(1 + 204.5 * 0.1));
  CHECK(us(parts.block_time(8)) == doctest::Approx(41));
  // 20 blocks are two such waves, and 4 blocks: 0.2 + 1 us, and 0.4 + 0.1 us an iteration.
  const KernelParts waves = kernel_parts(times, 20, from_microseconds(101.2), 8);
  CHECK(us(waves.block_time(8)) == doctest::Approx(0.1 + 200 * 0.2));
  CHECK(us(waves.block_time(4)) == doctest::Approx(1 + 200 * 0.1));

  // A trace that does not say how many blocks fit: the kernel keeps its time.
  MeasuredCosts unknown;
  times.threads = 512;
  unknown.kernels.push_back(times);
  Job job;
  job.blocks = 20;
  job.kernel = from_microseconds(101.2);
  describe_kernel(job, unknown, 512);
  CHECK(job.slots == 0);
  // Nor does a block of more threads than any has end with a division by zero.
  unknown.multiprocessors = 4;
  unknown.threads_per_multiprocessor = 2048;
  CHECK(slots_of(unknown, UINT32_MAX) == 0);
  CHECK(us(job.kernel) == doctest::Approx(101.2));
}

namespace {

// With 2 slots of 512 threads each.
MeasuredCosts four_multiprocessors() {
  MeasuredCosts m;
  m.multiprocessors = 4;
  m.threads_per_multiprocessor = 1024;
  return m;
}

// Of blocks of 512 threads. Without iterations they take no time.
KernelTimes times_of(Workload sort, Curve of_100_iterations) {
  KernelTimes times;
  times.workload = sort;
  times.threads = 512;
  times.few = 0;
  times.many = 100;
  times.time_of_few = Curve({{1, Seconds{0}}, {8, Seconds{0}}});
  times.time_of_many = std::move(of_100_iterations);
  return times;
}

}  // namespace

TEST_CASE("where blocks go oldest first, kernels of two streams end one after the other") {
  // 4 multiprocessors with 2 slots each, copies of 1 B in 1 ns. A block takes 20 us, two on a multiprocessor 40 us.
  MeasuredCosts m = four_multiprocessors();
  m.usable = true;
  m.costs.compute = Compute::slots;
  m.costs.copy_d2h = Curve::line(Seconds{0}, Seconds{1e-9});
  KernelTimes times = times_of(
      Workload::compute, Curve({{1, from_microseconds(20)}, {4, from_microseconds(20)}, {8, from_microseconds(40)}}));
  const auto in_two_us = [&](std::uint32_t oldest_first) {
    times.oldest_first = oldest_first;
    m.kernels = {times};
    Job job{.out_bytes = 20'000, .kernel = from_microseconds(40), .blocks = 8};
    describe_kernel(job, m, 512, Workload::compute);
    CHECK(job.slots == 8);
    CHECK(job.multiprocessors == 4);
    CHECK(job.active_blocks_per_sm == oldest_first);
    return us(simulate_total(job, 2, m.costs, Order::breadth_first).total);
  };
  CHECK(in_two_us(1) == doctest::Approx(40 + 10));  // the first copy out passes beside the second kernel
  CHECK(in_two_us(0) == doctest::Approx(40 + 20));  // both kernels end at 40 us
}

// 4 multiprocessors with 2 slots each. An iteration takes 1 us with a block on each, and 4 us with two on one.
TEST_CASE("a kernel's time in a job moves what its blocks do to each other, not what one takes alone") {
  MeasuredCosts m = four_multiprocessors();
  m.kernels = {times_of(Workload::increment, Curve({{1, from_microseconds(100)},
                                                    {4, from_microseconds(100)},
                                                    {5, from_microseconds(400)},
                                                    {8, from_microseconds(400)}}))};
  const auto described = [&](std::uint64_t iterations) {
    Job job{.kernel = from_microseconds(100), .blocks = 6};  // 20 iterations would take 80 us
    describe_kernel(job, m, 512, Workload::increment, iterations);
    CHECK(us(simulate_total(job, 1, {.compute = Compute::slots}, Order::breadth_first).total) == doctest::Approx(100));
    return job;
  };
  CHECK(us(described(20).block_time(4)) == doctest::Approx(20));
  CHECK(us(described(20).block_time(8)) == doctest::Approx(100));
  CHECK(us(described(0).block_time(4)) == doctest::Approx(25));  // it was 25 iterations, for all that is known
  CHECK(us(described(0).block_time(8)) == doctest::Approx(100));
}

TEST_CASE("what a trace lacks is told with the command that measures it") {
  auto jobs = overheads_experiment(odd());
  std::erase_if(jobs, [](const JobStep& j) { return j.question.workload == Workload::compute; });
  const auto all = stream_costs(streamed(odd(), jobs));
  REQUIRE(all.size() == 1);
  CHECK_FALSE(all[0].usable);
  REQUIRE(all[0].missing.size() == 2);  // without an empty kernel's time no kernel's own is known
  CHECK(all[0].missing[0].find("the gap between kernels") != std::string::npos);
  CHECK(all[0].missing[1].find("latencies within a stream") != std::string::npos);
  for (const std::string& missing : all[0].missing)
    CHECK(missing.find("npgpu streams --experiment overheads") != std::string::npos);
  CHECK_THROWS_AS(forecast({.in_bytes = MiB}, all[0], Order::breadth_first, stream_counts(4)), Error);
}

TEST_CASE("a forecast: the best of the simulated times, within its interval") {
  const MeasuredCosts& m = odd_costs();
  const Job job{.in_bytes = 64 * MiB, .out_bytes = 64 * MiB, .kernel = Seconds{1e-3}};
  const Forecast f = forecast(job, m, Order::breadth_first, stream_counts(32));
  REQUIRE(f.candidates_us.size() == 32);
  CHECK(f.prediction.streams > 1);
  CHECK(f.fewest <= f.prediction.streams);
  CHECK(f.most >= f.prediction.streams);
  CHECK(f.time_us.low <= f.time_us.value);
  CHECK(f.time_us.high >= f.time_us.value);
  for (const Estimate& e : f.candidates_us) CHECK(e.value >= f.time_us.value);
  // 67.1 MB / 55.57 GB/s in, as much out at 55.44, and the kernel: 1208 + 1210 + 1000 us, and some.
  CHECK(f.candidates_us[0].value == doctest::Approx(3418).epsilon(0.01));
}

TEST_CASE("the uncertainty of every cost that a job is charged for reaches its forecast") {
  MeasuredCosts m = odd_costs();
  const Job job{.in_bytes = 64 * KiB, .out_bytes = 64 * KiB, .kernel = Seconds{1e-6}};
  const auto width = [&] {
    const Forecast f = forecast(job, m, Order::breadth_first, std::vector{1u, 2u});
    return f.candidates_us[1].high - f.candidates_us[1].low;
  };
  for (CostParameter& p : m.parameters) p.estimate.low = p.estimate.high = p.estimate.value;
  CHECK(width() == 0);
  for (CostParameter& p : m.parameters) {
    const bool is_time = p.estimate.unit == "us" || p.cost == Cost::rate_h2d || p.cost == Cost::rate_d2h;
    const bool is_charged = p.cost != Cost::gate && p.cost != Cost::stream_create && p.cost != Cost::stream_destroy;
    if (!is_time || !is_charged) continue;
    CAPTURE(p.name);
    if (p.cost == Cost::duplex_extra_gap) continue;  // these two copies never run beside each other
    if (p.cost == Cost::gap_ahead_of_kernel || p.cost == Cost::gap_behind_kernel) continue;  // this device has none
    p.estimate.low *= 0.5;
    p.estimate.high *= 2;
    const bool hidden = p.cost == Cost::issue_d2h || p.cost == Cost::issue_kernel || p.cost == Cost::gap_kernel;
    if (!hidden) CHECK(width() > 0);
    p.estimate.low = p.estimate.high = p.estimate.value;
  }
}

TEST_CASE("a forecast asks for all parts of a job, and for an order in which a kernel waits for its input") {
  const MeasuredCosts& m = odd_costs();
  const auto refused = [&](const Job& job, Order order, Parts parts) {
    try {
      forecast(job, m, order, stream_counts(2), parts);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const Job no_kernel{.in_bytes = MiB, .out_bytes = MiB},
      whole{.in_bytes = MiB, .out_bytes = MiB, .kernel = Seconds{1e-3}};
  CHECK(refused(no_kernel, Order::breadth_first, Parts::all).find("lacks a kernel's time") != std::string::npos);
  CHECK(refused(no_kernel, Order::breadth_first, Parts::some).empty());
  CHECK(refused(whole, Order::independent, Parts::all).find("no kernel waits") != std::string::npos);
}

TEST_CASE("what a device does not report agrees with nothing") {
  Trace trace = odd_trace();
  for (auto& [group, facts] : trace.provenance)
    std::erase_if(facts, [](const auto& fact) { return fact.first == "copy_engines"; });
  const Parameter p = parameter(stream_costs(trace).at(0), "copy engines");
  CHECK(p.estimate.value == 2);
  CHECK(p.verdict == Agreement::no_reference);
  CHECK(std::isnan(p.reference));
  CHECK(p.reference_source == "not reported by its spec");
}

TEST_CASE("counters at the end of a run, of a device without a UUID, say nothing of what it is") {
  Trace trace = odd_trace();
  trace.provenance.push_back({"gpu0_after", {{"id", odd()}, {"ecc_corrected", std::int64_t{0}}}});
  const MeasuredCosts costs = costs_of(trace);
  CHECK(costs.multiprocessors == 132);
  CHECK(costs.threads_per_multiprocessor == 2048);
  CHECK(costs.blocks_per_multiprocessor == odd_costs().blocks_per_multiprocessor);
  CHECK(parameter(costs, "queues kernel").verdict == Agreement::agrees);
  CHECK(parameter(costs, "copy engines").verdict == Agreement::agrees);
}

TEST_CASE("a trace without jobs has no costs of streams, and no device in them") {
  CHECK(stream_costs(Trace()).empty());
}

TEST_CASE("jobs with one stream free are no call's, copy's or kernel's time") {
  auto jobs = overheads_experiment(odd());
  std::erase_if(jobs, [](const JobStep& j) { return j.question.gating == Gating::last_stream_free; });
  Trace trace = streamed(odd(), jobs);
  const auto known = [](const Trace& t) {  // without the queues, which those jobs do tell
    auto all = stream_costs(t).at(0).parameters;
    std::erase_if(all, [](const Parameter& p) { return p.name.starts_with("queues"); });
    return all;
  };
  const auto parameters = known(trace);
  const std::size_t cases = trace.of<Jobs>().size();
  for (std::size_t i = 0; i < cases; ++i) {
    JobSeries free = trace.of<Jobs>()[i];
    free.question.gating = Gating::last_stream_free;
    for (JobSample& s : free.samples) s.host_us *= 7, s.issue_us *= 7, s.device_us *= 7;
    trace.of<Jobs>().push_back(std::move(free));
  }
  const auto again = known(trace);
  REQUIRE(again.size() == parameters.size());
  for (std::size_t i = 0; i < again.size(); ++i) {
    CAPTURE(again[i].name);
    CHECK(again[i].estimate.value == parameters[i].estimate.value);
  }
}

}  // namespace stream_costs_test

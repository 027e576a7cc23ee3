// What kernels do to each other on a simulated device, and forecasts that rest on the costs of streams.
#include "tests/made_costs.hpp"

namespace forecast_test {

using namespace made_costs;
using namespace npgpu;

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

}  // namespace forecast_test

#include "netpipe/model/jobs/costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/model/medians.hpp"
#include "netpipe/model/probes/derivation.hpp"
#include "npgpu/model/advice.hpp"

namespace npgpu {

namespace model {

namespace {

Seconds at_least_0(double us) { return from_microseconds(std::max(0.0, us)); }

// A time with half its interval.
struct WeighedTime {
  double us = 0, half = 0;
};

// The mean with weights 1/half^2, and half of its own interval: wider if the times differ by more than theirs allow.
// Where an interval is not known, the mean's is not either.
WeighedTime weighed_mean(const std::vector<WeighedTime>& times) {
  double weights = 0, sum = 0, squares = 0;
  bool known = true;
  const auto weight_of = [](const WeighedTime& t) { return 1 / std::pow(half_for_weight(t.us, t.half), 2); };
  for (const WeighedTime& t : times) {
    known = known && std::isfinite(t.half);
    weights += weight_of(t);
    sum += weight_of(t) * t.us;
  }
  const double mean = sum / weights;
  for (const WeighedTime& t : times) squares += weight_of(t) * (t.us - mean) * (t.us - mean);
  const double spread = times.size() > 1 ? squares / static_cast<double>(times.size() - 1) : 1;
  return {mean, known ? std::sqrt(std::max(1.0, spread) / weights) : not_measured};
}

constexpr std::uint64_t small_sizes[] = {4 * KiB, 64 * KiB, MiB, 16 * MiB};

}  // namespace

CostParameter& CostMeasuring::add(Cost cost, Estimate estimate, std::string meaning) {
  CostParameter& p = out_.parameters.emplace_back(
      CostParameter{parameter(std::string(name(cost)), std::move(estimate), std::move(meaning)), cost});
  p.reference_source = not_reported(out_.device);
  Estimate& e = p.estimate;
  if (e.unit != "us") return p;
  if (e.value < 0)
    add_note(p.note, fmt::format("measured as {:.3g} us, which is scatter: no time is below 0", e.value));
  else if (e.low < 0) add_note(p.note, fmt::format("its interval begins at {:.3g} us, cut at 0", e.low));
  for (double* us : {&e.value, &e.low, &e.high})
    if (*us < 0) *us = 0;
  return p;
}

void CostMeasuring::miss(const std::string& what) {
  out_.missing.push_back(what + ": npgpu streams --experiment overheads --device " + out_.device + " measures it");
}

// Calls of one kind after the other, in as many streams, for chunks of these bytes: the first call that a stream gets
// takes longer than the next, and a small copy's longer than a large one's.
std::array<Estimate, 3> CostMeasuring::calls_of(std::uint64_t bytes) const {
  const auto slope = [&](bool kernel, bool out, const char* method) {
    const auto these = [&](const JobCase& c, const JobShape& j) {
      const std::uint64_t all = j.chunks * bytes;
      return c.order == Order::breadth_first && c.pool == StreamPool::pooled && c.gating == Gating::open &&
             j.chunks == j.streams && j.bytes_in == all && j.bytes_out == (out ? all : 0) &&
             j.kernel_bytes == (kernel ? all : 0) && j.iterations == (kernel ? 1 : 0);
    };
    return theil_sen(points_.over_chunks(these, &JobResult::issue_us), "us", method);
  };
  const auto less = [](Estimate more, const Estimate& base) {
    more.low -= base.high;
    more.high -= base.low;
    more.value -= base.value;
    return more;
  };
  const Estimate in = slope(false, false, "slope of the time of n copies' calls, each in its own stream, over n");
  const Estimate in_kernel = slope(true, false, "slope of n copies' calls and n launches over n, less that of copies");
  const Estimate all = slope(true, true, "slope of all calls of n chunks over n, less that without copies back");
  return {in, less(in_kernel, in), less(all, in_kernel)};
}

void CostMeasuring::calls() {
  std::set<std::uint64_t> sizes;  // of chunks
  for (const JobResult& s : points_.find([](const JobCase&, const JobShape& j) {
         return j.chunks == j.streams && j.bytes_in > 0 && j.bytes_in % j.chunks == 0;
       }))
    if (const std::uint64_t bytes = s.axes.bytes_in / s.axes.chunks; bytes <= usual_call_bytes) sizes.insert(bytes);
  std::array<Estimate, 3> usual;  // of the largest chunks
  std::array<std::vector<Curve::Point>, 3> points;
  for (const std::uint64_t bytes : sizes) {
    const auto one = calls_of(bytes);
    if (!std::all_of(one.begin(), one.end(), [](const Estimate& e) { return std::isfinite(e.value); })) continue;
    usual = one;
    for (std::size_t i = 0; i < one.size(); ++i)
      points[i].push_back({static_cast<double>(bytes), at_least_0(one[i].value)});
  }
  if (points[0].empty()) return miss("the host's time for a call");
  out_.costs.issue = {points[0].back().time, points[1].back().time, points[2].back().time};
  add_larger_calls(points);
  for (auto& own : points) own.push_back({0x1p50, own.back().time});  // larger ones take as long
  out_.costs.issue_h2d = Curve(std::move(points[0]));
  out_.costs.issue_kernel = Curve(std::move(points[1]));
  out_.costs.issue_d2h = Curve(std::move(points[2]));
  add(Cost::issue_h2d, usual[0], "the host's time to issue a copy to the device, of 64 KiB and more");
  add(Cost::issue_kernel, usual[1], "the host's time to launch a kernel behind such a copy");
  add(Cost::issue_d2h, usual[2], "the host's time to issue a copy from the device");
}

// Not before all other costs are known: they are separated with calls that take their usual time.
void CostMeasuring::spread_of_calls() {
  std::array<std::vector<double>, std::tuple_size_v<JobPoints::Deciles>> each;
  std::vector<double> spreads;
  for (const JobPoints::Deciles& deciles : points_.calls_over_usual()) {
    for (std::size_t i = 0; i < deciles.size(); ++i) each[i].push_back(deciles[i]);
    spreads.push_back(100 * (deciles.back() - deciles.front()));
  }
  if (spreads.empty()) return;
  for (const auto& one : each) out_.costs.call_factors.push_back(median(one));
  add(Cost::spread_of_calls,
      median_of(spreads, "%",
                "from the 10th to the 90th percentile of the time of all calls of a job: median over jobs"),
      "by how much all calls of a job vary from run to run: a job's time is the median over nine such times of its "
      "calls");
}

// Launches and copies back take longer to issue in jobs with copies of 1 MiB than in those with copies of 64 KiB;
// copies to the device, which come first, do not. On H200s, in jobs that no cost is derived from, all calls of a chunk
// took 4 % longer at 64 to 128 KiB, 8 % at 128 KiB to 1 MiB and 13 % beyond: so it grows with the logarithm.
void CostMeasuring::add_larger_calls(std::array<std::vector<Curve::Point>, 3>& points) const {
  const Estimate all = theil_sen(points_.over_chunks(copied_in_and_out, &JobResult::issue_us), "us", "");
  if (!std::isfinite(all.value) || points[0].back().x != usual_call_bytes) return;
  const std::array usual{points[0].back().time, points[1].back().time, points[2].back().time};
  const double longer = std::max(1.0, (from_microseconds(all.value) - usual[0]) / (usual[1] + usual[2]));
  for (std::uint64_t bytes = 2 * usual_call_bytes; bytes <= MiB; bytes *= 2) {
    const double share = std::log2(static_cast<double>(bytes) / usual_call_bytes) / std::log2(MiB / usual_call_bytes);
    for (std::size_t i = 0; i < points.size(); ++i)
      points[i].push_back({static_cast<double>(bytes), usual[i] * (i == 0 ? 1 : 1 + (longer - 1) * share)});
  }
}

void CostMeasuring::streams() {
  const auto fresh = [](const JobCase& c, const JobShape& j) {
    return c.workload == Workload::none && c.pool == StreamPool::fresh && j.chunks == j.streams;
  };
  const Estimate made = theil_sen(points_.over_chunks(fresh, &JobResult::create_us), "us",
                                  "slope of the time to create n streams over n");
  if (!std::isfinite(made.value)) return miss("the time to create a stream");
  const Estimate gone = theil_sen(points_.over_chunks(fresh, &JobResult::destroy_us), "us",
                                  "slope of the time to destroy n streams over n");
  out_.create = at_least_0(made.value);
  out_.destroy = at_least_0(gone.value);
  add(Cost::stream_create, made, "to create a stream (Gomez-Luna et al. 2012)");
  add(Cost::stream_destroy, gone, "to destroy a stream");
}

// Copies in one stream, behind the gate.
std::vector<JobResult> CostMeasuring::back_to_back(bool in) const {
  return points_.find([&](const JobCase& c, const JobShape& j) {
    return c.workload == Workload::none && c.order == Order::breadth_first && c.gating == Gating::gated &&
           j.streams == 1 && (in ? j.bytes_in > 0 && !j.bytes_out : j.bytes_out > 0 && !j.bytes_in);
  });
}

void CostMeasuring::copies(bool in) {
  const char* const which = in ? "h2d" : "d2h";
  std::map<std::uint64_t, std::vector<XY>> by_bytes;  // n copies of so many bytes
  std::map<std::uint64_t, std::vector<XY>> by_total;  // n copies of so many bytes in all
  for (const JobResult& s : back_to_back(in)) {
    const std::uint64_t total = s.axes.bytes_in + s.axes.bytes_out;
    const double n = s.axes.chunks;
    by_total[total].push_back({n, s.time_us.value});
    if (total % s.axes.chunks == 0) by_bytes[total / s.axes.chunks].push_back({n, s.time_us.value});
  }
  // The total with the most cuts has the steadiest slope.
  const auto best = std::max_element(by_total.begin(), by_total.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (best == by_total.end() || best->second.size() < 3) return miss(std::string("copies ") + which);
  const Estimate gap =
      theil_sen(best->second, "us", fmt::format("slope of {} MiB in n copies over n", best->first / MiB));
  const double gap_us = std::max(0.0, gap.value);

  std::vector<Curve::Point> points;
  for (const auto& [bytes, times] : by_bytes) {
    const double each_us = theil_sen_slope(times);
    if (!std::isfinite(each_us)) continue;
    points.push_back({static_cast<double>(bytes), at_least_0(each_us - gap_us)});
  }
  if (points.size() < 2) return miss(std::string("copies ") + which);
  const auto last_bytes = static_cast<std::uint64_t>(points.back().x);
  (in ? out_.costs.gap.h2d : out_.costs.gap.d2h) = from_microseconds(gap_us);
  out_.min_copy = std::max(out_.min_copy, static_cast<std::uint64_t>(points.front().x));
  out_.max_copy = out_.max_copy ? std::min(out_.max_copy, last_bytes) : last_bytes;
  (in ? out_.costs.copy_h2d : out_.costs.copy_d2h) = Curve(std::move(points));
  add(in ? Cost::gap_h2d : Cost::gap_d2h, gap, "engine time of one more copy, without its transfer");
}

void CostMeasuring::gate() {
  std::vector<double> left;
  for (const std::uint64_t bytes : small_sizes)
    for (const bool in : {true, false}) {
      const JobShape job{.bytes_in = in ? bytes : 0, .bytes_out = in ? 0 : bytes};
      const auto t = points_.time(Workload::none, Order::breadth_first, true, job);
      const Stages gap = out_.costs.gap;
      const Curve& curve = in ? out_.costs.copy_h2d : out_.costs.copy_d2h;
      if (t) left.push_back(t->value - microseconds(curve(static_cast<double>(bytes)) + (in ? gap.h2d : gap.d2h)));
    }
  const Estimate e = median_of(left, "us", "time of one copy, less gap and bytes: median over sizes and ways");
  if (std::isfinite(e.value)) gate_us_ = std::max(0.0, e.value);
  add(Cost::gate, e, "what events around a gated job add: subtracted from gated times");
}

// A slope is at the mercy of its worst time: on an H200 with neighbours, four copies of 64 MiB that varied by 7 %
// made the rate 5 % too low. Of large copies the gate is a hundredth at most, and what is left of each time gives the
// rate by itself: their mean, each weighed by its interval.
void CostMeasuring::large_copies(bool in) {
  Curve& curve = in ? out_.costs.copy_h2d : out_.costs.copy_d2h;
  const double gap_us = microseconds(in ? out_.costs.gap.h2d : out_.costs.gap.d2h);
  std::vector<Curve::Point> points(curve.points().begin(), curve.points().end());
  const std::vector<JobResult> copies = back_to_back(in);
  Estimate rate;
  rate.unit = "bytes per second";
  for (Curve::Point& point : points) {
    if (point.x < static_cast<double>(16 * MiB)) continue;
    std::vector<WeighedTime> times;
    for (const JobResult& s : copies) {
      const double n = s.axes.chunks;
      if (static_cast<double>(s.axes.bytes_in + s.axes.bytes_out) != n * point.x) continue;
      times.push_back({(s.time_us.value - gate_us_) / n - gap_us, (s.time_us.high - s.time_us.low) / 2 / n});
    }
    const auto [mean, half] = weighed_mean(times);
    point.time = at_least_0(mean);
    rate.value = point.x / point.time.count();
    rate.low = rate.value / (1 + half / mean);
    rate.high = rate.value / (1 - half / mean);
    rate.method = fmt::format(
        "bytes over time of one of n copies of {:g} MiB back to back, less gate and gap: mean, "
        "weighed by intervals",
        point.x / MiB);
  }
  curve = Curve(std::move(points));
  add(in ? Cost::rate_h2d : Cost::rate_d2h, rate, "of large copies; smaller ones follow the measured curve");
}

// By the host's clock: behind a gate whoever waits is there long before, and what it waits for comes to it sooner. On
// an H200 a copy out of 1 MiB took 28 us more behind a kernel as the host issues them, and 18 behind a gate. Not of so
// few bytes that the host is not ready with the next call: on an H200 a copy in of 64 KiB ends just as the launch
// comes, and the kernel waited for 1 us after it or for 7, from run to run.
void CostMeasuring::latencies() {
  const auto& costs = out_.costs;
  const auto latency = [&](bool after_kernel, const char* method) {
    std::vector<double> left;
    for (const std::uint64_t bytes : {64 * KiB, MiB, 16 * MiB}) {
      if (!after_kernel && costs.copy_h2d(static_cast<double>(bytes)) < 2 * costs.issue.kernel) continue;
      const JobShape kernel{.bytes_in = bytes, .kernel_bytes = bytes, .iterations = 1};
      JobShape more = kernel, less = kernel;
      if (after_kernel) more.bytes_out = bytes;
      else less.kernel_bytes = less.iterations = 0;
      const auto sort = [](const JobShape& j) { return j.kernel_bytes ? Workload::increment : Workload::none; };
      const auto longer = points_.time(sort(more), Order::breadth_first, false, more),
                 shorter = points_.time(sort(less), Order::breadth_first, false, less);
      if (!longer || !shorter) continue;
      const double own = after_kernel ? microseconds(costs.copy_d2h(static_cast<double>(bytes)) + costs.gap.d2h)
                                      : kernel_us(Workload::increment, kernel) + microseconds(costs.gap.kernel);
      if (const double us = longer->value - shorter->value - own; std::isfinite(us)) left.push_back(us);
    }
    return median_of(left, "us", method);
  };
  const Estimate in = latency(false, "host time of a copy and a kernel, less that of the copy, less the kernel's"),
                 kernel = latency(true, "host time of all three, less that without the copy out, less the copy's");
  if (!std::isfinite(in.value) || !std::isfinite(kernel.value)) return miss("latencies within a stream");
  out_.costs.latency.h2d = at_least_0(in.value);
  out_.costs.latency.kernel = at_least_0(kernel.value);
  add(Cost::latency_h2d, in, "from the end of a copy to the device until a kernel that follows it may start");
  add(Cost::latency_kernel, kernel, "from the end of a kernel until a copy that follows it may start");
}

void CostMeasuring::kernels() {
  const auto empty = [](const JobCase& c, const JobShape& j) {
    return c.workload == Workload::compute && c.gating == Gating::gated && c.order == Order::breadth_first &&
           j.iterations == 0 && !j.bytes_in && !j.bytes_out;
  };
  for (const JobResult& s : points_.find(empty))
    if (s.axes.chunks == 1) {
      empty_kernel_us_ = s.time_us.value;
      // Without probes of kernels nothing needs it. The spec of a simulated device states it.
      if (out_.figures.empty() || out_.figures.contains("empty_kernel_us")) continue;
      Estimate& figure = out_.figures["empty_kernel_us"] = s.time_us;
      figure.method = "a kernel of one block that comes and goes, streams --experiment overheads";
    }
  const auto many = [&](const JobCase& c, const JobShape& j) { return empty(c, j) && j.streams == j.chunks; };
  const Estimate gap = theil_sen(points_.over_chunks(many), "us", "slope of n empty kernels in n streams over n");
  if (!std::isfinite(gap.value)) return miss("the gap between kernels");
  out_.costs.gap.kernel = at_least_0(gap.value);
  add(Cost::gap_kernel, gap, "multiprocessor time of one more kernel, without its work");
}

void CostMeasuring::measure() {
  calls();
  streams();
  copies(true);
  copies(false);
  gate();
  for (const bool in : {true, false})
    if (!(in ? out_.costs.copy_h2d : out_.costs.copy_d2h).empty()) large_copies(in);
  kernels();
  if (!out_.costs.copy_h2d.empty() && !out_.costs.copy_d2h.empty()) latencies();
  out_.usable = out_.missing.empty();
  if (!out_.usable) return;
  both_directions();
  blocks();
  kernel_times();
  compute();
  waits_for_other_streams();
  // Where each copy waits for the one before it, all but one stream behind a gate show that, and no queue.
  const bool tells_queues = !out_.costs.serial_copies;
  if (tells_queues) out_.costs.queues.h2d = queues_of(Stage::h2d, Cost::queues_h2d);
  out_.costs.queues.kernel = queues_of(Stage::kernel, Cost::queues_kernel);
  if (tells_queues) out_.costs.queues.d2h = queues_of(Stage::d2h, Cost::queues_d2h);
  gap_ahead_of_kernel();
  way_to_device();
  gap_behind_kernel();
  duplex_extra_gap();
  spread_of_calls();
}

}  // namespace model

std::vector<MeasuredCosts> stream_costs(const Trace& trace) {
  std::vector<MeasuredCosts> all;
  const std::vector<DeviceModel> probed = device_models(trace);
  for (const auto& list : model::by_device<Jobs>(trace)) {
    const JobSeries& first = *list.front();
    MeasuredCosts& m = all.emplace_back();
    m.device = first.question.device;
    m.device_uuid = first.device_uuid;
    m.device_name = first.device_name;
    m.simulated = first.simulated;
    for (const DeviceModel& one : probed)
      if (one.device == m.device && one.device_uuid == m.device_uuid) static_cast<DeviceModel&>(m) = one;
    m.compute_capability = model::capability_of(trace, m.device);
    model::JobPoints points;
    for (const JobSeries* series : list) points.add(*series);
    const model::StreamFacts facts = model::stream_facts(trace.provenance, first, m);
    m.multiprocessors = saturated<std::uint32_t>(m.at("sms", m.multiprocessors));
    model::CostMeasuring(points, facts, m).measure();
    m.graph = graph_costs(trace, m.device, m.device_uuid);
  }
  return all;
}

MeasuredCosts costs_of_spec(const DeviceInfo& info) {
  MeasuredCosts m;
  static_cast<DeviceModel&>(m) = device_model(info);
  m.costs = simulated_costs(info, Memory::pinned);
  m.create = std::exchange(m.costs.stream_create, Seconds{0});
  m.destroy = from_microseconds(std::max(0.0, m.at("stream_destroy_us", 0)));
  m.usable = true;
  m.min_copy = 1;
  m.max_copy = 1ull << 50;
  const auto count = [&](const char* key) { return saturated<std::uint32_t>(m.at(key, 0)); };
  m.multiprocessors = count("sms");
  m.threads_per_multiprocessor = 32 * count("warps");
  m.blocks_per_multiprocessor = count("blocks");
  return m;
}

}  // namespace npgpu

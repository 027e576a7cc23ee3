#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>

#include "netpipe/simulate/simulator.hpp"

namespace npgpu {

namespace {

// Each simulation asks all of these, so that no text is made before one is needed.
void must_be(bool good, std::string_view what) {
  if (!good) throw Error(ErrorKind::usage, std::string(what));
}

bool is_time(Seconds t) { return std::isfinite(t.count()) && t.count() >= 0; }

void must_be_time(Seconds t, std::string_view what) {
  if (!is_time(t)) must_be(false, std::string(what) + " is negative or not a number");
}

void must_be_times(const Stages& s, std::string_view what) {
  for (const Seconds t : {s.h2d, s.kernel, s.d2h})
    if (!is_time(t)) must_be(false, "the " + std::string(what) + " of a stage is negative or not a number");
}

void check(std::uint32_t n, const StreamCosts& costs) {
  if (n < 1 || n > 1u << 24) must_be(false, "the number of streams is " + std::to_string(n) + ": 1 to 16777216");
  must_be_times(costs.issue, "issue cost");
  must_be_times(costs.gap, "gap");
  must_be_times(costs.latency, "latency");
  must_be_time(costs.duplex_extra_gap, "the gap while the other engine works");
  must_be_time(costs.gap_ahead_of_kernel, "the gap ahead of a kernel");
  must_be_time(costs.gap_behind_kernel, "the gap behind a kernel");
  must_be_time(costs.submit, "the time to submit");
  must_be_time(costs.graph_launch, "the cost of launching a graph");
  must_be_time(costs.stream_create, "the cost of a stream");
  for (const double slow : {costs.duplex_slowdown_h2d, costs.duplex_slowdown_d2h})
    must_be(std::isfinite(slow) && slow >= 1, "a slow-down of both directions at once is below 1 or not a number");
  for (const double factor : costs.call_factors)
    must_be(std::isfinite(factor) && factor > 0, "a factor of the host's calls is not above 0 or not a number");
  must_be(costs.copy_engines == 1 || costs.copy_engines == 2, "the number of copy engines is 1 or 2");
}

std::uint64_t rounded_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0); }

}  // namespace

Curve::Curve(std::vector<Point> points) : points_(std::move(points)) {
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const double x = points_[i].x, time = points_[i].time.count();
    must_be(std::isfinite(x) && std::isfinite(time) && time >= 0,
            "a cost curve has a point that is negative or not a number");
    must_be(i == 0 || points_[i - 1].x < x, "a cost curve has points that do not ascend");
  }
}

Curve Curve::line(Seconds start, Seconds slope) {
  // Far out, so that the slope, which is read back as a difference, keeps its digits next to the start.
  constexpr double far = 0x1p40;
  return Curve({{0, start}, {far, start + slope * far}});
}

Curve Curve::scaled(double factor) const {
  std::vector<Point> points = points_;
  for (Point& p : points) p.time *= factor;
  return Curve(std::move(points));
}

Seconds Curve::operator()(double x) const {
  if (points_.empty()) return Seconds{0};
  if (points_.size() == 1 || x <= points_.front().x) return points_.front().time;
  auto right = std::upper_bound(points_.begin(), points_.end(), x, [](double at, const Point& p) { return at < p.x; });
  if (right == points_.end()) --right;
  const Point &a = *(right - 1), &b = *right;
  // A falling end is not followed below zero.
  return std::max(Seconds{0}, a.time + (b.time - a.time) * ((x - a.x) / (b.x - a.x)));
}

StreamCosts with_calls(StreamCosts costs, double times_as_long) {
  for (Seconds* call : {&costs.issue.h2d, &costs.issue.kernel, &costs.issue.d2h}) *call *= times_as_long;
  for (Curve* calls : {&costs.issue_h2d, &costs.issue_kernel, &costs.issue_d2h}) *calls = calls->scaled(times_as_long);
  return costs;
}

namespace model {

namespace {

// Some chunks have a warp more than others; they end last. So each is taken for one of those.
double of_whole_warps(double blocks, double warp) {
  if (warp <= 0) return blocks;
  constexpr double same = 1e-9;
  return std::ceil(blocks / warp - same) * warp;
}

// How the kernel divides, whether of a job or of a pipeline's stage.
template <class Kernel>
void divide_kernel(Chunks& c, const Kernel& kernel, Seconds time, const Curve& of_fraction, std::uint32_t n) {
  must_be_time(time, "the kernel's time");
  const bool measured = !of_fraction.empty();
  const double whole = measured ? of_fraction(1).count() : time.count();
  c.has_kernel = whole > 0;
  c.kernel = measured ? of_fraction(1.0 / n).count() : whole / n;
  if (kernel.blocks > 0 && kernel.slots > 0) {
    c.blocks = rounded_up(kernel.blocks, n);
    c.slots = kernel.slots;
    const auto waves = static_cast<double>(rounded_up(c.blocks, kernel.slots));
    // The whole has a last wave, too, so that one chunk takes what was measured.
    if (!measured) c.kernel = whole * waves / static_cast<double>(rounded_up(kernel.blocks, kernel.slots));
    c.block = c.kernel / waves;
    if (!kernel.block_time.empty()) {
      c.block_time = &kernel.block_time;
      c.own_blocks = of_whole_warps((static_cast<double>(kernel.blocks) - 1 + kernel.last_block) / n, kernel.warp);
      c.multiprocessors = kernel.multiprocessors ? kernel.multiprocessors : kernel.slots;
      c.active_blocks_per_sm = kernel.active_blocks_per_sm;
    }
  }
  if (c.kernel > 0) c.share = std::min(1.0, whole / n / c.kernel);
}

double call_time(const Curve& of_bytes, Seconds always, std::uint64_t bytes, std::uint32_t n) {
  return (of_bytes.empty() ? always : of_bytes(static_cast<double>(bytes) / n)).count();
}

}  // namespace

Chunks chunks_of(const Job& job, std::uint32_t n, const StreamCosts& costs) {
  check(n, costs);
  Chunks c;
  c.has_h2d = job.in_bytes > 0;
  c.has_d2h = job.out_bytes > 0;
  if (c.has_h2d) c.h2d = costs.copy_h2d(static_cast<double>(job.in_bytes) / n).count();
  if (c.has_d2h) c.d2h = costs.copy_d2h(static_cast<double>(job.out_bytes) / n).count();
  c.issue = {Seconds{call_time(costs.issue_h2d, costs.issue.h2d, job.in_bytes, n)},
             Seconds{call_time(costs.issue_kernel, costs.issue.kernel, job.in_bytes, n)},
             Seconds{call_time(costs.issue_d2h, costs.issue.d2h, job.out_bytes, n)}};
  divide_kernel(c, job, job.kernel, job.kernel_of_fraction, n);
  return c;
}

std::vector<ChunkStage> stages_of(const Chunks& c) {
  std::vector<ChunkStage> stages;
  if (c.has_h2d) stages.push_back({Stage::h2d, c.h2d, c.issue.h2d.count()});
  if (c.has_kernel) stages.push_back({Stage::kernel, c.kernel, c.issue.kernel.count(), c.share});
  if (c.has_d2h) stages.push_back({Stage::d2h, c.d2h, c.issue.d2h.count()});
  return stages;
}

std::vector<ChunkStage> stages_of(const PipelinePart& part, std::uint32_t n, const StreamCosts& costs, Chunks& chunks) {
  check(n, costs);
  must_be(!part.stages.empty(), "a part of a pipeline has no stage");
  if (!is_time(part.host))
    must_be_time(part.host, "the time of " + (part.host_work.empty() ? "the host's work" : part.host_work));
  std::uint64_t in_bytes = 0;
  std::size_t kernels = 0;
  for (const PipelineStage& s : part.stages) {
    if (s.stage == Stage::h2d) in_bytes += s.bytes;
    if (s.stage == Stage::kernel) ++kernels;
    else if (s.bytes == 0) must_be(false, "the copy of " + s.name + " has no bytes");
  }
  chunks = {};
  std::vector<ChunkStage> stages;
  for (const PipelineStage& s : part.stages) {
    const double bytes = static_cast<double>(s.bytes) / n;
    if (s.stage == Stage::h2d) {
      stages.push_back(
          {s.stage, costs.copy_h2d(bytes).count(), call_time(costs.issue_h2d, costs.issue.h2d, s.bytes, n)});
    } else if (s.stage == Stage::d2h) {
      stages.push_back(
          {s.stage, costs.copy_d2h(bytes).count(), call_time(costs.issue_d2h, costs.issue.d2h, s.bytes, n)});
    } else {
      if (kernels > 1 && s.kernel.slots > 0)
        must_be(false, s.name + ": only the only kernel of a part is known by its blocks");
      Chunks own;
      divide_kernel(own, s.kernel, s.kernel.time, s.kernel.of_fraction, n);
      stages.push_back(
          {s.stage, own.kernel, call_time(costs.issue_kernel, costs.issue.kernel, in_bytes, n), own.share});
      chunks = own;
    }
  }
  return stages;
}

}  // namespace model

Pipeline pipeline_of(const Job& job) {
  PipelinePart part;
  if (job.in_bytes) part.stages.push_back({Stage::h2d, "input", job.in_bytes});
  const Seconds whole = job.kernel_of_fraction.empty() ? job.kernel : job.kernel_of_fraction(1);
  if (whole > Seconds{0})
    part.stages.push_back({Stage::kernel,
                           "kernel",
                           0,
                           {job.kernel, job.kernel_of_fraction, job.blocks, job.slots, job.block_time, job.last_block,
                            job.warp, job.multiprocessors, job.active_blocks_per_sm}});
  if (job.out_bytes) part.stages.push_back({Stage::d2h, "output", job.out_bytes});
  return {part};
}

Stages chunk_times(const Job& job, std::uint32_t n, const StreamCosts& costs) {
  const model::Chunks c = model::chunks_of(job, n, costs);
  return {c.has_h2d ? costs.gap.h2d + Seconds{c.h2d} : Seconds{0},
          c.has_kernel ? costs.gap.kernel + Seconds{c.kernel} : Seconds{0},
          c.has_d2h ? costs.gap.d2h + Seconds{c.d2h} : Seconds{0}};
}

// How many streams: every candidate is simulated, and the fastest taken.

namespace {

// Times that differ by less are rounding of the same time.
constexpr double same = 1e-9;

template <class Work>
Prediction chosen(const Work& work, const StreamCosts& costs, Order order, std::span<const std::uint32_t> candidates) {
  std::vector<std::uint32_t> counts(candidates.begin(), candidates.end());
  if (std::find(counts.begin(), counts.end(), 1u) == counts.end()) counts.insert(counts.begin(), 1);
  model::Simulator simulator;
  Prediction p;
  const StreamTime* best = nullptr;
  Seconds alone{0};
  p.candidates.reserve(counts.size());
  for (const std::uint32_t n : counts) {
    p.candidates.push_back({n, simulator.run(work, n, costs, order)});
    const StreamTime& one = p.candidates.back();
    if (n == 1) alone = one.run.total;
    const double less = best ? best->run.total.count() - one.run.total.count() : 0;
    const double band = best ? same * best->run.total.count() : 0;
    if (!best || less > band || (less >= -band && n < best->streams)) best = &one;
  }
  p.streams = best->streams;
  p.time = best->run.total;
  if (p.time.count() > 0) p.speed_up = alone / p.time;
  std::tie(p.bound, p.bound_time) = busiest(best->run.busy, costs.copy_engines);
  return p;
}

}  // namespace

std::pair<Bound, Seconds> busiest(const Busy& busy, int copy_engines) {
  const std::array<std::pair<Bound, Seconds>, 4> all{
      {{copy_engines == 1 ? Bound::copy_engine : Bound::h2d_engine, busy.copy_in},
       {Bound::d2h_engine, busy.copy_out},  // 0 of one engine
       {Bound::compute, busy.compute},
       {Bound::host_issue, busy.host}}};
  return *std::ranges::max_element(all, {}, &std::pair<Bound, Seconds>::second);
}

std::vector<std::uint32_t> stream_counts(std::uint32_t most) {
  std::vector<std::uint32_t> counts(most);
  std::iota(counts.begin(), counts.end(), 1u);
  return counts;
}

Prediction choose_streams(const Job& job, const StreamCosts& costs, Order order,
                          std::span<const std::uint32_t> candidates) {
  return chosen(job, costs, order, candidates);
}

Prediction choose_streams(const Pipeline& pipeline, const StreamCosts& costs, Order order,
                          std::span<const std::uint32_t> candidates) {
  return chosen(pipeline, costs, order, candidates);
}

// What a simulated device would charge for streams: the facts of its spec in the simulator's words.

StreamCosts simulated_costs(const DeviceInfo& device, Memory memory) {
  if (!device.simulated)
    throw Error(ErrorKind::usage, device.id + " is no simulated device: its costs must be measured");
  if (const std::string twin = text_fact(device.facts, "stream_costs"); !twin.empty()) return stream_costs_of(twin);
  const auto number = [&](const std::string& fact, double otherwise) {
    const double stated = number_fact(device.facts, fact);
    return std::isnan(stated) ? otherwise : stated;
  };
  const auto us = [&](const std::string& fact, double otherwise = 0) {
    return from_microseconds(number(fact, otherwise));
  };
  const auto copies = [&](const std::string& link) {
    const double rate = number(link + "_gb_s", 0);
    if (!(rate > 0))
      throw Error(ErrorKind::usage, device.id + " has no copies " + link + " (npgpu info shows its links)");
    return Curve::line(Seconds{0}, Seconds{1 / (rate * 1e9)});
  };
  const std::string capability = text_fact(device.facts, "compute_capability");
  const auto of_major = [&](const char* major) { return capability.starts_with(major); };
  std::string kind(name(memory));
  std::replace(kind.begin(), kind.end(), '-', '_');
  const std::string in = "h2d_" + kind, out = "d2h_" + kind;

  StreamCosts costs;
  const Seconds copy = us("copy_async_us");
  costs.issue = {copy, us("kernel_launch_us", number("launch_us", 0)), copy};
  costs.stream_create = us("stream_create_us");
  costs.copy_h2d = copies(in);
  costs.copy_d2h = copies(out);
  costs.gap = {us(in + "_gap_us"), us("kernel_gap_us"), us(out + "_gap_us")};
  costs.latency = {us(in + "_latency_us") + us("kernel_latency_us"), us(out + "_latency_us"), Seconds{0}};
  costs.duplex_slowdown_h2d = number("duplex_sl_h", 1);
  costs.duplex_slowdown_d2h = number("duplex_sl_d", 1);
  costs.copy_engines = static_cast<int>(number("copy_engines", 2));
  costs.queues.h2d = costs.queues.kernel = costs.queues.d2h = static_cast<std::uint32_t>(number("hardware_queues", 0));
  if (of_major("1.")) costs.compute = Compute::serial;
  if (const auto stated = named<ImplicitSync>(text_fact(device.facts, "implicit_sync"))) costs.implicit_sync = *stated;
  else if (of_major("2.")) costs.implicit_sync = ImplicitSync::end;
  costs.serial_copies = number("serial_copies", 0) > 0;
  return costs;
}

}  // namespace npgpu

#include "netpipe/simulate/chunks.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "npgpu/error.hpp"

namespace npgpu {

namespace {

void must_be(bool good, const std::string& what) {
  if (!good) throw Error(ErrorKind::usage, what);
}

void must_be_time(Seconds t, const std::string& what) {
  must_be(std::isfinite(t.count()) && t.count() >= 0, what + " is negative or not a number");
}

void must_be_times(const Stages& s, const std::string& what) {
  for (const Seconds t : {s.h2d, s.kernel, s.d2h}) must_be_time(t, "the " + what + " of a stage");
}

void check(const Job& job, std::uint32_t n, const StreamCosts& costs) {
  must_be(n >= 1 && n <= 1u << 24, "the number of streams is " + std::to_string(n) + ": 1 to 16777216");
  must_be_time(job.kernel, "the kernel's time");
  must_be_times(costs.issue, "issue cost");
  must_be_times(costs.gap, "gap");
  must_be_times(costs.latency, "latency");
  must_be_time(costs.duplex_extra_gap, "the gap beside the other engine");
  must_be_time(costs.submit, "the time to submit");
  must_be_time(costs.graph_launch, "the cost of launching a graph");
  must_be_time(costs.stream_create, "the cost of a stream");
  for (const double slow : {costs.duplex_slowdown_h2d, costs.duplex_slowdown_d2h})
    must_be(std::isfinite(slow) && slow >= 1, "a slow-down of both directions at once is below 1 or not a number");
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
  // Far out, so that the slope, which is read back as a difference, keeps its digits beside the start.
  constexpr double far = 0x1p40;
  return Curve({{0, start}, {far, start + slope * far}});
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

namespace model {

Chunks chunks_of(const Job& job, std::uint32_t n, const StreamCosts& costs) {
  check(job, n, costs);
  Chunks c;
  c.has_h2d = job.in_bytes > 0;
  c.has_d2h = job.out_bytes > 0;
  if (c.has_h2d) c.h2d = costs.copy_h2d(static_cast<double>(job.in_bytes) / n).count();
  if (c.has_d2h) c.d2h = costs.copy_d2h(static_cast<double>(job.out_bytes) / n).count();
  const auto call = [&](const Curve& of_bytes, Seconds always, std::uint64_t bytes) {
    return of_bytes.empty() ? always : of_bytes(static_cast<double>(bytes) / n);
  };
  c.issue = {call(costs.issue_h2d, costs.issue.h2d, job.in_bytes),
             call(costs.issue_kernel, costs.issue.kernel, job.in_bytes),
             call(costs.issue_d2h, costs.issue.d2h, job.out_bytes)};

  const bool measured = !job.kernel_of_fraction.empty();
  const double whole = measured ? job.kernel_of_fraction(1).count() : job.kernel.count();
  c.has_kernel = whole > 0;
  c.kernel = measured ? job.kernel_of_fraction(1.0 / n).count() : whole / n;
  if (job.blocks > 0 && job.slots > 0) {
    c.blocks = rounded_up(job.blocks, n);
    c.slots = job.slots;
    const auto waves = static_cast<double>(rounded_up(c.blocks, job.slots));
    // The whole has a last wave, too, so that one chunk takes what was measured.
    if (!measured) c.kernel = whole * waves / static_cast<double>(rounded_up(job.blocks, job.slots));
    c.block = c.kernel / waves;
    if (!job.block_time.empty()) {
      c.block_time = &job.block_time;
      if (job.blocks < n) c.block_part = job.block_time(static_cast<double>(job.blocks) / n) / job.block_time(1);
    }
  }
  if (c.kernel > 0) c.share = std::min(1.0, whole / n / c.kernel);
  return c;
}

}  // namespace model

Stages chunk_times(const Job& job, std::uint32_t n, const StreamCosts& costs) {
  const model::Chunks c = model::chunks_of(job, n, costs);
  return {c.has_h2d ? costs.gap.h2d + Seconds{c.h2d} : Seconds{0},
          c.has_kernel ? costs.gap.kernel + Seconds{c.kernel} : Seconds{0},
          c.has_d2h ? costs.gap.d2h + Seconds{c.d2h} : Seconds{0}};
}

}  // namespace npgpu

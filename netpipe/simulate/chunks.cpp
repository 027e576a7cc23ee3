#include "netpipe/simulate/chunks.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "npgpu/error.hpp"

namespace npgpu {

namespace model {

namespace {

void must_be(bool good, const std::string& what) {
  if (!good) throw Error(ErrorKind::usage, what);
}

bool is_time(Seconds t) { return std::isfinite(t.count()) && t.count() >= 0; }

void check_stages(const Stages& s, const char* what) {
  must_be(is_time(s.h2d) && is_time(s.kernel) && is_time(s.d2h),
          std::string("the ") + what + " of a stage is negative or not a number");
}

void check(const Job& job, std::uint32_t n, const StreamCosts& costs) {
  must_be(n >= 1 && n <= 1u << 24, "the number of streams is " + std::to_string(n) + ": 1 to 16777216");
  must_be(is_time(job.kernel), "the kernel's time is negative or not a number");
  check_stages(costs.issue, "issue cost");
  check_stages(costs.gap, "gap");
  check_stages(costs.latency, "latency");
  must_be(is_time(costs.duplex_extra_gap), "the gap beside the other engine is negative or not a number");
  must_be(is_time(costs.submit), "the time to submit is negative or not a number");
  must_be(is_time(costs.stream_create), "the cost of a stream is negative or not a number");
  for (const double slow : {costs.duplex_slowdown_h2d, costs.duplex_slowdown_d2h})
    must_be(std::isfinite(slow) && slow >= 1, "a slow-down of both directions at once is below 1 or not a number");
  must_be(costs.copy_engines == 1 || costs.copy_engines == 2, "the number of copy engines is 1 or 2");
}

std::uint64_t rounded_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0); }

}  // namespace

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
    if (!job.block_time.empty()) c.block_time = &job.block_time;
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

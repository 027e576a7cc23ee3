#include "netpipe/jobs/partition/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace npgpu::partition {

namespace {

constexpr std::size_t row_values = 4;

}  // namespace

template <class Real> void solve_interface(Real* rows, Real* ends, std::uint64_t systems) {
  struct Row {
    Real a, b, c, d;
  };
  static_assert(sizeof(Row) == row_values * sizeof(Real));
  Row* const row = reinterpret_cast<Row*>(rows);
  // After the sweep, x_i + coupling_i x_next = right_i, where the next one is that towards the middle. `a` and `c` are
  // left to hold the couplings and `d` the right sides.
  Real up_coupling = 0, up_right = 0, down_coupling = 0, down_right = 0;
  const std::uint64_t last = 2 * systems - 1;
  for (std::uint64_t i = 0; i < systems; ++i) {
    Row &top = row[i], &bottom = row[last - i];
    const Real w = 1 / (top.b - top.a * up_coupling), v = 1 / (bottom.b - bottom.c * down_coupling);
    up_coupling = top.c * w;
    up_right = (top.d - top.a * up_right) * w;
    down_coupling = bottom.a * v;
    down_right = (bottom.d - bottom.c * down_right) * v;
    top.c = up_coupling;
    top.d = up_right;
    bottom.a = down_coupling;
    bottom.d = down_right;
  }
  // The two rows that meet: x + p y = q and r x + y = s.
  Real upper = (up_right - up_coupling * down_right) / (1 - up_coupling * down_coupling);
  Real lower = down_right - down_coupling * upper;
  ends[systems - 1] = upper;
  ends[systems] = lower;
  for (std::uint64_t i = systems - 1; i-- > 0;) {
    upper = row[i].d - row[i].c * upper;
    lower = row[last - i].d - row[last - i].a * lower;
    ends[i] = upper;
    ends[last - i] = lower;
  }
}

template <class Real>
double backward_error(const Real* a, const Real* b, const Real* c, const Real* d, const Real* x, std::uint64_t size) {
  double worst = 0;
  for (std::uint64_t i = 0; i < size; ++i) {
    const double before = i > 0 ? double{a[i]} * x[i - 1] : 0, own = double{b[i]} * x[i],
                 after = i + 1 < size ? double{c[i]} * x[i + 1] : 0;
    const double scale = std::abs(before) + std::abs(own) + std::abs(after) + std::abs(double{d[i]});
    const double error = std::abs(before + own + after - d[i]);
    if (!(error <= std::numeric_limits<double>::max())) return std::numeric_limits<double>::infinity();
    if (error > 0) worst = std::max(worst, error / scale);
  }
  return worst;
}

template <class Real> double max_backward_error() { return 64.0 * std::numeric_limits<Real>::epsilon(); }

std::optional<std::string> judge_residual(double backward_error, double allowed) {
  if (backward_error <= allowed) return std::nullopt;
  return fmt::format("the solution's backward error is {:.2g}, and {:.2g} is allowed", backward_error, allowed);
}

template void solve_interface(float*, float*, std::uint64_t);
template void solve_interface(double*, double*, std::uint64_t);
template double backward_error(const float*, const float*, const float*, const float*, const float*, std::uint64_t);
template double backward_error(const double*, const double*, const double*, const double*, const double*,
                               std::uint64_t);
template double max_backward_error<float>();
template double max_backward_error<double>();

std::optional<std::string> PartitionRunner::check(std::span<PartitionSample> last_trial) {
  residual_ = not_measured;
  auto wrong = PipelineRunner::check(last_trial);
  for (PartitionSample& sample : last_trial) sample.residual = residual_;
  return wrong;
}

PartitionSample PartitionRunner::sample_of(Seconds whole, Seconds stage2, std::span<const Stages> parts) const {
  PartitionSample sample;
  sample.host_us = microseconds(whole);
  sample.stage2_us = microseconds(stage2);
  if (question().timed == PartitionTiming::whole) return sample;
  for (std::size_t part = 0; part < parts.size(); ++part)
    for (const Stage stage : {Stage::h2d, Stage::kernel, Stage::d2h})
      sample.*partition_stages[place_of(part, stage)].at = microseconds(parts[part].of(stage));
  return sample;
}

void PartitionRunner::solve_interface(const Addresses& host) const {
  void *const rows = host[buffer_named("interface")], *const ends = host[buffer_named("ends")];
  const std::uint64_t systems = sub_systems_of(shape());
  if (question().type == Precision::fp64)
    partition::solve_interface(static_cast<double*>(rows), static_cast<double*>(ends), systems);
  else partition::solve_interface(static_cast<float*>(rows), static_cast<float*>(ends), systems);
}

std::optional<std::string> PartitionRunner::wrong_solution(double residual, const std::byte* x, Lapack& lapack) {
  residual_ = residual;
  const bool is_fp64 = question().type == Precision::fp64;
  if (auto why = judge_residual(residual, is_fp64 ? max_backward_error<double>() : max_backward_error<float>()))
    return why;
  return is_fp64 ? lapack.differs(reinterpret_cast<const double*>(x), shape().size)
                 : lapack.differs(reinterpret_cast<const float*>(x), shape().size);
}

std::uint64_t PartitionRunner::bytes() const {
  std::uint64_t sum = 0;
  for (const PipelinePart& part : partition_pipeline(question().type, shape()))
    for (const PipelineStage& stage : part.stages) sum += stage.bytes;
  return sum;
}

std::array<std::uint64_t, partition_buffers.size()> buffer_bytes(std::span<const PartitionStep> steps) {
  std::array<std::uint64_t, partition_buffers.size()> bytes{};
  for (const auto& [question, shape] : steps)
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const PartitionBuffer& b = partition_buffers[i];
      const std::uint64_t values = b.values * (b.of_rows ? shape.size : sub_systems_of(shape));
      bytes[i] = std::max(bytes[i], values * bytes_of(question.type));
    }
  return bytes;
}

std::vector<ChunkWork> work_of(const PipelinePart& part, const PartitionStep& step, const Addresses& host,
                               const Addresses& device) {
  const auto& [question, shape] = step;
  const auto at = [&](const char* buffer) { return device[buffer_named(buffer)]; };
  std::vector<ChunkWork> all;
  for (std::uint32_t c = 0; c < shape.chunks; ++c) {
    const PartitionChunk chunk = chunk_of(shape, c);
    for (const PipelineStage& stage : part.stages) {
      ChunkWork work{.stage = stage.stage, .chunk = c, .stream = c % shape.streams};
      if (stage.stage == Stage::kernel) {
        work.is_stage3 = stage.name == "stage3";
        work.systems = {at("a"),         at("b"),
                        at("c"),         at("d"),
                        at("interface"), at("ends"),
                        at("x"),         chunk.first_system,
                        chunk.systems,   sub_systems_of(shape),
                        shape.size,      shape.sub_system};
      } else {
        const std::size_t buffer = buffer_named(stage.name);
        const BufferRange range = range_of(partition_buffers[buffer], chunk);
        const std::uint64_t first = range.first * bytes_of(question.type);
        work.bytes = range.count * bytes_of(question.type);
        const bool down = stage.stage == Stage::h2d;
        work.to = (down ? device : host)[buffer] + first;
        work.from = (down ? host : device)[buffer] + first;
      }
      all.push_back(work);
    }
  }
  return all;
}

}  // namespace npgpu::partition

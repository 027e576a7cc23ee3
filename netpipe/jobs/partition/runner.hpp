// What the runners of the partition method share, whatever the device: the interface system, which the host solves, how
// well a solution solves the whole one, and the work of each chunk.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>

#include "netpipe/jobs/partition/rows.hpp"
#include "netpipe/jobs/runner.hpp"
#include "npgpu/vocabulary/partition.hpp"

namespace npgpu::partition {

// LAPACK's solver of tridiagonal systems, sgtsv and dgtsv, found at run time: a second opinion on small systems.
// Solutions are kept, because every visit of a size compares with the same.
class Lapack {
 public:
  // Larger systems are not compared: it would take longer than they do.
  static constexpr std::uint64_t max_size = 1'000'000;

  Lapack();
  // "compared with dgtsv of liblapack.so.3 up to 1000000 unknowns", or why not.
  const std::string& text() const { return text_; }
  // Compares a solution of the rows of rows.hpp with LAPACK's; nothing if it is as near as rounding allows, or cannot
  // be compared. Real: float or double.
  template <class Real> std::optional<std::string> differs(const Real* x, std::uint64_t size);

 private:
  template <class Real> const std::vector<Real>& solution(std::uint64_t size);
  template <class Real> std::map<std::uint64_t, std::vector<Real>>& known();

  void *sgtsv_ = nullptr, *dgtsv_ = nullptr;
  std::string text_;
  std::map<std::uint64_t, std::vector<float>> known_fp32_;
  std::map<std::uint64_t, std::vector<double>> known_fp64_;
};

// Stage 2: the interface system of so many sub-systems, from their rows (a, b, c, d of 2 * systems rows), which are
// overwritten, to their ends. The Thomas algorithm from both ends towards the middle: two chains of divisions that do
// not wait for each other. Diagonally dominant rows need no pivots. Real: float or double.
template <class Real> void solve_interface(Real* rows, Real* ends, std::uint64_t systems);

// The largest |a x_{i-1} + b x_i + c x_{i+1} - d| / (|a x_{i-1}| + |b x_i| + |c x_{i+1}| + |d|) over all rows: how far
// the system is, row by row, from one that x solves exactly (Oettli & Prager 1964). Of a stable method it is of the
// size of a rounding error. Infinity where x is not finite.
template <class Real>
double backward_error(const Real* a, const Real* b, const Real* c, const Real* d, const Real* x, std::uint64_t size);

// What a solution may have: 64 rounding errors.
template <class Real> double max_backward_error();

// One sentence if that is more than is allowed.
std::optional<std::string> judge_residual(double backward_error, double allowed);

// One address for each of partition_buffers.
using Addresses = std::array<std::byte*, partition_buffers.size()>;

class PartitionRunner : public PipelineRunner<Partitions> {
 public:
  using PipelineRunner::PipelineRunner;
  std::optional<std::string> check(std::span<PartitionSample> last_trial) final;
  std::uint64_t bytes() const final;  // that are copied

 protected:
  const PartitionShape& shape() const { return step().axes; }
  // The times of a run: of the whole, of stage 2, and, where it is timed by stages, of the two parts' stages.
  PartitionSample sample_of(Seconds whole, Seconds stage2, std::span<const Stages> parts) const;
  // Stage 2 of this run.
  void solve_interface(const Addresses& host) const;
  // wrong_result() of a solution with this residual.
  std::optional<std::string> wrong_solution(double residual, const std::byte* x, Lapack&);

 private:
  double residual_ = not_measured;
};

// The largest that these steps need, for each of partition_buffers.
std::array<std::uint64_t, partition_buffers.size()> buffer_bytes(std::span<const PartitionStep>);

// A stage of one chunk, ready to be done: a copy between the two sides, or a kernel on the device's.
struct ChunkWork {
  Stage stage = Stage::h2d;
  std::uint32_t chunk = 0, stream = 0;
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint64_t bytes = 0;
  bool is_stage3 = false;  // of a kernel; else it is stage 1
  SubSystems systems{};
};
// All work of a part of partition_pipeline(), in the order in which it is issued.
std::vector<ChunkWork> work_of(const PipelinePart&, const PartitionStep&, const Addresses& host,
                               const Addresses& device);

}  // namespace npgpu::partition

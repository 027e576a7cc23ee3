// What all gemm probes share, whatever computes: the questions, shapes and what they take; and how a product whose
// matrices lie in the host's memory is cut into panels that are copied and computed by turns.
//
// C (m x n) = alpha * op(A) (m x k) * op(B) (k x n) + beta * C, in memory column by column. Work: 2 m n k, whatever
// ops, alpha and beta are.
//   space global  the matrices are in the device's memory before the clock starts, and stay there
//   space host    on a GPU: they lie in pinned memory of the host. A is copied first, then B goes down and C comes back
//                 panel by panel, each way by its own copy engine, while the panel between is computed. One panel:
//                 copy, compute, copy. On a CPU: the memory that it computes in
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npgpu/model/simulate.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "probes/gemm/elements.hpp"

namespace npgpu::gemm {

ProbeCase gemm_case(const std::string& device, DataType, Space);
// fp32 and fp64 in each of these.
std::vector<ProbeCase> cases(const std::string& device, std::span<const Space>);
// Types of tensor cores, in the device's memory: their sums and C are fp32, of int8 int32.
std::vector<ProbeCase> tensor_cases(const std::string& device);
inline bool is_tensor_type(DataType type) { return type != DataType::fp32 && type != DataType::fp64; }

std::uint64_t bytes_of_operand(DataType);  // of an element of A or B

struct MatrixBytes {
  std::uint64_t a = 0, b = 0, c = 0;
  std::uint64_t sum() const { return a + b + c; }
};
MatrixBytes bytes_of(const ProbeCase&, const Shape&);
// The largest of each that the steps need.
MatrixBytes bytes_of(std::span<const ProbeStep>);
double work_of(const Shape&);  // operations

Shape square(std::uint32_t n, std::uint32_t panels = 1);
inline Elements elements_of(const ProbeCase& c, const Shape& s) { return elements_of(c.type, s.operands, s.k); }
// Squares by doubling, the eight of Allada et al. 2009 (8128 to 8184 by 8) and four near them that 8 does not divide,
// and ragged ones; one square with either operand transposed, and with C read. In the host's memory: squares in one
// panel, and in as many as the model advises. Of types of tensor cores: squares by doubling, in the one way that all
// take.
std::vector<Shape> device_shapes(const ProbeCase&, const Layout&);
// Squares by doubling on all cores, ragged ones, transposed ones and one with C read, and one square over the cores.
std::vector<Shape> host_shapes(std::span<const std::uint32_t> cores);
// Whatever computes: also sizes beyond what libraries count with.
std::optional<std::string> refuses(const ProbeCase&, const Shape&);

// The columns of B and C that a panel has. Cuts are at multiples of 64 columns where each panel has that many, so that
// a panel's columns are divided by what the matrix' are.
struct Columns {
  std::uint32_t first = 0, count = 0;
};
Columns panel_of(const Shape&, std::uint32_t panel);
inline Columns all_columns(const Shape& s) { return {0, s.n}; }
// Those of the device, whose panels they are cut into, and the last ones, which are the host's.
inline Columns device_columns(const Shape& s) { return {0, s.n - s.host_columns}; }
inline Columns host_columns(const Shape& s) { return {s.n - s.host_columns, s.host_columns}; }
// How many columns are the host's, so that both are done at once: what all columns take each of them alone, and what of
// the device's time does not depend on columns. As 64 divides them, where they are that many; 0 where it does not pay.
std::uint32_t advised_host_columns(const Shape&, Seconds device, Seconds fixed, Seconds host);

// One call of a library: those columns of C. Leading dimensions are rows of a matrix as it lies in memory.
struct Call {
  bool transpose_a = false, transpose_b = false;
  std::uint32_t m = 0, n = 0, k = 0, lda = 0, ldb = 0, ldc = 0;
  std::int32_t alpha = 1, beta = 0;
  std::uint64_t first_of_b = 0, first_of_c = 0;  // elements before those columns
};
Call call_of(const Shape&, const Columns&);

// Panels that are tried: 1, 2, 4, ... 64, up to the number of columns.
std::vector<std::uint32_t> panel_candidates(const Shape&);
// What panels cost on this device: copies of B and C as a start for each panel and a rate, and the time of computing
// one panel out of so many; by measurement, each alone.
struct PanelCosts {
  Seconds copy_a{0};
  Seconds start_b{0}, all_b{0};  // of each panel's copy; of all of B without starts
  Seconds start_c{0}, all_c{0};
  std::vector<Curve::Point> compute_of_fraction{};  // x: one panel's part of the columns, ascending
  int copy_engines = 2;
};
// The whole product by the simulator (npgpu/model/simulate.hpp): A, then the panels through the engines.
Seconds time_of(const Shape&, const PanelCosts&, std::uint32_t panels);
// The fewest panels whose time is within 1 % of the best.
std::uint32_t advised_panels(const Shape&, const PanelCosts&);

// `step` with panels 0 replaced: by those that the trace already has for these matrices, where there are more than one,
// else by what `advise` says; then in the same way host_columns as advised, by `advise_columns`.
template <class Advise, class AdviseColumns>
ProbeStep settled(ProbeStep step, std::span<const Shape> known, Advise advise, AdviseColumns advise_columns) {
  if (step.axes.host_columns == Shape::as_advised) {
    for (const Shape& s : known)
      if (s.m == step.axes.m && s.n == step.axes.n && s.k == step.axes.k &&
          kind_of_product(s) == kind_of_product(step.axes) && s.host_columns)
        return {step.question, s};
    ProbeStep alone = step;
    alone.axes.host_columns = 0;
    alone = settled(alone, known, advise, advise_columns);
    step.axes.panels = alone.axes.panels;
    step.axes.host_columns = advise_columns(alone);
    return step;
  }
  if (step.axes.panels) return step;
  for (const Shape& s : known)
    if (s.m == step.axes.m && s.n == step.axes.n && s.k == step.axes.k &&
        kind_of_product(s) == kind_of_product(step.axes) && s.panels > 1 && s.host_columns == 0)
      return {step.question, s};
  step.axes.panels = 1;
  step.axes.panels = advise(step);
  return step;
}

// A runner of a device that panels are copied to. `Base` is the probes' runner on such devices.
template <class Base> class PanelRunner : public Base {
 public:
  using Base::Base;
  double work() const final { return work_of(this->shape()); }
  ProbeStep settled(const ProbeStep& step, std::span<const Shape> known) final {
    return gemm::settled(
        step, known,
        [&](const ProbeStep& serial) {
          this->prepare(serial);
          return advised_panels(this->shape(), costs());
        },
        [&](const ProbeStep& alone) {
          this->prepare(alone);
          return best_host_columns();
        });
  }

 protected:
  // Both are of the step that was just prepared.
  virtual PanelCosts costs() = 0;
  virtual std::uint32_t best_host_columns() = 0;
  virtual void set_up_panels() = 0;

 private:
  void set_up() final {
    if (this->shape().panels == 0)
      throw Error(ErrorKind::usage, "panels=0: how many there are has to be settled first");
    set_up_panels();
  }
};

}  // namespace npgpu::gemm

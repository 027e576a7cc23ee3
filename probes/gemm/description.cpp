#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "netpipe/engine/algorithms.hpp"
#include "npgpu/vocabulary/questions.hpp"
#include "probes/gemm/gemm.hpp"

namespace npgpu::gemm {

namespace {

constexpr std::uint64_t most_of_dimension = 0x7fffffff;  // libraries count in 32 bits

// m, n, k
constexpr std::uint32_t ragged[][3] = {{4096, 64, 4096}, {64, 4096, 4096}, {4096, 4096, 64}, {4095, 1001, 333}};

// Whole numbers below that are exact: in C, and among the sums, of which the tensor cores of fp8 keep fewer digits.
double exact_below(DataType type) { return type == DataType::fp64 ? 0x1p53 : type == DataType::int8 ? 0x1p31 : 0x1p24; }
double exact_sums_below(DataType type) { return type == DataType::fp8 ? 0x1p13 : exact_below(type); }

// One square in every other way: transposed, and with C read.
void add_ways(std::vector<Shape>& to, const Shape& square) {
  for (const Ops ops : {Ops::nt, Ops::tn, Ops::tt}) {
    to.push_back(square);
    to.back().ops = ops;
  }
  to.push_back(square);
  to.back().beta = 1;
}

Shape matrices(std::uint32_t m, std::uint32_t n, std::uint32_t k) {
  Shape s;
  s.m = m;
  s.n = n;
  s.k = k;
  return s;
}

}  // namespace

ProbeCase gemm_case(const std::string& device, DataType type, Space space) {
  return {.probe = "gemm", .device = device, .operation = Operation::fma, .type = type, .space = space};
}

std::vector<ProbeCase> cases(const std::string& device, std::span<const Space> spaces) {
  std::vector<ProbeCase> all;
  for (const Space space : spaces)
    for (const DataType type : {DataType::fp32, DataType::fp64}) all.push_back(gemm_case(device, type, space));
  return all;
}

std::vector<ProbeCase> tensor_cases(const std::string& device) {
  std::vector<ProbeCase> all;
  for (const DataType type : {DataType::fp16, DataType::bf16, DataType::tf32, DataType::fp8, DataType::int8})
    all.push_back(gemm_case(device, type, Space::global));
  return all;
}

std::uint64_t bytes_of_operand(DataType type) {
  switch (type) {
    case DataType::fp64: return 8;
    case DataType::fp16:
    case DataType::bf16: return 2;
    case DataType::fp8:
    case DataType::int8: return 1;
    default: return 4;
  }
}

MatrixBytes bytes_of(const ProbeCase& c, const Shape& s) {
  const std::uint64_t m = s.m, n = s.n, k = s.k, each = bytes_of_operand(c.type),
                      of_c = c.type == DataType::fp64 ? sizeof(double) : sizeof(float);
  return {m * k * each, k * n * each, m * n * of_c};
}

MatrixBytes bytes_of(std::span<const ProbeStep> steps) {
  MatrixBytes all;
  for (const ProbeStep& step : steps) {
    const MatrixBytes one = bytes_of(step.question, step.axes);
    all = {std::max(all.a, one.a), std::max(all.b, one.b), std::max(all.c, one.c)};
  }
  return all;
}

double work_of(const Shape& s) { return 2.0 * s.m * s.n * s.k; }

Shape square(std::uint32_t n, std::uint32_t panels) {
  Shape s = matrices(n, n, n);
  s.panels = panels;
  return s;
}

std::vector<Shape> device_shapes(const ProbeCase& c, const Layout& l) {
  std::vector<Shape> all;
  const auto add = [&](const Shape& s) {
    const bool fits = l.memory_bytes == 0 || bytes_of(c, s).sum() < l.memory_bytes / 4 * 3;
    if (fits) all.push_back(s);
  };
  if (c.space == Space::host) {
    for (std::uint32_t n = 512; n <= 8192; n *= 2)
      for (const std::uint32_t panels : {1u, 0u}) add(square(n, panels));
    for (std::uint32_t n = 1024; n <= 8192; n *= 2) {
      Shape shared = square(n, 0);
      shared.host_columns = Shape::as_advised;
      add(shared);
    }
    return all;
  }
  if (is_tensor_type(c.type)) {
    for (std::uint32_t n = 1024; n <= 8192; n *= 2) {
      Shape s = square(n);
      s.ops = Ops::tn;
      add(s);
    }
    return all;
  }
  for (std::uint32_t n = 128; n <= 8192; n *= 2) add(square(n));
  for (std::uint32_t n = 8128; n < 8192; n += 8) add(square(n));
  for (const std::uint32_t n : {8129u, 8130u, 8132u, 8191u}) add(square(n));
  for (const auto& [m, n, k] : ragged) add(matrices(m, n, k));
  std::vector<Shape> ways;
  add_ways(ways, square(4096));
  for (const Shape& s : ways) add(s);
  return all;
}

std::vector<Shape> host_shapes(std::span<const std::uint32_t> cores) {
  constexpr std::uint32_t usual = 2048;
  std::vector<Shape> all;
  if (cores.empty()) return all;
  for (const std::uint32_t blocks : cores) {
    all.push_back(square(usual));
    all.back().blocks = blocks;
  }
  std::vector<Shape> sizes;
  for (std::uint32_t n = 128; n <= usual; n *= 2) sizes.push_back(square(n));
  for (std::uint32_t n = usual - 64; n < usual; n += 8) sizes.push_back(square(n));
  for (const auto& [m, n, k] : ragged) sizes.push_back(matrices(m, n, k));
  add_ways(sizes, square(usual));
  for (Shape& s : sizes) {
    s.blocks = cores.back();
    all.push_back(s);
  }
  return each_once(std::move(all));
}

std::optional<std::string> refuses(const ProbeCase& c, const Shape& s) {
  if (s.threads != 1 || s.ilp != 1 || s.access_bytes || s.bytes)
    return "gemm has no threads, ilp, access or bytes: its library chooses them";
  if (!s.m || !s.n || !s.k) return "gemm needs m, n and k, or square: square=4096";
  if (s.m > most_of_dimension || s.n > most_of_dimension || s.k > most_of_dimension)
    return "libraries count m, n and k in 31 bits";
  if (s.alpha == 0 || std::abs(s.alpha) > most_factor || std::abs(s.beta) > 1)
    return fmt::format("alpha {}, beta {}: alpha is -{} to {} and not 0, beta is -1, 0 or 1, so that C stays exact",
                       s.alpha, s.beta, most_factor, most_factor);
  if (c.type == DataType::fp8 || c.type == DataType::int8) {
    if (s.ops != Ops::tn || s.m % 16 || s.n % 16 || s.k % 16)
      return fmt::format("libraries multiply {} with ops=tn, and m, n and k that 16 divides", name(c.type));
    if (c.type == DataType::int8 && (s.alpha != 1 || s.beta != 0)) return "int8 has alpha 1 and beta 0";
  }
  const double sum = largest_sum(elements_of(c, s)), of_c = s.beta ? most_of_c : 0;
  if (sum >= exact_sums_below(c.type) || std::abs(s.alpha) * (s.beta ? 2 : 1) * sum + of_c >= exact_below(c.type))
    return fmt::format("{} does not hold the sums of k {}{} exactly, and results are compared exactly: a smaller k{}",
                       name(c.type), s.k, s.alpha == 1 && !s.beta ? "" : " with this alpha and beta",
                       s.operands == Operands::random ? ", or other operands" : "");
  if (c.space != Space::host && s.panels != 1) return "matrices in the device's memory are not copied: panels=1";
  if (s.host_columns && c.space != Space::host)
    return "the host has a part only where the matrices lie in its memory: --space host";
  if (s.host_columns >= s.n && s.host_columns != Shape::as_advised)
    return fmt::format("{} of {} columns by the host: at least one is the device's", s.host_columns, s.n);
  if (s.panels > s.n - (s.host_columns == Shape::as_advised ? 0 : s.host_columns))
    return fmt::format("{} panels of {} columns", s.panels, s.n);
  return std::nullopt;
}

}  // namespace npgpu::gemm

namespace npgpu {

const Joined<ProbeDescription> gemm_description(
    {.name = "gemm",
     .summary = "products of matrices by cuBLAS or a BLAS of the host, over sizes, cores, types, transposed, with C "
                "read, and with copies",
     .question = ProbeQuestion::matrix_products,
     .axes = {.matrices = true},
     .is_usual = false,
     .cases =
         [](const std::string& device) {
           constexpr Space spaces[] = {Space::global, Space::host};
           auto all = gemm::cases(device, spaces);
           std::ranges::move(gemm::tensor_cases(device), std::back_inserter(all));
           return all;
         },
     .there_are =
         "probe gemm multiplies matrices of fp32 and fp64, in global memory or the host's, and in global memory "
         "of fp16, bf16, tf32, fp8 and int8",
     .shapes = gemm::device_shapes,
     .refuses = gemm::refuses,
     .key_figures = [](const ProbeCase& c) -> std::vector<FigureChoice> {
       const bool copied = c.space == Space::host && !is_host_timed(c);
       return {{fmt::format("{}gemm {}{}", where_of(c), name(c.type), copied ? ", copies included" : ""),
                Among::fastest, FigureUnit::flop_per_s}};
     }});

}  // namespace npgpu

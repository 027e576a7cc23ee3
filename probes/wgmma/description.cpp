#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "npgpu/vocabulary/questions.hpp"
#include "probes/wgmma/shapes.hpp"

namespace npgpu::wgmma {

std::vector<ProbeCase> cases(const std::string& device) {
  std::vector<ProbeCase> all;
  const auto add = [&](Operation operation, std::initializer_list<DataType> types) {
    for (const DataType type : types)
      for (const Form form : {Form::dependent, Form::streaming})
        for (const Space space : {Space::shared, Space::registers})
          all.push_back({"wgmma", device, operation, type, form, space});
  };
  add(Operation::wgmma, {DataType::fp16, DataType::bf16, DataType::tf32, DataType::fp8, DataType::int8});
  add(Operation::wgmma_fp16, {DataType::fp16, DataType::fp8});
  add(Operation::wgmma_sparse, {DataType::fp16, DataType::fp8, DataType::int8});
  return all;
}

std::vector<std::uint32_t> columns_of(const ProbeCase& c) {
  if (c.type == DataType::fp16) return {8, 16, 32, 64, 128, 256};
  return {64, 256};
}

std::vector<Shape> shapes(const ProbeCase& c, const Layout& l) {
  std::vector<Shape> all;
  const auto add = [&](std::uint32_t blocks, std::uint32_t threads, std::uint32_t n, Operands operands) {
    all.push_back({.blocks = blocks, .threads = threads, .n = n, .operands = operands});
  };
  for (const std::uint32_t n : columns_of(c)) {
    add(1, group_threads, n, Operands::usual);
    if (c.form == Form::dependent) continue;
    add(l.units, most_groups * group_threads, n, Operands::usual);
    if (n < most_columns) continue;
    for (const Operands operands : {Operands::zeros, Operands::random})
      add(l.units, most_groups * group_threads, n, operands);
  }
  return all;
}

std::optional<std::string> refuses(const ProbeCase& c, const Shape& s) {
  if (s.threads % group_threads || s.threads > most_groups * group_threads)
    return fmt::format("{} threads: wgmma takes 128 or 256, one or two groups of four warps", s.threads);
  if (s.ilp != 1) return fmt::format("ilp {}: a group has one chain of products", s.ilp);
  const auto columns = columns_of(c);
  if (std::ranges::find(columns, s.n) == columns.end())
    return fmt::format("n {}: this probe has {} columns of {}", s.n, fmt::join(columns, ", "), name(c.type));
  return std::nullopt;
}

double operations_of_product(const ProbeCase& c, const Shape& s) {
  return 2.0 * rows * s.n * depth(c.operation, c.type);
}

double work(const ProbeCase& c, const Shape& s) {
  return operations_of_product(c, s) * products * s.blocks * s.threads / group_threads;
}

}  // namespace npgpu::wgmma

namespace npgpu {

namespace {

// Cycles that one group of warps takes from a product to the next, n columns wide, where it is waited for or not.
template <Operation operation, Form form, Space space, std::uint32_t n>
bool of_group(const ProbeCase& c, const Shape& s) {
  return c.operation == operation && c.type == DataType::fp16 && c.form == form && c.space == space && s.n == n &&
         s.blocks == 1 && s.threads == 128;
}
double fp16_product(const ProbeCase& c, const Shape& s) {
  return 2.0 * 64 * s.n * (c.operation == Operation::wgmma_sparse ? 32 : 16);
}
// The rate of all units, by what the numbers are.
template <Operation operation, DataType type, Space space, Operands operands>
bool of_all_groups(const ProbeCase& c, const Shape& s) {
  return c.operation == operation && c.type == type && c.form == Form::streaming && c.space == space && s.blocks > 1 &&
         s.operands == operands;
}

template <Form form, Space space, std::uint32_t n, Operation operation = Operation::wgmma>
UnitRate group_cycles(const char* name) {
  return {.name = name,
          .meaning = form == Form::dependent ? "a product of 64 rows, from its issue until its sums can be read"
                                             : "from a product to the next, which adds to the same sums",
          .of = of_group<operation, form, space, n>,
          .step = fp16_product};
}
template <DataType type, Operands operands, Operation operation = Operation::wgmma, Space space = Space::shared>
UnitRate group_rate(const char* name) {
  return {.name = name,
          .meaning = operands == Operands::zeros ? "products of zeros, two operations a multiply-add"
                                                 : "products of random numbers, two operations a multiply-add",
          .of = of_all_groups<operation, type, space, operands>};
}
constexpr Form is_waited_for = Form::dependent, is_not = Form::streaming;
constexpr Operation is_sparse = Operation::wgmma_sparse, in_halves = Operation::wgmma_fp16;

}  // namespace

const Joined<ProbeDescription> wgmma_description(
    {.name = "wgmma",
     .summary = "products of a warp group by columns of B: latency, A from shared memory or registers, sparse A",
     .axes = {.columns = true},
     .is_usual = false,
     .unit_rates = {group_cycles<is_waited_for, Space::shared, 8>("wgmma latency, n 8"),
                    group_cycles<is_waited_for, Space::shared, 64>("wgmma latency, n 64"),
                    group_cycles<is_waited_for, Space::shared, 128>("wgmma latency, n 128"),
                    group_cycles<is_waited_for, Space::shared, 256>("wgmma latency, n 256"),
                    group_cycles<is_waited_for, Space::registers, 64>("wgmma latency, A in registers, n 64"),
                    group_cycles<is_waited_for, Space::registers, 256>("wgmma latency, A in registers, n 256"),
                    group_cycles<is_not, Space::shared, 8>("wgmma interval, n 8"),
                    group_cycles<is_not, Space::shared, 64>("wgmma interval, n 64"),
                    group_cycles<is_not, Space::shared, 128>("wgmma interval, n 128"),
                    group_cycles<is_not, Space::shared, 256>("wgmma interval, n 256"),
                    group_cycles<is_not, Space::registers, 64>("wgmma interval, A in registers, n 64"),
                    group_cycles<is_not, Space::registers, 256>("wgmma interval, A in registers, n 256"),
                    group_cycles<is_not, Space::shared, 256, is_sparse>("wgmma interval, sparse, n 256"),
                    group_cycles<is_not, Space::registers, 256, is_sparse>(
                        "wgmma interval, sparse, A in registers, n 256"),
                    group_rate<DataType::fp16, Operands::zeros>("wgmma fp16, zeros"),
                    group_rate<DataType::fp16, Operands::random>("wgmma fp16, random"),
                    group_rate<DataType::fp16, Operands::random, Operation::wgmma, Space::registers>(
                        "wgmma fp16, A in registers, random"),
                    group_rate<DataType::fp8, Operands::random>("wgmma fp8, random"),
                    group_rate<DataType::fp8, Operands::random, in_halves>("wgmma fp8, sums in fp16, random"),
                    group_rate<DataType::fp16, Operands::random, in_halves>("wgmma fp16, sums in fp16, random"),
                    group_rate<DataType::fp16, Operands::zeros, is_sparse>("wgmma fp16, sparse, zeros"),
                    group_rate<DataType::fp16, Operands::zeros, is_sparse, Space::registers>(
                        "wgmma fp16, sparse, A in registers, zeros"),
                    group_rate<DataType::fp16, Operands::random, is_sparse>("wgmma fp16, sparse, random"),
                    group_rate<DataType::fp16, Operands::random, is_sparse, Space::registers>(
                        "wgmma fp16, sparse, A in registers, random")},
     .cases = wgmma::cases,
     .there_are =
         "probe wgmma has wgmma of fp16, bf16, tf32, fp8 and int8, wgmma-fp16 of fp16 and fp8, and wgmma-sparse of "
         "fp16, fp8 and int8; A is in shared memory or registers",
     .shapes = wgmma::shapes,
     .refuses = wgmma::refuses});

}  // namespace npgpu

#include "probes/wgmma/shapes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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

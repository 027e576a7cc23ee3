#include <algorithm>

#include "netpipe/engine/algorithms.hpp"
#include "npgpu/vocabulary/questions.hpp"
#include "probes/patterns/patterns.hpp"
#include "probes/tensor/tiles.hpp"

namespace npgpu::tensor {

namespace {

constexpr std::uint32_t warp = 32, group = 128, max_groups = 2;

std::vector<std::uint32_t> threads_of(const Layout& l, Operation operation) {
  std::vector<std::uint32_t> list;
  const std::uint32_t most = operation == Operation::wgmma ? max_groups * group : 1024;
  for (std::uint32_t t = operation == Operation::wgmma ? group : warp; t <= most; t *= 2)
    if (t <= l.max_threads_per_block) list.push_back(t);
  return list;
}

std::vector<std::uint32_t> chains_of(const ProbeCase& c) {
  if (c.operation == Operation::wgmma || c.type == DataType::fp64) return {1};
  return {1, 2, 4, 8};
}

}  // namespace

std::vector<ProbeCase> cases(const std::string& device) {
  std::vector<ProbeCase> all;
  for (const Operation operation : {Operation::mma, Operation::wgmma})
    for (const DataType type :
         {DataType::fp16, DataType::bf16, DataType::tf32, DataType::fp8, DataType::int8, DataType::fp64}) {
      if (operation == Operation::wgmma && type == DataType::fp64) continue;
      all.push_back({.probe = "tensor",
                     .device = device,
                     .operation = operation,
                     .type = type,
                     .space = operation == Operation::wgmma ? Space::shared : Space::registers});
    }
  return all;
}

std::vector<Shape> shapes(const ProbeCase& c, const Layout& l) {
  std::vector<Shape> list;
  const auto threads = threads_of(l, c.operation);
  for (const std::uint32_t blocks : {1u, l.units})
    for (const std::uint32_t ilp : chains_of(c))
      for (const std::uint32_t t : threads) list.push_back({.blocks = blocks, .threads = t, .ilp = ilp});
  // Several blocks on a multiprocessor, where registers leave room.
  if (c.operation == Operation::mma)
    for (const std::uint32_t ilp : chains_of(c)) list.push_back({.blocks = 4 * l.units, .threads = 256, .ilp = ilp});
  return each_once(std::move(list));
}

std::vector<Shape> default_shapes(const ProbeCase& c, const Layout& l) {
  if (c.operation == Operation::wgmma)
    return {{.blocks = 1, .threads = group}, {.blocks = l.units, .threads = max_groups * group}};
  return {{.blocks = 1, .threads = warp},
          {.blocks = l.units,
           .threads = std::min(1024u, l.max_threads_per_block),
           .ilp = std::min(2u, chains_of(c).back())}};
}

std::optional<std::string> refuses(const ProbeCase& c, const Shape& shape) {
  if (c.operation == Operation::wgmma && (shape.threads % group || shape.threads > max_groups * group))
    return std::to_string(shape.threads) + " threads: wgmma takes 128 or 256, one or two groups of four warps";
  if (shape.threads % warp) return std::to_string(shape.threads) + " threads: mma takes whole warps of 32";
  const auto chains = chains_of(c);
  if (std::ranges::find(chains, shape.ilp) == chains.end())
    return std::to_string(shape.ilp) +
           " chains of a warp: " + (chains.size() == 1 ? "it takes 1" : "it takes 1, 2, 4 or 8");
  return std::nullopt;
}

double work(const ProbeCase& c, const Shape& shape) {
  const double warps = static_cast<double>(shape.blocks) * shape.threads / warp;
  const bool is_wgmma = c.operation == Operation::wgmma;
  const double elements = is_wgmma ? warps / 4 * group_rows * columns : warps * shape.ilp * warp_rows * warp_columns;
  return 2 * elements * depth(c.type) * 2 * pairs_of(c.operation);
}

}  // namespace npgpu::tensor

namespace npgpu {

const Joined<ProbeDescription> tensor_description(
    {.name = "tensor",
     .summary = "products of small matrices by tensor cores, by type and instruction",
     .question = ProbeQuestion::tensor_power,
     .unit_rates = {{{}, "tensor {} by {}", "products of tensor cores, two operations a multiply-add"}},
     .cases = tensor::cases,
     .there_are = "probe tensor has the operations mma and wgmma, of fp64 (mma only), tf32, fp16, bf16, fp8 and int8",
     .shapes = tensor::shapes,
     .usual_shapes = tensor::default_shapes,
     .refuses = tensor::refuses});

}  // namespace npgpu

// Shapes of each probe that are few, small and of every kind.
#pragma once

#include <tuple>
#include <utility>
#include <vector>

#include "npgpu/vocabulary/questions.hpp"

namespace npgpu {

// One of each way a shape can be: every kernel is picked, and blocks of odd sizes.
inline std::vector<Shape> few_shapes(const ProbeCase& c, const Layout& l) {
  if (c.probe == "compute")
    return {{.blocks = 1, .threads = 1, .ilp = 1},
            {.blocks = 1, .threads = 1024, .ilp = 2},
            {.blocks = l.units, .threads = 1, .ilp = 4, .one_block_per_sm = true},
            {.blocks = l.units, .threads = l.max_threads_per_block, .ilp = 4, .one_block_per_sm = true},
            {.blocks = l.units * 3 + 1, .threads = 96, .ilp = 8}};
  std::vector<Shape> all;
  if (c.probe == "reduction") {  // every rung, over an array whose end is in the middle of a block and of a row
    constexpr std::uint64_t bytes = 4 * MiB + 48;
    for (Shape shape : find_probe(c.probe, c.device).shapes(c)) {
      const std::uint64_t of_block = std::uint64_t{shape.threads} * shape.ilp * shape.access_bytes;
      if (shape.rung < 7) shape.blocks = static_cast<std::uint32_t>((bytes + of_block - 1) / of_block);
      shape.bytes = bytes;
      all.push_back(shape);
    }
    return all;
  }
  if (c.probe == "tensor") {  // every number of chains, groups of warps, blocks in several waves
    if (c.operation == Operation::wgmma)
      return {{.blocks = 1, .threads = 128}, {.blocks = l.units * 2 + 1, .threads = 256}};
    for (const std::uint32_t ilp : {1u, 2u, 4u, 8u})
      if (ilp == 1 || c.type != DataType::fp64)
        all.push_back(
            {.blocks = ilp == 1 ? 1 : l.units * ilp + 1, .threads = ilp == 8 ? 1024 : 96 * ilp - 64, .ilp = ilp});
    return all;
  }
  if (c.probe == "product") {  // every tile, of matrices of 128 rows
    for (Shape shape : find_probe(c.probe, c.device).shapes(c)) {
      shape.blocks = 128 * 128 / shape.threads;
      shape.bytes = 128 * 128 * 4;
      all.push_back(shape);
    }
    return all;
  }
  if (c.probe == "staging") {  // every rung, of tiles that do not divide among the blocks
    for (Shape shape : find_probe(c.probe, c.device).shapes(c))
      for (const std::uint32_t blocks : {1u, 3u}) {
        shape.blocks = blocks;
        shape.bytes = 20 * 4096;
        all.push_back(shape);
      }
    return all;
  }
  if (c.probe == "gemm") {  // even, odd and ragged; in the host's memory also in panels that do not divide the columns
    for (const auto& [m, n, k] : {std::tuple{64u, 64u, 64u}, {1u, 1u, 1u}, {130u, 77u, 201u}, {64u, 333u, 5u}})
      for (const std::uint32_t panels : {1u, 2u, 7u}) {
        Shape shape;
        std::tie(shape.m, shape.n, shape.k, shape.panels) = std::tuple(m, n, k, panels);
        if (panels == 1 || (c.space == Space::host && panels <= n)) all.push_back(shape);
      }
    // Either operand transposed, C read and not, each with another alpha; part of the columns by the host.
    for (const Ops ops : {Ops::nn, Ops::nt, Ops::tn, Ops::tt})
      for (const std::int32_t beta : {0, 1, -1})
        for (const std::uint32_t panels : {1u, 3u})
          for (const std::uint32_t host_columns : {0u, 30u}) {
            Shape shape{
                .m = 144, .n = 80, .k = 208, .panels = panels, .ops = ops, .alpha = beta ? -2 : 3, .beta = beta};
            shape.host_columns = host_columns;
            if (c.type == DataType::int8) shape.alpha = 1, shape.beta = 0;
            all.push_back(shape);
          }
    std::erase_if(all, [&](const Shape& shape) {
      return find_probe(c.probe, c.device).refuses({c, shape}).has_value();
    });
    return all;
  }
  if (c.probe == "migration") {  // wherever pages are; the grid, where there is one, and one of a few blocks
    for (Shape shape : find_probe(c.probe, c.device).shapes(c)) {
      if (c.operation == Operation::chase) shape.bytes = 4 * MiB;
      if (shape.bytes > 4 * MiB) continue;
      all.push_back(shape);
      if (shape.blocks == 1) continue;
      shape.blocks = 3;
      all.push_back(shape);
    }
    return all;
  }
  if (c.probe == "cluster") {  // every number in flight, near and far blocks, more clusters than one
    const bool chases = c.operation == Operation::chase;
    for (const auto& [cluster, on] : {std::pair{2u, 1u}, {1u, 0u}, {4u, 3u}, {8u, 4u}})
      for (const std::uint32_t ilp : {1u, 4u})
        if (!chases || ilp == 1)
          all.push_back({.blocks = chases ? cluster : 2 * cluster,
                         .threads = chases ? 1u : 96u,
                         .ilp = ilp,
                         .access_bytes = chases ? 8u : 16u,
                         .bytes = 18 * KiB,
                         .one_block_per_sm = 1,
                         .stride = on,
                         .cluster = cluster});
    return all;
  }
  // Every rung; few patterns and most; more warps than patterns, and fewer; the largest block once. The checker of
  // races looks at each load of a lane: six shapes of up to 3072 lanes did not end in 100 s.
  if (c.probe == "banks") {
    const bool one_warp = c.operation == Operation::chase;
    for (const std::uint32_t rung : {1u, 2u, 3u})
      for (const std::uint64_t kib : {1, 32}) {
        Shape shape{.blocks = 1, .threads = 32, .access_bytes = 4, .bytes = kib * KiB, .rung = rung};
        if (!one_warp) shape.blocks = kib == 1 ? 1 : 2, shape.threads = kib == 32 ? 96 : rung == 1 ? 1024 : 288;
        shape.stride = rung > 1 ? 1 : kib == 1 ? 8 : 32;
        all.push_back(shape);
      }
    return all;
  }
  if (c.probe == "instructions") {
    for (const std::uint32_t ilp : {1u, 2u, 4u}) all.push_back({.blocks = ilp, .threads = 96, .ilp = ilp});
    return all;
  }
  if (c.probe == "wgmma") {  // every width, by a group, and by more blocks of two than a device runs at once
    for (const Shape& shape : find_probe(c.probe, c.device).shapes(c))
      if (shape.blocks == 1) {
        all.push_back(shape);
        all.push_back({.blocks = l.units + 1, .threads = 256, .n = shape.n});
      }
    return all;
  }
  if (c.probe == "tma") {  // every rung but the last; boxes of less than a warp's words and of more; sets that groups
                           // do not divide
    const auto add = [&](std::uint32_t blocks, std::uint32_t threads, std::uint32_t ilp, std::uint32_t access,
                         std::uint32_t rung) {
      const Shape shape{.blocks = blocks,
                        .threads = threads,
                        .ilp = ilp,
                        .access_bytes = access,
                        .bytes = 96 * KiB,
                        .one_block_per_sm = 1,
                        .rung = rung};
      if (!find_probe(c.probe, c.device).refuses({c, shape})) all.push_back(shape);
    };
    for (const std::uint32_t rung : {1u, 2u, 3u})
      for (const std::uint32_t access : {16u, 128u, 1024u, 4096u})
        if (c.operation == Operation::chase) add(1, 1, 1, access, rung);
        else
          for (const std::uint32_t ilp : {1u, 4u})
            add(access < 1024 ? 3 : 1, access < 1024 ? 96 : 64, ilp, access, rung);
    return all;
  }
  if (description_of(c).axes.has_pattern()) {  // every pattern, by one block and by some
    for (Shape shape : find_probe(c.probe, c.device).shapes(c)) {
      if (shape.bytes > 8 * MiB) continue;
      for (const std::uint32_t blocks : {1u, 3u}) {
        shape.blocks = blocks;
        all.push_back(shape);
      }
    }
    // Warps that take turns: a grid that fills the device, too.
    if (c.probe == "onchip" && c.space == Space::l2) {
      all.push_back(find_probe(c.probe, c.device).shapes(c).front());
      all.back().bytes = 2 * MiB;
    }
    return all;
  }
  if (c.probe == "latency") {
    const std::uint32_t access = c.space == Space::global ? 8 : 4;
    const std::uint64_t most = c.space == Space::global ? 8 * MiB : 32 * KiB;
    for (const std::uint64_t bytes : {most, most / 3 / 128 * 128, std::uint64_t{128}})  // the last is one line
      all.push_back({.access_bytes = access, .bytes = bytes, .one_block_per_sm = 1});
    return all;
  }
  for (const std::uint32_t access : {4u, 16u})
    for (const std::uint32_t ilp : {1u, 2u, 4u}) {
      all.push_back({.blocks = 1, .threads = 1, .ilp = ilp, .access_bytes = access, .bytes = 4 * MiB});
      all.push_back({.blocks = l.units, .threads = 96, .ilp = ilp, .access_bytes = access, .bytes = 8 * MiB});
      const auto full = static_cast<std::uint32_t>(8 * MiB / (256 * ilp * access));
      all.push_back({.blocks = full, .threads = 256, .ilp = ilp, .access_bytes = access, .bytes = 8 * MiB});
    }
  return all;
}

}  // namespace npgpu

#include "netpipe/devices/cuda/block_records.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "netpipe/devices/cuda/check.hpp"

namespace npgpu::cuda {

BlockReadback read_back(std::span<const BlockRecord> records, std::uint32_t launch) {
  struct Unit {
    std::uint32_t blocks = 0;
    std::uint64_t begin = ~std::uint64_t{0};
    std::uint64_t end = 0;
  };
  std::vector<Unit> units;
  for (std::size_t block = 0; block < records.size(); ++block) {
    const BlockRecord& one = records[block];
    if (one.written != launch)
      throw Error(ErrorKind::failed, fmt::format("block {} of {} left no record of its run", block, records.size()));
    if (one.unit >= units.size()) units.resize(one.unit + 1);
    Unit& unit = units[one.unit];
    ++unit.blocks;
    unit.begin = std::min(unit.begin, one.begin);
    unit.end = std::max(unit.end, one.end);
  }
  BlockReadback all;
  for (const Unit& unit : units) {
    if (!unit.blocks) continue;
    ++all.units;
    all.max_blocks_on_unit = std::max(all.max_blocks_on_unit, unit.blocks);
    all.cycles = std::max(all.cycles, static_cast<double>(unit.end - unit.begin));
  }
  return all;
}

BlockRecord* BlockRecords::begin(std::uint32_t blocks, cudaStream_t stream) {
  const std::uint64_t bytes = std::uint64_t{blocks} * sizeof(BlockRecord);
  if (device_.bytes() < bytes) {
    device_ = Buffer(Memory::device, bytes);
    host_ = Buffer(Memory::pinned, bytes);
    check(cudaMemsetAsync(device_.data(), 0, bytes, stream), "clearing the blocks' records");
  }
  blocks_ = blocks;
  ++launch_;
  return reinterpret_cast<BlockRecord*>(device_.data());
}

BlockReadback BlockRecords::end(cudaStream_t stream) {
  const std::uint64_t bytes = std::uint64_t{blocks_} * sizeof(BlockRecord);
  check(cudaMemcpyAsync(host_.data(), device_.data(), bytes, cudaMemcpyDeviceToHost, stream),
        "reading the blocks' records");
  check(cudaStreamSynchronize(stream), "reading the blocks' records");
  return read_back({reinterpret_cast<const BlockRecord*>(host_.data()), blocks_}, launch_);
}

}  // namespace npgpu::cuda

#include <fmt/format.h>

#include <set>

#include "npgpu/vocabulary/questions.hpp"
#include "probes/cluster/shapes.hpp"

namespace npgpu::cluster {

namespace {

constexpr std::uint32_t sizes[] = {1, 2, 4, 8, 16};

bool chases(const ProbeCase& c) { return c.operation == Operation::chase; }

}  // namespace

std::vector<ProbeCase> cases(const std::string& device) {
  std::vector<ProbeCase> all;
  for (const Operation operation : {Operation::chase, Operation::read, Operation::write})
    all.push_back({.probe = "cluster",
                   .device = device,
                   .operation = operation,
                   .type = operation == Operation::chase ? DataType::fp64 : DataType::fp32,
                   .form = operation == Operation::chase ? Form::dependent : Form::streaming,
                   .space = Space::shared});
  return all;
}

std::vector<Shape> shapes(const ProbeCase& c, std::uint32_t (*at_once)(const std::string&, std::uint32_t)) {
  std::vector<Shape> all;
  for (const std::uint32_t size : sizes) {
    const std::uint32_t clusters = at_once(c.device, size);
    if (clusters == 0) continue;
    if (chases(c)) {
      for (std::uint32_t on = size == 1 ? 0 : 1; on < size; ++on)
        all.push_back({.blocks = size,
                       .access_bytes = place_bytes,
                       .bytes = chase_bytes,
                       .one_block_per_sm = 1,
                       .stride = on,
                       .cluster = size});
      continue;
    }
    for (const std::uint32_t blocks : std::set{size, size * clusters})
      for (const std::uint32_t on : std::set{size == 1 ? 0 : 1, static_cast<int>(size / 2)})
        for (const std::uint32_t ilp : {1u, 4u})
          all.push_back({.blocks = blocks,
                         .threads = 1024,
                         .ilp = ilp,
                         .access_bytes = 16,
                         .bytes = set_bytes,
                         .one_block_per_sm = 1,
                         .stride = on,
                         .cluster = size});
  }
  return all;
}

std::optional<std::string> refuses(const ProbeCase& c, const Shape& s) {
  if (s.cluster < 1 || s.cluster > largest || s.blocks % s.cluster)
    return fmt::format("{} blocks in clusters of {}: whole clusters of 1 to {} blocks", s.blocks, s.cluster, largest);
  if (s.stride >= s.cluster)
    return fmt::format("stride {}: a block reaches those of its cluster, which are 0 to {} on", s.stride,
                       s.cluster - 1);
  if (s.one_block_per_sm == 0) return "one_block_per_sm is 1: blocks of a cluster are to lie on different units";
  if (chases(c)) {
    if (s.blocks != s.cluster || s.threads != 1 || s.ilp != 1 || s.access_bytes != place_bytes)
      return "a chase has one cluster, one thread and one access of 8 bytes in flight";
    if (s.bytes < place_bytes || s.bytes > set_bytes || s.bytes % place_bytes)
      return fmt::format("{} bytes of each block: 8 to {}, in places of 8", s.bytes, set_bytes);
    return std::nullopt;
  }
  if (s.access_bytes != 16 || (s.ilp != 1 && s.ilp != 4)) return "accesses are of 16 bytes, 1 or 4 in flight";
  if (const std::uint64_t step = std::uint64_t{16} * s.ilp * s.threads;
      s.bytes == 0 || s.bytes > set_bytes || s.bytes % step)
    return fmt::format("{} bytes of each block: up to {}, in steps of {}", s.bytes, set_bytes, step);
  return std::nullopt;
}

double work(const ProbeCase& c, const Shape& s) {
  if (chases(c)) return loads_of_repeat;
  return static_cast<double>(steps_of_repeat) * s.blocks * s.threads * s.ilp * s.access_bytes;
}

}  // namespace npgpu::cluster

namespace npgpu {

namespace {

template <std::uint32_t size> bool cluster_loads(const ProbeCase& c, const Shape& s) {
  return c.operation == Operation::chase && s.cluster == size && s.stride > 0;
}
template <Operation operation, std::uint32_t size, bool pairs> bool cluster_moves(const ProbeCase& c, const Shape& s) {
  return c.operation == operation && s.cluster == size && s.blocks > size && s.stride == (pairs ? size / 2 : 1);
}
double one_load(const ProbeCase&, const Shape&) { return 1; }

template <std::uint32_t size> UnitRate cluster_latency(const char* name) {
  return {.name = name,
          .meaning = "a load from the nearest other block of the cluster",
          .of = cluster_loads<size>,
          .step = one_load};
}
template <Operation operation, std::uint32_t size, bool pairs = false>
UnitRate cluster_rate(const char* name, const char* meaning) {
  return {.name = name, .meaning = meaning, .of = cluster_moves<operation, size, pairs>};
}
constexpr Operation cluster_reads = Operation::read, cluster_writes = Operation::write;
constexpr const char *in_ring = "each block of a cluster reads the next one's shared memory",
                     *in_pairs = "blocks of a cluster read each other's shared memory in pairs",
                     *into_next = "each block of a cluster writes the next one's shared memory";

}  // namespace

const Joined<ProbeDescription> cluster_description(
    {.name = "cluster",
     .summary = "shared memory of another block of the cluster: latency, and rates by the cluster's size",
     .axes = {.stride = true, .cluster = true},
     .is_usual = false,
     .unit_rates = {cluster_latency<2>("cluster latency, 2 blocks"), cluster_latency<4>("cluster latency, 4 blocks"),
                    cluster_latency<8>("cluster latency, 8 blocks"), cluster_latency<16>("cluster latency, 16 blocks"),
                    cluster_rate<cluster_reads, 2>("cluster ring, 2 blocks", in_ring),
                    cluster_rate<cluster_reads, 4>("cluster ring, 4 blocks", in_ring),
                    cluster_rate<cluster_reads, 8>("cluster ring, 8 blocks", in_ring),
                    cluster_rate<cluster_reads, 16>("cluster ring, 16 blocks", in_ring),
                    cluster_rate<cluster_reads, 4, true>("cluster pairs, 4 blocks", in_pairs),
                    cluster_rate<cluster_reads, 8, true>("cluster pairs, 8 blocks", in_pairs),
                    cluster_rate<cluster_reads, 16, true>("cluster pairs, 16 blocks", in_pairs),
                    cluster_rate<cluster_writes, 2>("cluster writes, 2 blocks", into_next),
                    cluster_rate<cluster_writes, 4>("cluster writes, 4 blocks", into_next),
                    cluster_rate<cluster_writes, 8>("cluster writes, 8 blocks", into_next),
                    cluster_rate<cluster_writes, 16>("cluster writes, 16 blocks", into_next)},
     .cases = cluster::cases,
     .there_are =
         "probe cluster has the operations chase (dependent, of addresses as fp64), read and write (of fp32), in "
         "shared memory",
     .refuses = cluster::refuses,
     .key_figures = [](const ProbeCase& c) -> std::vector<FigureChoice> {
       if (c.operation == Operation::chase)
         return {{"latency of a cluster's shared memory", Among::smallest, FigureUnit::us_a_load}};
       return {{c.operation == Operation::read ? "reads in clusters" : "writes in clusters", Among::fastest,
                FigureUnit::bytes_per_s}};
     }});

}  // namespace npgpu

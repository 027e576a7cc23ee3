#include "npgpu/probe_description.hpp"

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
     .key_figures = [](const ProbeCase& c) -> std::vector<FigureChoice> {
       if (c.operation == Operation::chase)
         return {{"latency of a cluster's shared memory", Among::smallest, FigureUnit::us_a_load}};
       return {{c.operation == Operation::read ? "reads in clusters" : "writes in clusters", Among::fastest,
                FigureUnit::bytes_per_s}};
     }});

}  // namespace npgpu

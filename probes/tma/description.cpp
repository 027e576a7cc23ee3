#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

template <std::uint32_t rung, Space space> bool bulk_loads(const ProbeCase& c, const Shape& s) {
  return c.operation == Operation::chase && c.space == space && s.rung == rung && s.access_bytes == 16;
}
template <Operation operation, std::uint32_t rung, Space space> bool bulk_moves(const ProbeCase& c, const Shape& s) {
  return c.operation == operation && c.space == space && s.rung == rung;
}
double one_bulk_load(const ProbeCase&, const Shape&) { return 1; }

template <std::uint32_t rung, Space space> UnitRate bulk_latency(const char* name, const char* meaning) {
  return {.name = name, .meaning = meaning, .of = bulk_loads<rung, space>, .step = one_bulk_load};
}
template <Operation operation, std::uint32_t rung, Space space> UnitRate bulk_rate(const char* name) {
  return {.name = name,
          .meaning = operation == Operation::read ? "bytes that copies move to a unit's shared memory"
                                                  : "bytes that copies take from a unit's shared memory",
          .of = bulk_moves<operation, rung, space>};
}
constexpr const char *by_load = "a plain load, of the set that bulk copies chase through",
                     *by_copy = "from asking for a bulk copy of 16 bytes until they are read from shared memory",
                     *by_box = "the same, of a box of a tensor map";

}  // namespace

const Joined<ProbeDescription> tma_description(
    {.name = "tma",
     .summary = "bulk copies and boxes of tensor maps (TMA): latency over a plain load, rates by box and depth",
     .axes = {.rung = true, .cluster = true},
     .is_usual = false,
     .unit_rates = {bulk_latency<1, Space::l2>("load latency, L2", by_load),
                    bulk_latency<2, Space::l2>("bulk copy latency, L2", by_copy),
                    bulk_latency<3, Space::l2>("box latency, L2", by_box),
                    bulk_latency<1, Space::global>("load latency, memory", by_load),
                    bulk_latency<2, Space::global>("bulk copy latency, memory", by_copy),
                    bulk_latency<3, Space::global>("box latency, memory", by_box),
                    bulk_rate<Operation::read, 2, Space::l2>("bulk copy reads of L2"),
                    bulk_rate<Operation::read, 3, Space::l2>("box reads of L2"),
                    bulk_rate<Operation::read, 4, Space::l2>("multicast reads of L2"),
                    bulk_rate<Operation::read, 2, Space::global>("bulk copy reads of memory"),
                    bulk_rate<Operation::read, 3, Space::global>("box reads of memory"),
                    bulk_rate<Operation::write, 2, Space::l2>("bulk copy writes of L2"),
                    bulk_rate<Operation::write, 3, Space::l2>("box writes of L2"),
                    bulk_rate<Operation::write, 2, Space::global>("bulk copy writes of memory"),
                    bulk_rate<Operation::write, 3, Space::global>("box writes of memory")},
     .key_figures = [](const ProbeCase& c) -> std::vector<FigureChoice> {
       if (c.operation == Operation::chase) return {};  // the shortest is the plain load's
       const char* const from = c.space == Space::l2 ? "L2" : "memory";
       return {{std::string("bulk ") + (c.operation == Operation::read ? "reads of " : "writes of ") + from,
                Among::fastest, FigureUnit::bytes_per_s}};
     }});

}  // namespace npgpu

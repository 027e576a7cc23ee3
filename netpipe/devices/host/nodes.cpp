#include "netpipe/devices/host/nodes.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "npgpu/error.hpp"

namespace npgpu::host {

namespace {

Topology load(const char* synthetic) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw Error(ErrorKind::failed, "hwloc cannot start: out of memory");
  Topology topology(raw);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (synthetic && hwloc_topology_set_synthetic(raw, synthetic) != 0)
    throw Error(ErrorKind::failed, fmt::format("hwloc does not understand the machine '{}'", synthetic));
  if (hwloc_topology_load(raw) != 0)
    throw Error(ErrorKind::failed,
                "hwloc cannot read this machine's topology: run with --no-bind, or check HWLOC_* variables");
  return topology;
}

hwloc_obj_t only_node_in(hwloc_topology_t topology, hwloc_const_nodeset_t nodes) {
  if (!nodes || hwloc_bitmap_weight(nodes) != 1) return nullptr;
  return hwloc_get_numanode_obj_by_os_index(topology, static_cast<unsigned>(hwloc_bitmap_first(nodes)));
}

}  // namespace

hwloc_topology_t this_machine() {
  static const Topology topology = load(nullptr);
  return topology.get();
}

Topology synthetic_machine(const std::string& description) { return load(description.c_str()); }

hwloc_obj_t node_of_device(hwloc_topology_t topology, const std::string& pci_bus_id) {
  if (hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE) == 1)
    return hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, 0);
  const hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology, pci_bus_id.c_str());
  if (!device) return nullptr;
  const hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology, device);
  return place ? only_node_in(topology, place->nodeset) : nullptr;
}

hwloc_obj_t node_of_cpu(hwloc_topology_t topology, unsigned cpu) {
  const hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(topology, cpu);
  return pu ? only_node_in(topology, pu->nodeset) : nullptr;
}

NodeChoice choose(hwloc_obj_t node, hwloc_const_bitmap_t allowed, const std::string& whose) {
  NodeChoice choice;
  if (!node) {
    choice.text = fmt::format("not bound: the NUMA node nearest {} is unknown", whose);
    return choice;
  }
  Bitmap cpus(hwloc_bitmap_alloc());
  hwloc_bitmap_and(cpus.get(), node->cpuset, allowed);
  if (hwloc_bitmap_iszero(cpus.get())) {
    choice.text = fmt::format("not bound: NUMA node {} (cpus {}) nearest {} is outside the allowed cpus {}",
                              node->os_index, cpu_list(node->cpuset), whose, cpu_list(allowed));
    return choice;
  }
  choice.node = node;
  choice.text = fmt::format("NUMA node {} (cpus {})", node->os_index, cpu_list(cpus.get()));
  choice.cpus = std::move(cpus);
  return choice;
}

std::vector<unsigned> cpu_of_each_core(hwloc_topology_t topology, hwloc_const_bitmap_t allowed) {
  std::vector<unsigned> cpus;
  for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core));) {
    const Bitmap mine(hwloc_bitmap_alloc());
    hwloc_bitmap_and(mine.get(), core->cpuset, allowed);
    if (const int first = hwloc_bitmap_first(mine.get()); first >= 0) cpus.push_back(static_cast<unsigned>(first));
  }
  if (!cpus.empty()) return cpus;
  for (int cpu = hwloc_bitmap_first(allowed); cpu >= 0; cpu = hwloc_bitmap_next(allowed, cpu))
    cpus.push_back(static_cast<unsigned>(cpu));
  return cpus;
}

std::string cpu_list(hwloc_const_bitmap_t cpus) {
  if (hwloc_bitmap_iszero(cpus)) return "none";
  char* text = nullptr;
  if (hwloc_bitmap_list_asprintf(&text, cpus) < 0) return "unknown";
  std::string list = text;
  std::free(text);
  return list;
}

}  // namespace npgpu::host

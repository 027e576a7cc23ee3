// Where this process runs: which NUMA node to bind to, decided from a topology without touching the thread, and
// binding.
#pragma once

#include <hwloc.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace npgpu::host {

struct TopologyDeleter {
  void operator()(hwloc_topology* t) const { hwloc_topology_destroy(t); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

struct BitmapDeleter {
  void operator()(hwloc_bitmap_s* b) const { hwloc_bitmap_free(b); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapDeleter>;

// This machine, loaded once. Throws Error(failed).
hwloc_topology_t this_machine();
// For tests: "node:2 core:2 pu:1" (hwloc's synthetic form).
Topology synthetic_machine(const std::string& description);

// The one node with processors that `device` hangs on, or the only one there is; null if unknown.
hwloc_obj_t node_of_device(hwloc_topology_t, const std::string& pci_bus_id);
// The node whose memory `cpu` has as its own; null if unknown.
hwloc_obj_t node_of_cpu(hwloc_topology_t, unsigned cpu);

// NUMA nodes that have processors, by the system's numbers. Others have memory only: a GPU's, HBM, or behind CXL.
std::vector<int> nodes_with_cpus(hwloc_topology_t);
// Those others: "2 (HBM, 16 GiB), 3 (HBM, 16 GiB)"; empty where there are none.
std::string memory_only_nodes(hwloc_topology_t);
// Why a thread that is allowed `allowed` cannot run on that node, and what would make it run, in one sentence; nothing
// if it can.
std::optional<std::string> why_not_on(hwloc_topology_t, int node, hwloc_const_bitmap_t allowed);

struct NodeChoice {
  hwloc_obj_t node = nullptr;  // null: do not bind
  Bitmap cpus;                 // of the node, and allowed
  std::string text;
};
// What binding to `node` means for a thread that is allowed `allowed`. `whose` names what the node is near to.
NodeChoice choose(hwloc_obj_t node, hwloc_const_bitmap_t allowed, const std::string& whose);

// The first allowed cpu of each core that has one; every allowed cpu where the machine does not say which cores it has.
std::vector<unsigned> cpu_of_each_core(hwloc_topology_t, hwloc_const_bitmap_t allowed);

// What the calling thread is confined to; all that the machine allows where the system does not say.
Bitmap thread_cpus();

std::string cpu_list(hwloc_const_bitmap_t);  // "0-15,32-47"

// Where this process runs, and binding to the part of the machine that is nearest a device.

// This machine's NUMA nodes that have processors, by the system's numbers.
std::vector<int> numa_nodes();
// Why the calling thread cannot be bound to this node (--host-node), in one sentence; nothing if it can, or if `node`
// is negative: then none was asked for. It is tried: a container may refuse what the machine has.
std::optional<std::string> why_not_on_node(int node);

// Binds the calling thread, the threads it starts from then on, and the memory they touch first, to one NUMA node, as
// long as it lives. Never leaves the cpus that the thread was allowed before: where the node has none of them, nothing
// is bound and text() says so. What the system refuses is said there too, and no error.
//
// Destroy it on the thread that made it. Several may live at once and die in any order: the youngest alive is in
// force, and the last one to die gives the thread back what it had.
class Binding {
 public:
  static Binding near_device(const std::string& pci_bus_id);  // "0000:3b:00.0"; 4 or 8 digits of domain
  static Binding near_thread();                               // the node the thread runs on now
  // To this node and no other: what the others only say in text() is an error here. Throws Error: usage
  // where the thread cannot be there, failed where the system refuses. Memory that was allocated before, the driver's
  // too, stays where it is.
  static Binding on_node(int node);
  static Binding none(const std::string& why);

  // "NUMA node 0 (cpus 0-15)", "not bound: --no-bind".
  const std::string& text() const { return text_; }
  // The node in force; -1 if not bound.
  int node() const { return node_; }

 private:
  struct Release {
    void operator()(const int* key) const;
  };
  Binding() = default;
  static Binding to(const NodeChoice&);

  std::string text_;
  int node_ = -1;
  std::unique_ptr<const int, Release> held_;  // its address is the key to what this thread holds
};

}  // namespace npgpu::host

#include "netpipe/devices/host/topology.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "npgpu/vocabulary/units.hpp"

namespace npgpu::host {

namespace {

// hwloc's plugins bring OpenCL, CUDA, NVML and X11 into every process that asks for cores, start GPU runtimes and leave
// memory behind. What they would say is not used: sysfs names the PCI devices.
void leave_plugins_out() { setenv("HWLOC_PLUGINS_PATH", "", 0); }

// The memory of a GPU that is coherent with the processors (Grace Hopper) is a NUMA node to the system, and to hwloc
// from 2.11 on. It is no host memory.
void leave_gpu_memory_out() { setenv("HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES", "0", 0); }

Topology load(const char* synthetic) {
  leave_plugins_out();
  leave_gpu_memory_out();
  hwloc_topology_t raw = nullptr;
  ::setenv("HWLOC_HIDE_ERRORS", "2",
           0);  // a container without /sys is no error of ours: what is missing has its sentence
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

bool is_gpu_memory(hwloc_obj_t node) { return node->subtype && std::strcmp(node->subtype, "GPUMemory") == 0; }

template <class Visit> void each_node(hwloc_topology_t topology, Visit visit) {
  for (hwloc_obj_t node = nullptr; (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node));)
    visit(node);
}

// Whether processors have this node's memory as their own. hwloc gives a node without processors (HBM next to DRAM,
// memory behind CXL) those that it is nearest to, which are then in two nodes. The system numbers nodes with processors
// first.
bool has_processors(hwloc_topology_t topology, hwloc_obj_t node) {
  if (is_gpu_memory(node) || hwloc_bitmap_iszero(node->complete_cpuset)) return false;
  bool is_first = true;
  each_node(topology, [&](hwloc_obj_t other) {
    is_first &= other->os_index >= node->os_index || is_gpu_memory(other) ||
                !hwloc_bitmap_intersects(other->complete_cpuset, node->complete_cpuset);
  });
  return is_first;
}

// The one node with processors in a set of nodes; null where there are several, or none.
hwloc_obj_t only_node_in(hwloc_topology_t topology, hwloc_const_nodeset_t nodes) {
  hwloc_obj_t only = nullptr;
  int count = 0;
  each_node(topology, [&](hwloc_obj_t node) {
    if (nodes && hwloc_bitmap_isset(nodes, node->os_index) && has_processors(topology, node)) only = node, ++count;
  });
  return count == 1 ? only : nullptr;
}

}  // namespace

hwloc_topology_t this_machine() {
  static const Topology topology = load(nullptr);
  return topology.get();
}

Topology synthetic_machine(const std::string& description) { return load(description.c_str()); }

hwloc_obj_t node_of_device(hwloc_topology_t topology, const std::string& pci_bus_id) {
  if (const hwloc_obj_t only = only_node_in(topology, hwloc_topology_get_complete_nodeset(topology))) return only;
  const hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology, pci_bus_id.c_str());
  if (!device) return nullptr;
  const hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology, device);
  return place ? only_node_in(topology, place->nodeset) : nullptr;
}

hwloc_obj_t node_of_cpu(hwloc_topology_t topology, unsigned cpu) {
  const hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(topology, cpu);
  return pu ? only_node_in(topology, pu->nodeset) : nullptr;
}

std::vector<int> nodes_with_cpus(hwloc_topology_t topology) {
  std::vector<int> all;
  each_node(topology, [&](hwloc_obj_t node) {
    if (has_processors(topology, node)) all.push_back(static_cast<int>(node->os_index));
  });
  std::ranges::sort(all);
  return all;
}

std::string memory_only_nodes(hwloc_topology_t topology) {
  std::vector<std::string> all;
  each_node(topology, [&](hwloc_obj_t node) {
    if (has_processors(topology, node)) return;
    all.push_back(fmt::format("{} ({}, {:.0f} GiB)", node->os_index, node->subtype ? node->subtype : "no processors",
                              static_cast<double>(node->attr->numanode.local_memory) / static_cast<double>(GiB)));
  });
  return fmt::format("{}", fmt::join(all, ", "));
}

std::optional<std::string> why_not_on(hwloc_topology_t topology, int number, hwloc_const_bitmap_t allowed) {
  const std::string option = fmt::format("--host-node {}", number);
  const std::vector<int> usable = nodes_with_cpus(topology);
  const hwloc_obj_t node = hwloc_get_numanode_obj_by_os_index(topology, static_cast<unsigned>(number));
  if (!node)
    return usable.size() == 1 ? fmt::format("{}: this machine has one NUMA node, {}", option, usable.front())
                              : fmt::format("{}: this machine has NUMA nodes {}", option, fmt::join(usable, ", "));
  if (is_gpu_memory(node))
    return fmt::format("{}: that NUMA node is a GPU's memory, and no memory of the host: use {}", option,
                       fmt::join(usable, ", "));
  if (hwloc_bitmap_iszero(node->complete_cpuset))
    return fmt::format("{}: that NUMA node has memory and no processors, and the thread is to run there: use {}",
                       option, fmt::join(usable, ", "));
  if (!hwloc_bitmap_intersects(node->cpuset, allowed))
    return fmt::format(
        "{}: its processors, {}, are outside the allowed ones, {}: allow them with taskset, numactl or the job's "
        "launcher",
        option, cpu_list(node->complete_cpuset), cpu_list(allowed));
  return std::nullopt;
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

Bitmap thread_cpus() {
  Bitmap cpus(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(this_machine(), cpus.get(), HWLOC_CPUBIND_THREAD) != 0)
    hwloc_bitmap_copy(cpus.get(), hwloc_topology_get_allowed_cpuset(this_machine()));
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

namespace {

// What a thread is confined to: its cpus and its memory policy.
struct Confinement {
  Bitmap cpus{hwloc_bitmap_alloc()};
  Bitmap nodes{hwloc_bitmap_alloc()};
  hwloc_membind_policy_t policy = HWLOC_MEMBIND_DEFAULT;
  bool knows_memory = false;  // false: the system does not say (containers), so it is never set either
};

constexpr int by_thread_and_node = HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET;

Confinement current() {
  Confinement now{.cpus = thread_cpus()};
  now.knows_memory = hwloc_get_membind(this_machine(), now.nodes.get(), &now.policy, by_thread_and_node) == 0;
  return now;
}

bool confine_cpus(const Confinement& to) {
  return hwloc_set_cpubind(this_machine(), to.cpus.get(), HWLOC_CPUBIND_THREAD) == 0;
}

bool confine_memory(const Confinement& to) {
  return to.knows_memory && hwloc_set_membind(this_machine(), to.nodes.get(), to.policy, by_thread_and_node) == 0;
}

struct HeldBinding {
  const int* key;
  Confinement to;
};

// The bindings alive on this thread, oldest first, and what the thread had before the first of them.
struct ThreadState {
  Confinement before;
  std::vector<HeldBinding> alive;
};
thread_local ThreadState state;

const Confinement& allowed() {
  if (state.alive.empty()) state.before = current();
  return state.before;
}

}  // namespace

void Binding::Release::operator()(const int* key) const {
  const auto mine =
      std::find_if(state.alive.begin(), state.alive.end(), [&](const HeldBinding& h) { return h.key == key; });
  if (mine != state.alive.end()) {  // else it is another thread's, whose confinement is not ours to change
    const bool was_in_force = mine + 1 == state.alive.end();
    state.alive.erase(mine);
    if (was_in_force) {
      const Confinement& to = state.alive.empty() ? state.before : state.alive.back().to;
      confine_cpus(to);
      confine_memory(to);
    }
  }
  delete key;
}

Binding Binding::none(const std::string& why) {
  Binding binding;
  binding.text_ = "not bound: " + why;
  return binding;
}

Binding Binding::to(const NodeChoice& choice) {
  Binding binding;
  binding.text_ = choice.text;
  if (!choice.node) return binding;
  Confinement to;
  hwloc_bitmap_copy(to.cpus.get(), choice.cpus.get());
  hwloc_bitmap_copy(to.nodes.get(), choice.node->nodeset);
  to.policy = HWLOC_MEMBIND_BIND;
  to.knows_memory = allowed().knows_memory;
  if (!confine_cpus(to))
    return none(fmt::format("the system refuses cpus {}: {}", cpu_list(to.cpus.get()), std::strerror(errno)));
  if (!confine_memory(to)) {
    to.knows_memory = false;
    binding.text_ += ", threads only: the system refuses a memory policy";
  }
  binding.node_ = static_cast<int>(choice.node->os_index);
  binding.held_.reset(new int(binding.node_));
  state.alive.push_back({binding.held_.get(), std::move(to)});
  return binding;
}

Binding Binding::near_device(const std::string& pci_bus_id) {
  return to(choose(node_of_device(this_machine(), pci_bus_id), allowed().cpus.get(), "PCI device " + pci_bus_id));
}

Binding Binding::near_thread() {
  const int cpu = sched_getcpu();
  return to(choose(node_of_cpu(this_machine(), static_cast<unsigned>(std::max(cpu, 0))), allowed().cpus.get(),
                   fmt::format("cpu {}", cpu)));
}

Binding Binding::on_node(int node) {
  if (const auto why = why_not_on(this_machine(), node, allowed().cpus.get())) throw Error(ErrorKind::usage, *why);
  const hwloc_obj_t there = hwloc_get_numanode_obj_by_os_index(this_machine(), static_cast<unsigned>(node));
  Binding binding = to(choose(there, allowed().cpus.get(), "--host-node"));
  // On a machine with one node all memory is there, whatever the system refuses.
  const bool is_only = hwloc_get_nbobjs_by_type(this_machine(), HWLOC_OBJ_NUMANODE) == 1;
  const bool memory = binding.node_ == node && (state.alive.back().to.knows_memory || is_only);
  if (!memory)
    throw Error(ErrorKind::failed,
                fmt::format("--host-node {}: {}: run where the system allows it (a container needs the capability "
                            "SYS_NICE), or leave --host-node out",
                            node, binding.text_));
  return binding;
}

std::vector<int> numa_nodes() { return nodes_with_cpus(this_machine()); }

std::optional<std::string> why_not_on_node(int node) {
  if (node < 0) return std::nullopt;
  try {
    Binding::on_node(node);
    return std::nullopt;
  } catch (const Error& refused) {
    return refused.what();
  }
}

}  // namespace npgpu::host

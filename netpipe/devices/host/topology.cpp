#include "netpipe/devices/host/topology.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "netpipe/devices/host/nodes.hpp"

namespace npgpu::host {

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
  Confinement now;
  if (hwloc_get_cpubind(this_machine(), now.cpus.get(), HWLOC_CPUBIND_THREAD) != 0)
    hwloc_bitmap_copy(now.cpus.get(), hwloc_topology_get_allowed_cpuset(this_machine()));
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

}  // namespace npgpu::host

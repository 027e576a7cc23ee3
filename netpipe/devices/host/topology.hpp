// Where this process runs, and binding to the part of the machine that is nearest a device.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace npgpu::host {

struct NodeChoice;

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

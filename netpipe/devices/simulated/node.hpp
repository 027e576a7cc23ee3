// A simulated node: several GPUs of one kind, and the graph of links, switches and sockets between them and the host's
// memory, from a JSON file as data/devices/README.md describes. Its GPUs are called sim:NODE:0, sim:NODE:1, ...
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "netpipe/devices/simulated/spec.hpp"
#include "npgpu/vocabulary/transfer.hpp"

namespace npgpu::simulated {

// Between two vertices of the graph, with a rate of its own in each direction.
struct NodeLink {
  std::string between, other;  // gpu0, switch1, socket0
  double forth_bytes_per_s = 0, back_bytes_per_s = 0;
  Seconds latency{0};
  int nvlinks = 0;               // that it is made of; 0: another kind of link
  std::string nvlink_version{};  // of these, as NVML has it: "4.0"; empty: not known
};

// The way of a copy: directed links, as indices of Node::rates(), and what it takes to pass them all.
struct NodeRoute {
  std::vector<std::size_t> links;
  Seconds latency{0};
  double cap = 0;  // bytes per second; 0: none
  bool zeros = false;
};

class Node {
 public:
  // Throws Error(usage) that names the file, the key and what was expected there.
  explicit Node(const std::filesystem::path&);

  const std::filesystem::path& file() const { return file_; }
  std::size_t gpus() const { return gpus_; }
  // The spec of one GPU: the node's common one, with what the graph says of its links among the facts.
  Spec gpu(std::size_t) const;
  DeviceInfo info(std::size_t, const std::string& id) const;
  // Forth and back of each link in turn.
  std::vector<double> rates() const;
  // Host memories, in the order of the spec, are the NUMA nodes 0, 1, ...
  std::vector<int> host_nodes() const;
  // Why there is no way for this lane, or it may not be taken; nothing if there is.
  std::optional<std::string> why_no_route(const TransferCase& lane) const;
  // Throws Error(usage) with that.
  NodeRoute route(const TransferCase& lane) const;
  const Spec& common() const { return common_; }
  // The same node with scatter of another seed.
  Node with_seed(std::uint64_t) const;

 private:
  using Vertices = std::set<std::pair<std::string, std::string>>;
  struct Step {
    std::size_t link = 0;
    std::string to;
  };

  std::string vertex_of(const std::string& device) const;  // "gpu3"
  // Where host memory is that is the fewest links away.
  std::string memory_near(const std::string& gpu) const;
  // Where the case's host memory is, for one of its GPUs: on the node that it asks for, else where binding goes, which
  // is the node that the system names.
  std::string memory_of(const TransferCase&, const std::string& gpu) const;
  int system_node(const std::string& gpu) const;  // -1: of one there is nothing to name
  // The links of a shortest way, the first listed where several are; nothing if there is none. GPUs are only its ends.
  std::optional<std::vector<std::size_t>> way(const std::string& from, const std::string& to) const;
  std::vector<Step> steps_from(const std::string& vertex) const;
  bool are(const Vertices& pairs, const std::string& a, const std::string& b) const {
    return pairs.contains({a, b}) || pairs.contains({b, a});
  }
  void extend(NodeRoute&, const std::string& from, const std::string& to) const;
  double cap_of(const TransferCase&) const;

  std::filesystem::path file_;
  std::string name_, source_;
  Spec common_;
  std::size_t gpus_ = 0;
  std::vector<std::string> memory_;
  std::map<std::string, int> named_node_;  // where the system names another one than the nearest
  std::vector<NodeLink> links_;
  Vertices blind_, zeros_;
  std::map<std::string, Spec> own_;  // of single GPUs, in place of the common one
  std::optional<std::uint64_t> seed_;
  double write_cap_ = 0, read_cap_ = 0, staged_cap_ = 0, kernel_cap_ = 0;
};

// The node and the number in "sim:NODE:3"; nothing if the id has no number at its end.
struct NodeMember {
  std::string node;  // "sim:NODE"
  std::size_t gpu = 0;
};
std::optional<NodeMember> member_of(std::string_view id);
// The node called "sim:NODE", or "sim:NODE?seed=7", read once for as long as its file stays as it is. Null if there is
// no such node.
std::shared_ptr<const Node> find_node(const std::string& id);
// Throws Error(usage).
std::shared_ptr<const Node> node_of(const std::string& id);

}  // namespace npgpu::simulated

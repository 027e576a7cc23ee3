// How two GPUs are joined, as the facts in a trace have it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "npgpu/trace.hpp"

namespace npgpu::model {

class Links {
 public:
  explicit Links(const Trace&);
  // What pairs of that kind have in common, whichever devices they are: "PCIe within one switch".
  std::string kind(const std::string& a, const std::string& b) const;
  // The same with what tells this pair from others: "PCIe within one switch (0000:15:00.0)".
  std::string text(const std::string& a, const std::string& b) const;
  // The host's NUMA node that the system calls near to it; -1: it does not say.
  int host_node(const std::string& device) const;
  // All that its host has, or had when it was measured; empty if the trace does not say.
  std::vector<int> host_nodes(const std::string& device) const;
  // To the host: "PCIe (0000:10:00.0 > 0000:10:00.1)".
  std::string to_host(const std::string& device) const;

 private:
  struct Place {
    std::string bus, path, nvlinks_to, nvlink_version;
    double nvlinks = 0, node = -1;
    std::vector<int> host_nodes{};
  };
  const Place* place(const std::string& device) const;

  std::map<std::string, Place> places_;  // by device
};

}  // namespace npgpu::model

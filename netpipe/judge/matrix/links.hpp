// How GPUs are joined, as the facts in a trace have it, and what a trace has of copies from each memory to each other:
// payloads that were compared, and cases without a figure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "netpipe/engine/nvlink.hpp"
#include "npgpu/judge/matrix.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu::model {

class Links {
 public:
  explicit Links(const Trace&);
  // What pairs of that kind have in common, whichever devices they are: "PCIe within one switch".
  std::string kind(const std::string& a, const std::string& b) const;
  // The same with what distinguishes this pair from others: "PCIe within one switch (0000:15:00.0)".
  std::string text(const std::string& a, const std::string& b) const;
  // The host's NUMA node that the system calls near to it; -1: it does not say.
  int host_node(const std::string& device) const;
  // All that its host has, or had when it was measured; empty if the trace does not say.
  std::vector<int> host_nodes(const std::string& device) const;
  // To the host: "PCIe (0000:10:00.0 > 0000:10:00.1)".
  std::string to_host(const std::string& device) const;
  // What the NVLinks between the two carry one way, by their number and generation; NaN where that is not known, or
  // they are joined by something else.
  Limit nvlink_limit(const std::string& a, const std::string& b) const;

  // The most that the GPU's PCIe link and its slot can have: "Gen5 x16"; empty where that is not known.
  std::string widest_link(const std::string& device) const;
  // GPUs below the same bridge as this one of which the system names another NUMA node, if most of them have that one;
  // -1: none, or there is nothing to compare.
  int node_of_neighbours(const std::string& device) const;
  // IOMMU and ACS of the bridges above these, as far as they could be read: "IOMMU domain DMA-FQ, ACS redirects in 2 of
  // the bridges above cuda:0".
  std::string redirections(const std::vector<std::string>& devices) const;
  // What lets their copies to each other arrive, but for what is already so.
  std::string mend_redirections(const std::vector<std::string>& devices) const;

  // GPUs that share a way: those below one bridge, or near one NUMA node. Of bridges with the same GPUs below them, the
  // one that is nearest to them.
  struct Shared {
    std::string name;  // "the bridge 0000:10:00.1", "NUMA node 1"
    std::string bus;   // of the bridge; empty: a NUMA node
    std::vector<std::string> devices{};
  };
  // Those of two and more of these GPUs, and not of all of them. The largest first.
  std::vector<Shared> shared_by(const std::vector<std::string>& gpus) const;

 private:
  struct Place {
    std::string bus, path;
    Nvlinks nvlinks{};
    std::string iommu_domain, widest_link;
    double node = -1, acs_redirects = not_measured;
    std::vector<int> host_nodes{};
  };
  const Place* place(const std::string& device) const;

  std::map<std::string, Place> places_;  // by device
  std::vector<std::string> buses_;       // of them all
};

// The results of copies, in the order in which they are in the trace. Copies while a second process worked are left
// out.
std::vector<CopyResults> copy_results(const Trace&);

// "all to one: cuda:0", "host to 8 GPUs"
std::string name_of_lanes(const std::vector<Lane>&);

// Whether more than one GPU has a part in it.
bool is_of_several_gpus(const TransferCase&);

// Why the series has no valid figure of the lane, or lacks some that were planned; empty if it has all. A lane whose
// payloads were wrong has none either, and that is no reason.
std::string failure_to_measure(const TransferSeries&, std::uint32_t lane);

// By the sentence of netpipe/devices/host/payload.hpp.
WrongBytes wrong_bytes_of(const std::string& sentence);

// IOMMU domains of GPUs ("identity", "DMA"; empty: not read), and how many bridges above them redirect by ACS (NaN: not
// read): what to set, where their copies to each other do not arrive.
std::string mend_peer_path(const std::set<std::string>& iommu_domains, double acs_redirects);

}  // namespace npgpu::model

#include "netpipe/model/matrix/matrix_causes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace npgpu::model {

namespace {

// GPUs at the place: those that it names, or all.
std::vector<std::string> gpus_at(const CopyPlace& place, const MatrixEvidence& evidence) {
  std::vector<std::string> all;
  for (const NodeMatrix::Device& gpu : evidence.node.devices)
    if (place.what == CopyPlace::What::everything || std::ranges::find(place.devices, gpu.id) != place.devices.end())
      all.push_back(gpu.id);
  return all;
}

bool is_with_gpus(const CopyPlace& place) {
  return std::ranges::any_of(place.ways, [](const CopyWay& way) {
    return way.first != "host" && way.second != "host" && way.first != way.second;
  });
}

// Of the first copy between two GPUs: "18 NVLinks 4.0", "PCIe within one switch (0000:10:00.0)".
std::string link_at(const CopyPlace& place, const MatrixEvidence& evidence) {
  for (const CopyWay& way : place.ways)
    if (way.first != "host" && way.second != "host" && way.first != way.second)
      return evidence.links.text(way.first, way.second);
  return place.what == CopyPlace::What::pair
             ? evidence.links.to_host(place.devices.front() == "host" ? place.devices.back() : place.devices.front())
             : "";
}

bool is_nvlink(const std::string& link) { return link.find("NVLink") != std::string::npos; }

std::string or_unread(const std::string& read) {
  return read.empty() ? "the settings of IOMMU and ACS cannot be read here" : read;
}

// What is wrong with a device by itself, where that makes its copies slow or wrong.
void add_device_causes(std::vector<Explanation>& all, const std::vector<std::string>& gpus,
                       std::initializer_list<std::string_view> metrics, const MatrixEvidence& evidence) {
  for (const std::string_view metric : metrics)
    for (const HealthFinding& finding : evidence.devices) {
      const bool is_bad = finding.health == Health::fail || finding.health == Health::warn;
      if (!is_bad || finding.metric != metric || std::ranges::find(gpus, finding.device) == gpus.end()) continue;
      Explanation why = finding.explanations.empty() ? Explanation{finding.metric, finding.text, "", ""}
                                                     : finding.explanations.front();
      why.evidence = finding.device + ": " + finding.text;
      all.push_back(std::move(why));
    }
}

// The host's NUMA node that the system names is not the one of its neighbours, or was measured to be slower.
std::optional<Explanation> wrong_numa_node(const std::vector<std::string>& gpus, const MatrixEvidence& evidence) {
  if (gpus.size() != 1) return std::nullopt;
  const std::string& gpu = gpus.front();
  const int named = evidence.links.host_node(gpu), neighbours = evidence.links.node_of_neighbours(gpu);
  if (named < 0 || neighbours < 0) return std::nullopt;
  return Explanation{
      "numa_firmware", "the firmware names the wrong NUMA node, and buffers and threads are put there",
      fmt::format("the system says node {}, and node {} of the other GPUs below the same bridge", named, neighbours),
      "update the firmware, or bind jobs of this GPU to the other node (numactl)"};
}

}  // namespace

std::vector<Explanation> causes_of_wrong(const CopyPlace& place, WrongBytes bytes, const std::string& first,
                                         const MatrixEvidence& evidence) {
  std::vector<Explanation> all;
  const std::vector<std::string> gpus = gpus_at(place, evidence);
  const std::string link = link_at(place, evidence);
  if (bytes != WrongBytes::other && is_with_gpus(place) && !is_nvlink(link)) {
    all.push_back({"peer_redirected", "an IOMMU or ACS redirects what GPUs send each other, and copies report success",
                   or_unread(evidence.links.redirections(gpus)) + "; " + link,
                   "boot with iommu=pt or without the IOMMU; turn ACS redirection off in the bridges above the GPUs "
                   "(BIOS, setpci); until then run NCCL with NCCL_P2P_DISABLE=1"});
    return all;
  }
  if (bytes != WrongBytes::other && is_with_gpus(place)) {
    all.push_back(
        {"fabric", "the NVLinks between them are not set up, and copies report success", link,
         "look at nvidia-smi nvlink -s, nvidia-smi topo -p2p r and the fabric manager's log; reset the GPUs"});
    return all;
  }
  add_device_causes(all, gpus, {"ecc_uncorrected", "remapped_rows", "nvlink", "pcie_replays"}, evidence);
  all.push_back({"wrong_results",
                 place.is_one_gpu() ? "the GPU's memory, its link or an engine changes bytes"
                                    : "the link or a memory at one of its ends changes bytes",
                 first + (link.empty() ? "" : "; " + link),
                 fmt::format("take {} out of service, and test with dcgmi diag -r 3; look at the links' errors "
                             "(nvidia-smi nvlink -e, AER in dmesg)",
                             place.what == CopyPlace::What::everything ? "the node"
                                                                       : fmt::format("{}", fmt::join(gpus, " and ")))});
  return all;
}

std::vector<Explanation> causes_of_slow(const CopyPlace& place, const MatrixEvidence& evidence) {
  std::vector<Explanation> all;
  const std::vector<std::string> gpus = gpus_at(place, evidence);
  const std::string link = link_at(place, evidence);
  const bool nvlink = is_nvlink(link), with_gpus = is_with_gpus(place), with_host = place.has_host();
  if (with_host && !with_gpus)
    if (auto why = wrong_numa_node(gpus, evidence)) all.push_back(std::move(*why));
  if (nvlink) add_device_causes(all, gpus, {"nvlink"}, evidence);
  if (!nvlink || with_host) add_device_causes(all, gpus, {"pcie_link", "pcie_replays"}, evidence);
  add_device_causes(all, gpus, {"throttle"}, evidence);
  if (!all.empty()) return all;
  switch (place.what) {
    case CopyPlace::What::everything:
      all.push_back({with_gpus ? "links" : "host_memory",
                     with_gpus ? "the links between the GPUs are slow" : "the host's memory or its processors are slow",
                     link,
                     with_gpus ? "look at nvidia-smi topo -m and nvidia-smi nvlink -s"
                               : "look for others on the host, at its memory channels and the BIOS's NPS setting"});
      break;
    case CopyPlace::What::bridge:
      if (place.spares_host) {
        all.push_back({"beyond_bridge",
                       "the way between these GPUs and the others is slow: the link between sockets or "
                       "host bridges",
                       "copies between these GPUs and the host are not slow",
                       "look at the links between sockets in the BIOS and its log, and at nvidia-smi topo -m"});
        break;
      }
      all.push_back({"bridge",
                     place.bus.empty() ? "the GPUs share a way that is slow: a host bridge, or the link between sockets"
                                       : "the GPUs share a way that is slow: this bridge, or the link above it",
                     fmt::format("{}: {}", place.shared, fmt::join(place.devices, ", ")),
                     place.bus.empty()
                         ? "look at LnkSta of the root ports (lspci -vv), and at the BIOS"
                         : fmt::format("look at LnkSta in lspci -vv -s {}, and of the port above", place.bus)});
      break;
    case CopyPlace::What::gpu:
      if (with_host || !nvlink)
        all.push_back({"link", "the GPU's own link, or the port above it, is slow",
                       with_host && with_gpus ? "copies with the host are slow as well as those with other GPUs"
                                              : evidence.links.to_host(gpus.front()),
                       "look at LnkSta in lspci -vv of the GPU and of the port above; reseat GPU, riser or cable"});
      else
        all.push_back({"nvlink", "the GPU's NVLinks are slow", link,
                       "look at nvidia-smi nvlink -s and -e and at the fabric manager's log; reset the GPU"});
      break;
    case CopyPlace::What::pair:
      if (with_host)
        all.push_back({"link", "the way between the GPU and the host's memory is slow", link,
                       "look at LnkSta in lspci -vv of the GPU and of the port above; see npgpu matrix --only numa"});
      else if (!with_gpus) all.push_back({"slow_memory", "the GPU's memory is slow", "", "npgpu check measures it"});
      else if (nvlink)
        all.push_back({"nvlink", "the NVLinks between the two are slow", link,
                       "look at nvidia-smi nvlink -s and -e of both; reset both GPUs"});
      else {
        const std::string read = evidence.links.redirections(gpus);
        all.push_back({"peer_way", "the way between the two is slow: it may go through the root complex",
                       link + (read.empty() ? "" : "; " + read),
                       "look at nvidia-smi topo -m, and at ACS redirection in the bridges above them"});
      }
      break;
  }
  return all;
}

std::vector<Explanation> causes_of_blind(const CopyPlace& place, const MatrixEvidence& evidence) {
  const std::string read = evidence.links.redirections(gpus_at(place, evidence)), link = link_at(place, evidence);
  return {{"no_peer_access", "the driver does not let them see each other's memory",
           link + (read.empty() ? "" : "; " + read),
           "look at nvidia-smi topo -p2p r, at ACS and the IOMMU, and whether both are whole GPUs (MIG)"}};
}

}  // namespace npgpu::model

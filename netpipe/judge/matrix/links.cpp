#include "netpipe/judge/matrix/links.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/judge/matrix/findings.hpp"
#include "npgpu/model/result.hpp"

namespace npgpu::model {

namespace {

double number_or(const Facts& facts, const char* name, double otherwise) {
  const double value = number_fact(facts, name);
  return value == value ? value : otherwise;
}

// "0, 1"
std::vector<int> numbers_in(const std::string& text) {
  std::vector<int> all;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) all.push_back(std::atoi(word.c_str()));
  return all;
}

// "a > b > c", the outermost bridge first.
std::vector<std::string> bridges(const std::string& path) {
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(" > ", begin), path.size());
    all.push_back(path.substr(begin, end - begin));
    begin = end + 3;
  }
  return all;
}

// How two GPUs are placed below the bridges of PCIe. A switch is a bridge to the host and one to each device: below one
// switch, two paths differ in their last bridge at most.
struct Fork {
  std::string common{};  // the innermost bridge that both are below; empty if there is none
  bool is_one_switch = false;
};
Fork fork_of(const std::string& a, const std::string& b) {
  const auto one = bridges(a), other = bridges(b);
  std::size_t same = 0;
  while (same < std::min(one.size(), other.size()) && one[same] == other[same]) ++same;
  if (same == 0) return {};
  return {one[same - 1], std::max(one.size(), other.size()) <= same + 1};
}

std::string widest_of(const Facts& facts) {
  const double generation = number_fact(facts, "max_pcie_generation"), lanes = number_fact(facts, "max_pcie_lanes");
  return generation > 0 && lanes > 0 ? fmt::format("Gen{:g} x{:g}", generation, lanes) : std::string();
}

constexpr std::string_view says_wrong = "wrong";  // an error that begins so is of payloads

bool is_error_of_payloads(const std::string& error) { return error.starts_with(says_wrong); }

std::size_t gpus_of_lanes(const std::vector<Lane>& lanes) {
  std::set<std::string> gpus;
  for (const Lane& lane : lanes)
    for (const std::string& end : {lane.source, lane.target})
      if (end != "host") gpus.insert(end);
  return gpus.size();
}

// "byte 17 of 4096 is ..." of "wrong at 4 KiB: byte 17 of 4096 is ...; where an IOMMU ...".
std::string payload_sentence(const std::string& error) {
  const std::size_t colon = error.find(": ");
  const std::size_t begin = colon == std::string::npos ? 0 : colon + 2;
  return error.substr(begin, error.find("; ", begin) - begin);
}

}  // namespace

Links::Links(const Trace& trace) {
  for (const auto& [group, facts] : trace.provenance) {
    const std::string id = text_fact(facts, "id");
    if (!group.starts_with("gpu") || group.find('_') != std::string::npos || id.empty()) continue;
    places_[id] = {.bus = text_fact(facts, "pci_bus_id"),
                   .path = text_fact(facts, "pci_path"),
                   .nvlinks = nvlinks_of(facts, text_fact(facts, "pci_bus_id")),
                   .iommu_domain = text_fact(facts, "iommu_domain"),
                   .widest_link = widest_of(facts),
                   .node = number_or(facts, "numa_node", -1),
                   .acs_redirects = number_fact(facts, "acs_redirects"),
                   .host_nodes = numbers_in(text_fact(facts, "host_nodes"))};
    buses_.push_back(places_[id].bus);
  }
}

const Links::Place* Links::place(const std::string& device) const {
  const auto found = places_.find(device);
  return found == places_.end() ? nullptr : &found->second;
}

Limit Links::nvlink_limit(const std::string& a, const std::string& b) const {
  const Place *one = place(a), *other = place(b);
  return one && other ? npgpu::nvlink_limit(one->nvlinks, other->nvlinks, buses_) : Limit{};
}

std::string Links::widest_link(const std::string& device) const {
  const Place* const one = place(device);
  return one ? one->widest_link : std::string();
}

int Links::node_of_neighbours(const std::string& device) const {
  const Place* const own = place(device);
  if (!own || own->node < 0 || own->path.empty()) return -1;
  std::map<int, int> nodes;
  for (const auto& [id, other] : places_)
    if (id != device && other.node >= 0 && fork_of(own->path, other.path).is_one_switch)
      ++nodes[static_cast<int>(other.node)];
  const auto most = std::ranges::max_element(nodes, {}, [](const auto& one) { return one.second; });
  return most == nodes.end() || most->first == static_cast<int>(own->node) ? -1 : most->first;
}

std::string Links::redirections(const std::vector<std::string>& devices) const {
  std::vector<std::string> parts;
  std::set<std::string> domains;
  for (const std::string& device : devices)
    if (const Place* const one = place(device); one && !one->iommu_domain.empty()) domains.insert(one->iommu_domain);
  if (!domains.empty()) parts.push_back(fmt::format("IOMMU domain {}", fmt::join(domains, ", ")));
  for (const std::string& device : devices)
    if (const Place* const one = place(device); one && one->acs_redirects > 0)
      parts.push_back(fmt::format("ACS redirects in {:g} of the bridges above {}", one->acs_redirects, device));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string Links::mend_redirections(const std::vector<std::string>& devices) const {
  std::set<std::string> domains;
  double redirects = 0;
  for (const std::string& device : devices) {
    const Place* const one = place(device);
    domains.insert(one ? one->iommu_domain : "");
    redirects += one ? one->acs_redirects : not_measured;
  }
  return mend_peer_path(domains, redirects);
}

std::string mend_peer_path(const std::set<std::string>& iommu_domains, double acs_redirects) {
  const bool passes = std::ranges::all_of(
      iommu_domains, [](const std::string& domain) { return domain == "identity" || domain == "none"; });
  std::string text;
  if (!passes || iommu_domains.empty()) text = "boot with iommu=pt or without the IOMMU; ";
  if (acs_redirects != 0) text += "turn ACS redirection off in the bridges above the GPUs (BIOS, setpci); ";
  if (text.empty())
    text = "use a driver that supports copies between these GPUs, and look for bridges that were not read; ";
  return text + "until then run NCCL with NCCL_P2P_DISABLE=1";
}

std::vector<Links::Shared> Links::shared_by(const std::vector<std::string>& gpus) const {
  std::vector<Shared> all;
  const auto add = [&](const std::string& name, const std::string& bus, const std::string& gpu) {
    const auto known = std::ranges::find(all, name, &Shared::name);
    Shared& one = known == all.end() ? all.emplace_back(Shared{name, bus}) : *known;
    one.devices.push_back(gpu);
  };
  for (const std::string& gpu : gpus)
    if (const Place* const its = place(gpu)) {
      auto path = bridges(its->path);
      std::ranges::reverse(path);
      for (const std::string& bridge : path) add("the bridge " + bridge, bridge, gpu);
    }
  for (const std::string& gpu : gpus)
    if (const Place* const its = place(gpu); its && its->node >= 0)
      add(fmt::format("NUMA node {:g}", its->node), "", gpu);
  std::vector<Shared> kept;
  for (Shared& one : all) {
    const bool is_some = one.devices.size() >= 2 && one.devices.size() < gpus.size();
    if (is_some && std::ranges::find(kept, one.devices, &Shared::devices) == kept.end()) kept.push_back(std::move(one));
  }
  sort_stably(kept, std::ranges::greater{}, [](const Shared& one) { return one.devices.size(); });
  return kept;
}

std::string Links::kind(const std::string& a, const std::string& b) const {
  const Place *one = place(a), *other = place(b);
  if (!one || !other) return "a link that the trace does not name";
  if (const double count = nvlinks_between(one->nvlinks, other->nvlinks, buses_); count > 0) {
    const bool has_switches = one->nvlinks.to.find("switch") != std::string::npos;
    return nvlinks_text(count, one->nvlinks) + (has_switches ? " through switches" : "");
  }
  if (one->path.empty() || other->path.empty()) return "PCIe";
  const Fork fork = fork_of(one->path, other->path);
  if (fork.is_one_switch) return "PCIe within one switch";
  if (!fork.common.empty()) return "PCIe over several switches";
  if (one->node >= 0 && other->node >= 0 && one->node != other->node) return "PCIe and the link between two sockets";
  return "PCIe over two root ports";
}

std::string Links::text(const std::string& a, const std::string& b) const {
  const std::string what = kind(a, b);
  const Place *one = place(a), *other = place(b);
  if (!one || !other || !what.starts_with("PCIe") || one->path.empty() || other->path.empty()) return what;
  const Fork fork = fork_of(one->path, other->path);
  if (fork.is_one_switch) return fmt::format("{} ({})", what, fork.common);
  return fmt::format("{} ({} and {})", what, one->path, other->path);
}

int Links::host_node(const std::string& device) const {
  const Place* const one = place(device);
  return one ? static_cast<int>(one->node) : -1;
}

std::vector<int> Links::host_nodes(const std::string& device) const {
  const Place* const one = place(device);
  return one ? one->host_nodes : std::vector<int>();
}

std::string Links::to_host(const std::string& device) const {
  const Place* const one = place(device);
  return !one || one->path.empty() ? "PCIe" : fmt::format("PCIe ({})", one->path);
}

std::string name_of_lanes(const std::vector<Lane>& all) {
  std::set<std::string> sources, targets, gpus;
  bool to_host = false, from_host = false, peers = false;
  for (const Lane& lane : all) {
    to_host |= lane.direction == Direction::d2h;
    from_host |= lane.direction == Direction::h2d;
    peers |= lane.direction == Direction::peer;
    sources.insert(lane.source);
    targets.insert(lane.target);
    for (const std::string& one : {lane.source, lane.target})
      if (one != "host") gpus.insert(one);
  }
  const std::size_t n = gpus.size();
  if (!peers && to_host && from_host) return fmt::format("host to and from {} GPUs", n);
  if (!peers && from_host) return fmt::format("host to {} GPUs", n);
  if (!peers && to_host) return fmt::format("{} GPUs to host", n);
  if (to_host || from_host) return fmt::format("{} lanes", all.size());
  if (sources.size() == 1) return "one to all: " + *sources.begin();
  if (targets.size() == 1) return "all to one: " + *targets.begin();
  if (all.size() == n * (n - 1)) return "all to all";
  if (all.size() == n && sources.size() == n && targets.size() == n) return "ring";
  return fmt::format("{} lanes", all.size());
}

bool is_of_several_gpus(const TransferCase& question) { return gpus_of_lanes(lanes(question)) > 1; }

WrongBytes wrong_bytes_of(const std::string& sentence) {
  if (sentence.find("bytes are 0x00") != std::string::npos) return WrongBytes::zeros;
  if (sentence.find(": never written") != std::string::npos) return WrongBytes::unwritten;
  return WrongBytes::other;
}

std::string failure_to_measure(const TransferSeries& series, std::uint32_t lane) {
  if (!series.error.empty() && !is_error_of_payloads(series.error)) return series.error;
  const auto is_wrong = [&](const TransferSample& sample) { return sample.lane == lane && sample.intact == 0; };
  if (std::ranges::any_of(series.samples, is_wrong)) return {};
  if (series.visits.empty()) return "it was not measured";
  for (const TransferResult& point : results(series)) {
    if (point.lane != lane) continue;
    const Estimate& figure = is_of_words(series.question.pattern) ? point.time_us : point.rate;
    if (!(figure.value > 0) || !std::isfinite(figure.value)) return "no valid time at " + size_text(point.axes.bytes);
  }
  return {};
}

std::vector<CopyResults> copy_results(const Trace& trace) {
  std::vector<CopyResults> all;
  const auto of = [&](const Lane& lane) -> CopyResults& {
    for (CopyResults& one : all)
      if (one.source == lane.source && one.target == lane.target) return one;
    CopyResults& fresh = all.emplace_back();
    fresh.source = lane.source;
    fresh.target = lane.target;
    return fresh;
  };
  for (const TransferSeries& series : trace.of<Transfers>()) {
    const std::vector<Lane> lanes_of_case = lanes(series.question);
    const bool several = gpus_of_lanes(lanes_of_case) > 1;
    for (const TransferSample& sample : series.samples) {
      if (sample.intact < 0 || sample.lane >= lanes_of_case.size()) continue;
      CopyResults& one = of(lanes_of_case[sample.lane]);
      ++one.compared;
      if (sample.intact != 0) continue;
      ++one.wrong;
      one.wrong_of_several += several;
      const std::string sentence = payload_sentence(series.error);
      one.wrong_bytes = both_kinds(one.wrong_bytes, wrong_bytes_of(sentence));
      if (one.first_wrong.empty()) one.first_wrong = sentence;
    }
    // Nobody knows which of many lanes at once failed; and a second process may be why.
    constexpr std::size_t pair = 2;
    if (lanes_of_case.size() > pair || is_beside(series.question)) continue;
    for (std::uint32_t lane = 0; lane < lanes_of_case.size(); ++lane) {
      if (!lanes_of_case[lane].measured) continue;
      CopyResults& one = of(lanes_of_case[lane]);
      ++one.cases;
      const std::string failure = failure_to_measure(series, lane);
      if (failure.empty()) continue;
      ++one.failed;
      one.failed_of_several += several;
      if (one.first_failure.empty()) one.first_failure = failure;
    }
  }
  return all;
}

}  // namespace npgpu::model

#include "netpipe/model/matrix/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <vector>

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

// The innermost bridge that both are below; empty if there is none.
std::string common_bridge(const std::string& a, const std::string& b) {
  const auto one = bridges(a), other = bridges(b);
  std::string common;
  for (std::size_t i = 0; i < std::min(one.size(), other.size()) && one[i] == other[i]; ++i) common = one[i];
  return common;
}

// "0000:18:00.0 x18, switch x2": how many of them go to `bus`, or to a switch.
double links_to(const std::string& nvlinks_to, const std::string& bus) {
  double sum = 0;
  for (const std::string& to : {bus, std::string("switch")}) {
    const std::size_t at = to.empty() ? std::string::npos : nvlinks_to.find(to + " x");
    if (at != std::string::npos) sum += std::atof(nvlinks_to.c_str() + at + to.size() + 2);
  }
  return sum;
}

}  // namespace

Links::Links(const Trace& trace) {
  for (const auto& [group, facts] : trace.provenance) {
    const std::string id = text_fact(facts, "id");
    if (!group.starts_with("gpu") || group.find('_') != std::string::npos || id.empty()) continue;
    places_[id] = {.bus = text_fact(facts, "pci_bus_id"),
                   .path = text_fact(facts, "pci_path"),
                   .nvlinks_to = text_fact(facts, "nvlinks_to"),
                   .nvlink_version = text_fact(facts, "nvlink_version"),
                   .nvlinks = number_or(facts, "nvlinks", 0),
                   .node = number_or(facts, "numa_node", -1),
                   .host_nodes = numbers_in(text_fact(facts, "host_nodes"))};
  }
}

const Links::Place* Links::place(const std::string& device) const {
  const auto found = places_.find(device);
  return found == places_.end() ? nullptr : &found->second;
}

std::string Links::kind(const std::string& a, const std::string& b) const {
  const Place *one = place(a), *other = place(b);
  if (!one || !other) return "a link that the trace does not name";
  if (one->nvlinks > 0 && other->nvlinks > 0) {
    // NVML does not always say where they lead, or by names of a host's that a virtual machine does not know; then it
    // is all of them.
    const double direct = links_to(one->nvlinks_to, other->bus), count = direct > 0 ? direct : one->nvlinks;
    const std::string version =
        one->nvlink_version.empty() || one->nvlink_version == "unknown" ? "" : ' ' + one->nvlink_version;
    const bool leads_elsewhere = std::ranges::any_of(
        places_, [&](const auto& known) { return links_to(one->nvlinks_to, known.second.bus) > 0; });
    if (direct > 0 || !leads_elsewhere)
      return fmt::format("{:g} NVLinks{}{}", count, version,
                         one->nvlinks_to.find("switch") == std::string::npos ? "" : " through switches");
  }
  if (one->path.empty() || other->path.empty()) return "PCIe";
  if (one->path == other->path) return "PCIe within one switch";
  if (!common_bridge(one->path, other->path).empty()) return "PCIe over several switches";
  if (one->node >= 0 && other->node >= 0 && one->node != other->node) return "PCIe and the link between two sockets";
  return "PCIe over two root ports";
}

std::string Links::text(const std::string& a, const std::string& b) const {
  const std::string what = kind(a, b);
  const Place *one = place(a), *other = place(b);
  if (!one || !other || !what.starts_with("PCIe") || one->path.empty() || other->path.empty()) return what;
  if (one->path == other->path) return fmt::format("{} ({})", what, bridges(one->path).back());
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

}  // namespace npgpu::model

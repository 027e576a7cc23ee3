// What a node shares with others, as JSON: nothing in it says whose the node is.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "netpipe/report/json.hpp"
#include "npgpu/judge/overview.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

namespace {

// What says whose the node is.
std::vector<std::string> names_in(const Overview& all) {
  constexpr std::size_t tells_nothing = 3;  // characters
  std::vector<std::string> names{all.run.hostname, all.run.run_uuid};
  for (const DeviceOverview& gpu : all.gpus) names.push_back(gpu.uuid);
  for (const auto& [group, facts] : all.provenance)
    for (const char* fact : {"hostname", "uuid", "pci_bus_id", "serial", "peer_uuids"})
      names.push_back(text_fact(facts, fact));
  std::istringstream words(all.run.argv);
  for (std::string word; words >> word;)
    if (word.find('/') != std::string::npos) {
      std::istringstream parts(word);
      for (std::string part; std::getline(parts, part, '/');) names.push_back(part);
    }
  std::erase_if(names, [](const std::string& name) { return name.size() <= tells_nothing; });
  return names;
}

// The trace's own texts that are in the document.
std::vector<std::string> texts_in(const SharedNode& node) {
  std::vector<std::string> texts{node.tool_version, node.host_cpu};
  for (const SharedGpu& gpu : node.gpus) texts.insert(texts.end(), {gpu.name, gpu.driver});
  return texts;
}

}  // namespace

NPGPU_FORM(SharedFigure, &T::metric,
           called<"unit",
                  [](const T& figure) {
                    const auto metric = std::ranges::find(shared_metrics(), figure.metric, &SharedMetric::metric);
                    return metric == shared_metrics().end() ? std::string_view() : metric->unit;
                  }>,
           &T::value, &T::low, &T::high);
NPGPU_FORM(SharedGpu, &T::name, known<&T::link>, known<&T::driver>, &T::multiprocessors, &T::memory_bytes,
           &T::power_limit_w, &T::health, &T::figures);
NPGPU_FORM(SharedNode, called<"npgpu", &T::tool_version>, &T::month, known<&T::host_cpu>, &T::host_cores,
           called<"virtual_machine", &T::is_virtual>, &T::gpus);

void shared_json(std::ostream& out, const SharedNode& node, const Overview& of) {
  for (const std::string& name : names_in(of))
    for (const std::string& text : texts_in(node))
      if (text.find(name) != std::string::npos)
        throw Error(ErrorKind::failed, fmt::format("'{}' would be in what is shared: nothing is written", name));
  write_document(out, "npgpu-shared", 1, node);
}

}  // namespace npgpu

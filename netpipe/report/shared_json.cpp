#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "netpipe/report/json.hpp"
#include "npgpu/error.hpp"
#include "npgpu/shared.hpp"

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

// Of the trace's, what is in the document.
std::vector<std::string> texts_in(const SharedNode& node) {
  std::vector<std::string> texts{node.tool_version, node.host_cpu};
  for (const SharedGpu& gpu : node.gpus) texts.insert(texts.end(), {gpu.name, gpu.driver});
  return texts;
}

Json gpu_json(const SharedGpu& gpu) {
  Json one({entry("name", gpu.name), entry("link", or_null(gpu.link)), entry("driver", or_null(gpu.driver)),
            entry("multiprocessors", gpu.multiprocessors), entry("memory_bytes", gpu.memory_bytes),
            entry("power_limit_w", gpu.power_limit_w), entry("health", gpu.health)});
  one["figures"] = array_of(gpu.figures, [](const SharedFigure& figure) {
    const auto metric = std::ranges::find(shared_metrics(), figure.metric, &SharedMetric::metric);
    return Json({entry("metric", figure.metric), entry("unit", metric->unit), entry("value", figure.value),
                 entry("low", figure.low), entry("high", figure.high)});
  });
  return one;
}

}  // namespace

void shared_json(std::ostream& out, const SharedNode& node, const Overview& of) {
  Json all({entry("document", "npgpu-shared"), entry("version", 1), entry("npgpu", node.tool_version),
            entry("month", node.month), entry("host_cpu", or_null(node.host_cpu)), entry("host_cores", node.host_cores),
            entry("virtual_machine", node.is_virtual)});
  all["gpus"] = array_of(node.gpus, gpu_json);
  for (const std::string& name : names_in(of))
    for (const std::string& text : texts_in(node))
      if (text.find(name) != std::string::npos)
        throw Error(ErrorKind::failed, fmt::format("'{}' would be in what is shared: nothing is written", name));
  write_json(out, all, 1);
}

}  // namespace npgpu

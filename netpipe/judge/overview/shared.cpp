// What a node shares with others, and how it stands among them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/judge/health/metrics.hpp"
#include "npgpu/judge/overview.hpp"
#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

std::span<const SharedMetric> shared_metrics() {
  static const std::vector<SharedMetric> all = [] {
    std::vector<SharedMetric> some;
    for (const model::Metric& row : model::metrics())
      if (!row.title.empty()) some.push_back({row.name, row.title, row.unit});
    return some;
  }();
  return all;
}

namespace {

// Foreign text that stands for a product or a version: what such names are made of, and not longer than they are.
std::string product(const std::string& text) {
  constexpr std::size_t longest = 64;
  std::string clean;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) || std::string_view(" ()-+.@/_").find(c) != std::string_view::npos)
      clean += c;
  return clean.substr(0, longest);
}

SharedGpu gpu_of(const DeviceOverview& device, const std::vector<HealthFinding>& findings) {
  SharedGpu gpu;
  gpu.name = product(device.name);
  gpu.link = link_text(device.facts);
  gpu.driver = product(text_fact(device.facts, "driver_version"));
  gpu.multiprocessors = static_cast<std::int64_t>(std::fmax(0, number_fact(device.facts, "multiprocessors")));
  gpu.memory_bytes = static_cast<std::int64_t>(std::fmax(0, number_fact(device.facts, "memory_bytes")));
  gpu.power_limit_w = number_fact(device.facts, "power_limit_w");
  std::vector<HealthFinding> its;
  std::ranges::copy_if(findings, std::back_inserter(its),
                       [&](const HealthFinding& finding) { return finding.device == device.id; });
  gpu.health = worst_of(its);
  for (const SharedMetric& metric : shared_metrics())
    for (const HealthFinding& finding : its)
      if (finding.metric == metric.metric && std::isfinite(finding.value) && finding.value > 0) {
        gpu.figures.push_back({finding.metric, finding.value, finding.low, finding.high});
        break;
      }
  return gpu;
}

}  // namespace

std::string link_text(const Facts& facts) {
  const double generation = number_fact(facts, "max_pcie_generation"), lanes = number_fact(facts, "max_pcie_lanes");
  return generation > 0 && lanes > 0 ? fmt::format("PCIe Gen{:.0f} x{:.0f}", generation, lanes) : "";
}

SharedNode shared_of(const Overview& all) {
  SharedNode node;
  node.tool_version = product(all.run.tool_version);
  node.month = product(all.run.start_time_utc.substr(0, 7));
  const Facts host = facts_of(all.provenance, "host");
  node.host_cpu = product(text_fact(host, "cpu_model"));
  node.host_cores = static_cast<std::int64_t>(std::fmax(0, number_fact(host, "cores")));
  node.is_virtual = number_fact(host, "in_virtual_machine") > 0;
  for (const DeviceOverview& device : all.gpus)
    if (!device.simulated)
      if (SharedGpu gpu = gpu_of(device, all.health); !gpu.figures.empty()) node.gpus.push_back(std::move(gpu));
  if (node.gpus.empty()) throw Error(ErrorKind::usage, "the trace has no figure of a GPU that was measured");
  return node;
}

std::vector<AmongOthers> among_others(const Overview& all, std::span<const SharedNode> others) {
  std::vector<AmongOthers> found;
  for (const DeviceOverview& device : all.gpus) {
    if (device.simulated) continue;
    const SharedGpu own = gpu_of(device, all.health);
    AmongOthers one{.gpu = device.id, .name = own.name};
    for (const SharedFigure& figure : own.figures) {
      const auto metric = std::ranges::find(shared_metrics(), figure.metric, &SharedMetric::metric);
      AmongOthers::Row row{.metric = *metric, .own = figure};
      for (const SharedNode& node : others)
        for (const SharedGpu& gpu : node.gpus)
          if (gpu.name == own.name)
            for (const SharedFigure& its : gpu.figures)
              if (its.metric == figure.metric) row.others.push_back(its.value);
      std::ranges::sort(row.others);
      one.cards = std::max(one.cards, row.others.size());
      if (!row.others.empty()) one.rows.push_back(std::move(row));
    }
    if (!own.figures.empty()) found.push_back(std::move(one));
  }
  return found;
}

double AmongOthers::Row::typical() const { return median(others); }

}  // namespace npgpu

// What a node shares with others, and how it stands among them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

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

// Texts are shared by pattern, or not at all: what else stands in them may name somebody.

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// "0.2.0" of "0.2.0 (cfd95470afdd)", "580.159.04"; empty where it begins with no version. Four numbers may be an
// address.
std::string version_in(const std::string& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string version = text.substr(0, end);
  const auto dots = std::ranges::count(version, '.');
  constexpr std::size_t longest = 16;
  return dots >= 1 && dots <= 2 && version.size() <= longest && is_digit(version.back()) ? version : std::string();
}

// "2026-11" of "2026-11-22T15:47:02Z".
std::string month_in(const std::string& time) {
  constexpr std::string_view shape = "0000-00-";
  if (time.size() < shape.size()) return {};
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == '0' ? !is_digit(time[i]) : time[i] != shape[i]) return {};
  return time.substr(0, shape.size() - 1);
}

// "H200", "8480+", "A100-SXM4-80GB", "80GB": parts of at most three letters, five digits and three letters, and a digit
// in the first.
bool is_model(std::string_view word) {
  constexpr std::size_t most_parts = 4;
  std::size_t parts = 0;
  for (bool goes_on = true; goes_on;) {
    const std::string_view part = word.substr(0, word.find('-'));
    goes_on = part.size() < word.size();
    word.remove_prefix(std::min(part.size() + 1, word.size()));
    std::size_t at = 0;
    const auto run = [&](auto is, std::size_t most) {
      std::size_t count = 0;
      for (; at < part.size() && is(part[at]) && count < most; ++at) ++count;
      return count;
    };
    run(is_letter, 3);
    const std::size_t digits = run(is_digit, 5);
    run([](char c) { return is_letter(c) || c == '+'; }, 3);
    if (part.empty() || at != part.size() || (parts == 0 && digits == 0) || ++parts > most_parts) return false;
  }
  return true;
}

// A processor or a GPU by name: words that vendors use, models, "2.00GHz" and "1g.10gb".
std::string product(const std::string& text) {
  constexpr std::string_view words =
      " NVIDIA Tesla Quadro GeForce TITAN GTX RTX Ti SUPER Ada Generation Laptop Data Center GPU MIG PCIe SXM NVL HBM "
      "Grace Hopper Blackwell AMD EPYC Ryzen Threadripper Radeon Instinct PRO Pro Intel Intel(R) Xeon Xeon(R) Core(TM) "
      "Arc Max Platinum Gold Silver Bronze CPU Processor Ampere Altra ARM Arm Neoverse Graviton IBM Kunpeng Hygon VM "
      "@ ";
  const auto is_size = [](std::string_view word) {
    const std::size_t dot = word.find('.');
    return dot != word.npos && (word.ends_with("GHz") || word.ends_with("gb")) && is_model(word.substr(0, dot)) &&
           is_model(word.substr(dot + 1));
  };
  std::string all;
  std::istringstream of(text);
  for (std::string word; of >> word;) {
    if (word.ends_with(',')) word.pop_back();
    const bool is_core_count = word.ends_with("-Core") && is_model(word.substr(0, word.size() - 5));
    if (words.find(' ' + word + ' ') != words.npos || is_model(word) || is_size(word) || is_core_count)
      all += (all.empty() ? "" : " ") + word;
  }
  return all;
}

SharedGpu gpu_of(const DeviceOverview& device, const std::vector<HealthFinding>& findings) {
  SharedGpu gpu;
  gpu.name = product(device.name);
  gpu.link = link_text(device.facts);
  gpu.driver = version_in(text_fact(device.facts, "driver_version"));
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
  node.tool_version = version_in(all.run.tool_version);
  node.month = month_in(all.run.start_time_utc);
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

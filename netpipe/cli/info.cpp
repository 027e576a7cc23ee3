// npgpu info: this machine and its devices, as they describe themselves.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/provenance.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/error.hpp"
#include "npgpu/report.hpp"

namespace npgpu::cli {

namespace {

std::string text_of(const std::string& name, const Fact& fact) {
  struct {
    const std::string& name;
    std::string operator()(std::int64_t v) const {
      const bool bytes = name.size() > 6 && name.compare(name.size() - 6, 6, "_bytes") == 0;
      if (!bytes || v <= 0) return fmt::format("{}", v);
      // Beyond what is read at a glance, in GiB; --json has the bytes.
      return v >= 1 << 30 ? fmt::format("{:.2f} GiB", static_cast<double>(v) / static_cast<double>(GiB))
                          : size_text(static_cast<std::uint64_t>(v));
    }
    std::string operator()(double v) const { return fmt::format("{:.6g}", v); }
    std::string operator()(const std::string& v) const { return v.empty() ? "-" : v; }
  } visitor{name};
  return std::visit(visitor, fact);
}

nlohmann::ordered_json json_of(const Facts& facts) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [key, value] : facts) std::visit([&, &k = key](const auto& v) { object[k] = v; }, value);
  return object;
}

struct Section {
  std::string id;
  Facts facts;
};

Section section_of(const DeviceInfo& device) {
  Facts facts{{"name", device.name}};
  if (!device.uuid.empty()) facts.emplace_back("uuid", device.uuid);
  if (!device.pci_bus_id.empty()) facts.emplace_back("pci_bus_id", device.pci_bus_id);
  facts.emplace_back("numa_node",
                     device.numa_node < 0 ? Fact("unknown or only one") : Fact(std::int64_t{device.numa_node}));
  facts.emplace_back("memory_bytes", static_cast<std::int64_t>(device.memory_bytes));
  const auto limit = [&](const char* what, const Limit& l) {
    facts.emplace_back(what, std::isnan(l.per_s) ? l.source : rate_text(l.per_s) + " (" + l.source + ")");
  };
  if (device.id != "host") limit("link_limit", device.link);
  limit("memory_limit", device.memory);
  for (const auto& fact : device.facts) {
    const auto same = [&](const auto& have) { return have.first == fact.first; };
    if (std::none_of(facts.begin(), facts.end(), same)) facts.push_back(fact);
  }
  return {device.id, facts};
}

void declare(Options& options) {
  options.group("What is shown").add("device", {}, "Default: this machine and its GPUs.");
  options.group("Output").add("json");
}

int run_info(const Options& options) {
  std::vector<Section> sections;
  std::string without;
  if (const auto id = options.maybe("device")) {
    sections.push_back(section_of(devices::find(*id)));
  } else {
    sections.push_back({"npgpu", build_facts()});
    sections.push_back(section_of(devices::find("host")));
    const auto gpus = devices::gpus();
    for (const DeviceInfo& gpu : gpus) sections.push_back(section_of(gpu));
    if (gpus.empty()) without = devices::why_no_gpu();
  }

  if (options.on("json")) {
    nlohmann::ordered_json all;
    for (const Section& section : sections) all[section.id] = json_of(section.facts);
    if (!without.empty()) all["no_gpu"] = without;
    std::cout << all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    return exit_code::done;
  }
  constexpr std::size_t column = 31;
  const auto width = static_cast<std::size_t>(terminal_style().width);
  for (const Section& section : sections) {
    std::cout << section.id << '\n';
    for (const auto& [key, value] : section.facts) {
      const std::string line = fmt::format("  {:<{}} {}", key, column - 3, text_of(key, value));
      std::cout << line.substr(0, column)
                << wrapped(std::string(column, ' ') + line.substr(column), width, column).substr(column) << '\n';
    }
    std::cout << '\n';
  }
  if (!without.empty()) std::cout << wrapped("no GPU: " + without, width, 2) << '\n';
  return exit_code::done;
}

}  // namespace

Command info() {
  return {"info",
          "this machine and its devices, as they describe themselves",
          "Shows this machine and its devices: what drivers and system report of them.",
          {},
          {"npgpu info", "npgpu info --device cuda:0 --json"},
          declare,
          run_info};
}

}  // namespace npgpu::cli

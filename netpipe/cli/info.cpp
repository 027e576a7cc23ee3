// npgpu info: this machine and its devices, as they describe themselves, and the words that options take.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "netpipe/campaign/provenance.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/info_words.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/model/run_facts.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/layout.hpp"
#include "npgpu/error.hpp"
#include "npgpu/report.hpp"

namespace npgpu::cli {

namespace {

std::string text_of(const std::string& name, const Fact& fact) {
  if (const auto* bytes = std::get_if<std::int64_t>(&fact); bytes && name.ends_with("_bytes") && *bytes > 0)
    // Beyond what is read at a glance, in GiB; --json has the bytes.
    return *bytes >= 1 << 30 ? fmt::format("{:.2f} GiB", static_cast<double>(*bytes) / static_cast<double>(GiB))
                             : size_text(static_cast<std::uint64_t>(*bytes));
  const std::string text = fact_text(fact);
  return text.empty() ? "-" : text;
}

Provenance::value_type section_of(const DeviceInfo& device) {
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
  campaign::add_new(facts, device.facts);
  return {device.id, facts};
}

int run_info(const Options& options) {
  if (options.on("words") && !options.on("json")) {
    print_words(words_json());
    return exit_code::done;
  }
  Provenance sections;
  std::string without;
  if (const auto id = options.maybe("device")) {
    sections.push_back(section_of(devices::find(*id)));
  } else {
    sections.emplace_back("npgpu", campaign::build_facts());
    sections.push_back(section_of(devices::find("host")));
    const auto gpus = devices::gpus();
    for (const DeviceInfo& gpu : gpus) sections.push_back(section_of(gpu));
    for (const DeviceInfo& other : devices::list()) {
      const bool is_new = std::ranges::find(sections, other.id, &Provenance::value_type::first) == sections.end();
      if (is_new && !other.simulated) sections.push_back(section_of(other));
    }
    if (gpus.empty()) without = devices::why_no_gpu();
  }

  if (options.on("json")) {
    Json all{{"document", "npgpu-info"}, {"version", 1}};
    all.update(json_of(sections));
    if (!options.has("device")) all.update(words_json());
    if (!without.empty()) all["no_gpu"] = without;
    write_json(std::cout, all, 2);
    return exit_code::done;
  }
  constexpr std::size_t column = 31;
  const auto width = static_cast<std::size_t>(terminal_style().width);
  for (const auto& [id, facts] : sections) {
    std::cout << one_line(id) << '\n';
    for (const auto& [key, value] : facts) {
      const std::string label = fmt::format("  {:<{}} ", one_line(key), column - 3);
      std::cout << label << wrapped(text_of(key, value), width, column, label.size()) << '\n';
    }
    std::cout << '\n';
  }
  if (!without.empty()) std::cout << wrapped("no GPU: " + without, width, 2) << '\n';
  if (!options.has("device"))
    std::cout << wrapped("modules, probes, simulated devices, words of options: npgpu info --words", width, 2) << '\n';
  return exit_code::done;
}

}  // namespace

Command info() {
  return {"info",
          "this machine and its devices, and the words that options take",
          "Shows this machine and its devices: what drivers and system report of them. With --words it shows what "
          "measures each kind and whether it is usable here, the words that options take, and all devices, the "
          "simulated ones too. JSON has both.",
          {},
          {"npgpu info", "npgpu info --words", "npgpu info --device cuda:0 --json"},
          {{"What is shown", {Option("device", {}, "Default: this machine and all its devices."), "words"}},
           {"Output", {"json"}}},
          run_info};
}

const Joined<ListedCommand> listed_info({21, info});

}  // namespace npgpu::cli

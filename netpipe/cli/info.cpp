// npgpu info: this machine and its devices, as they describe themselves, and the words that options take.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "netpipe/campaign/provenance.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/options.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/model/run_facts.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/layout.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/trace.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

// Modules and probes are registered as what they are, jobs' backends as any other kind's.
template <class K> const auto& all_backends() { return backends<K>(); }
template <> const auto& all_backends<Transfers>() { return modules(); }
template <> const auto& all_backends<Probes>() { return probes(); }

std::string member_text(const Json& object, const char* key) { return object[key].get<std::string>(); }

// `kinds`: for each its backends, and the words that options of its command take. `missing`: what this build lacks.
// `devices`: all that can be named.
Json words_json() {
  std::map<std::string, std::string, std::less<>> why_not;  // by kind of device
  Json found = Json::array();
  for (const auto& family : devices::families()) {
    const auto some = family->list();
    if (some.empty()) why_not[std::string(family->kind())] = family->why_none();
    for (const DeviceInfo& device : some)
      found.push_back({entry("id", device.id), entry("name", device.name), entry("simulated", device.simulated)});
  }
  Json all;
  for_each_kind([&]<class K>() {
    Json& kind = all["kinds"][std::string(K::name)];
    kind["backends"] = Json::array();
    for (const auto& backend : all_backends<K>()) {
      const auto none = why_not.find(backend->device_kind());
      kind["backends"].push_back({entry("name", backend->name()), entry("device_kind", backend->device_kind()),
                                  entry("summary", backend->summary()), entry("usable", none == why_not.end()),
                                  entry("why_not", none == why_not.end() ? "" : none->second)});
    }
    for (const OptionGroup& group : command_named(std::string(K::command)).groups)
      for (const Option& option : group.options)
        if (const auto words = words_of(option); !words.empty() && !group.of_all) kind["words"][option.name] = words;
  });
  all["missing"] = Json::array();
  for (const MissingModule& missing : missing_modules())
    all["missing"].push_back({{"name", missing.name}, {"why_not", missing.reason}});
  all["devices"] = std::move(found);
  return all;
}

void print_words(const Json& all) {
  const auto width = static_cast<std::size_t>(terminal_style().width);
  const auto print = [&](const std::string& label, const std::string& what, std::size_t hanging) {
    std::cout << label << wrapped(what, width, hanging, label.size()) << '\n';
  };
  for_each_kind([&]<class K>() {
    const Json& kind = all.at("kinds").at(std::string(K::name));
    std::cout << K::name << '\n';
    for (const Json& backend : kind["backends"]) {
      print(fmt::format("  {:<12} {:<6} ", member_text(backend, "name"), member_text(backend, "device_kind")),
            member_text(backend, "summary"), 22);
      if (!backend["usable"]) print(std::string(22, ' '), "not usable here: " + member_text(backend, "why_not"), 22);
    }
    if (kind.contains("words"))
      for (const auto& [word, choices] : kind["words"].items())
        print(fmt::format("  {:<12} ", word + ':'),
              fmt::format("{}", fmt::join(choices.template get<std::vector<std::string>>(), " ")), 15);
    std::cout << '\n';
  });
  for (const Json& missing : all["missing"])
    print("not in this build: ", member_text(missing, "name") + ' ' + member_text(missing, "why_not"), 2);
  std::cout << "devices\n";
  for (const Json& device : all["devices"])
    print(fmt::format("  {:<18} ", one_line(member_text(device, "id"))),
          member_text(device, "name") + (device["simulated"] ? " (SIMULATED)" : ""), 21);
}

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

const Joined<ListedCommand> listed_info({Asks::able, 10, info});

}  // namespace npgpu::cli

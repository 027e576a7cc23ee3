// npgpu list: the words that options take, and which of them work here.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/glossary.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/layout.hpp"
#include "npgpu/error.hpp"
#include "npgpu/kinds.hpp"
#include "npgpu/module.hpp"

namespace npgpu::cli {

namespace {

template <class E> std::vector<std::string> words_of() { return {names_of<E>.begin(), names_of<E>.end()}; }
template <> std::vector<std::string> words_of<Call>() { return call_words(); }

// Modules and probes are registered as what they are, jobs' backends as any other kind's.
template <class K> const auto& all_backends() { return backends<K>(); }
template <> const auto& all_backends<Transfers>() { return modules(); }
template <> const auto& all_backends<Probes>() { return probes(); }

// The command that measures a kind.
template <class K> constexpr const char* command_of = nullptr;
template <> constexpr const char* command_of<Transfers> = "transfer";
template <> constexpr const char* command_of<Probes> = "probe";
template <> constexpr const char* command_of<Jobs> = "streams";
template <> constexpr const char* command_of<Calls> = "calls";
template <> constexpr const char* command_of<Partitions> = "partition";
template <> constexpr const char* command_of<Energies> = "energy";

bool has_option(const Command& command, std::string_view name) {
  return std::ranges::any_of(command.groups, [&](const OptionGroup& group) {
    return std::ranges::find(group.options, name, &Option::name) != group.options.end();
  });
}

// Of each kind its backends, and the words that options of its command take; then the devices.
Json everything() {
  std::map<std::string, std::string, std::less<>> why_not;  // by kind of device
  Json found = Json::array();
  for (const auto& family : devices::families()) {
    const auto some = family->list();
    if (some.empty()) why_not[std::string(family->kind())] = family->why_none();
    for (const DeviceInfo& device : some)
      found.push_back({entry("id", device.id), entry("name", device.name), entry("simulated", device.simulated)});
  }
  Json all{{"document", "npgpu-list"}, {"version", 1}};
  for_each_kind([&]<class K>() {
    Json& kind = all[std::string(K::name)];
    kind["backends"] = Json::array();
    for (const auto& backend : all_backends<K>()) {
      const auto none = why_not.find(backend->device_kind());
      kind["backends"].push_back({entry("name", backend->name()), entry("device_kind", backend->device_kind()),
                                  entry("summary", backend->summary()), entry("usable", none == why_not.end()),
                                  entry("why_not", none == why_not.end() ? "" : none->second)});
    }
    const typename K::Case question{};
    visit_fields(question, [&](const FieldInfo& field, const auto& member) {
      using E = std::remove_cvref_t<decltype(member)>;
      if constexpr (std::is_enum_v<E>)
        if (has_option(command_named(command_of<K>), field.name))
          kind["words"][std::string(field.name)] = words_of<E>();
    });
  });
  all["missing"] = Json::array();
  for (const MissingModule& missing : missing_modules())
    all["missing"].push_back({{"name", missing.name}, {"why_not", missing.reason}});
  all["devices"] = std::move(found);
  return all;
}

std::string text(const Json& object, const char* key) { return object[key].get<std::string>(); }

void print_text(const Json& all) {
  const auto width = static_cast<std::size_t>(terminal_style().width);
  const auto print = [&](const std::string& label, const std::string& what, std::size_t hanging) {
    std::cout << label << wrapped(what, width, hanging, label.size()) << '\n';
  };
  for_each_kind([&]<class K>() {
    const Json& kind = all.at(std::string(K::name));
    std::cout << K::name << '\n';
    for (const Json& backend : kind["backends"]) {
      print(fmt::format("  {:<12} {:<5} ", text(backend, "name"), text(backend, "device_kind")),
            text(backend, "summary"), 21);
      if (!backend["usable"]) print(std::string(21, ' '), "not usable here: " + text(backend, "why_not"), 21);
    }
    if (kind.contains("words"))
      for (const auto& [word, choices] : kind["words"].items())
        print(fmt::format("  {:<12} ", word + ':'),
              fmt::format("{}", fmt::join(choices.template get<std::vector<std::string>>(), " ")), 15);
    std::cout << '\n';
  });
  for (const Json& missing : all["missing"])
    print("not in this build: ", text(missing, "name") + ' ' + text(missing, "why_not"), 2);
  std::cout << "devices\n";
  for (const Json& device : all["devices"])
    print(fmt::format("  {:<18} ", one_line(text(device, "id"))),
          text(device, "name") + (device["simulated"] ? " (SIMULATED)" : ""), 21);
}

int run_list(const Options& options) {
  const Json all = everything();
  if (options.on("json")) write_json(std::cout, all, 2);
  else print_text(all);
  return exit_code::done;
}

}  // namespace

Command list() {
  return {"list",
          "modules, probes, devices and the words that options take",
          "Lists what measures each kind and whether it is usable here, the words that options take, and the devices.",
          {},
          {"npgpu list", "npgpu list --json"},
          {{"Output", {"json"}}},
          run_list};
}

}  // namespace npgpu::cli

#include "netpipe/cli/info_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/option_words.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/report/layout.hpp"
#include "npgpu/kinds.hpp"
#include "npgpu/module.hpp"

namespace npgpu::cli {

namespace {

// Modules and probes are registered as what they are, jobs' backends as any other kind's.
template <class K> const auto& all_backends() { return backends<K>(); }
template <> const auto& all_backends<Transfers>() { return modules(); }
template <> const auto& all_backends<Probes>() { return probes(); }

std::string text(const Json& object, const char* key) { return object[key].get<std::string>(); }

}  // namespace

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
      print(fmt::format("  {:<12} {:<6} ", text(backend, "name"), text(backend, "device_kind")),
            text(backend, "summary"), 22);
      if (!backend["usable"]) print(std::string(22, ' '), "not usable here: " + text(backend, "why_not"), 22);
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

}  // namespace npgpu::cli

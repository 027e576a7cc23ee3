// npgpu list: the words that options take, and which of them work here.
#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/error.hpp"
#include "npgpu/kinds.hpp"
#include "npgpu/module.hpp"

namespace npgpu::cli {

namespace {

using Json = nlohmann::ordered_json;

// Modules and probes are registered as what they are, jobs' backends as any other kind's.
template <class K> const auto& all_backends() { return backends<K>(); }
template <> const auto& all_backends<Transfers>() { return modules(); }
template <> const auto& all_backends<Probes>() { return probes(); }

// Of each kind its backends, and the words of its case; then the devices.
Json everything() {
  std::map<std::string, std::string, std::less<>> why_not;  // by kind of device
  Json found = Json::array();
  for (const auto& family : devices::families()) {
    const auto some = family->list();
    if (some.empty()) why_not[std::string(family->kind())] = family->why_none();
    for (const DeviceInfo& device : some)
      found.push_back({{"id", device.id}, {"name", device.name}, {"simulated", device.simulated}});
  }
  Json all;
  for_each_kind([&]<class K>() {
    Json& kind = all[std::string(K::name)];
    kind["backends"] = Json::array();
    for (const auto& backend : all_backends<K>()) {
      const auto none = why_not.find(backend->device_kind());
      kind["backends"].push_back({{"name", backend->name()},
                                  {"device_kind", backend->device_kind()},
                                  {"summary", backend->summary()},
                                  {"usable", none == why_not.end()},
                                  {"why_not", none == why_not.end() ? "" : none->second}});
    }
    const typename K::Case question{};
    visit_fields(question, [&](const FieldInfo& field, const auto& member) {
      using E = std::remove_cvref_t<decltype(member)>;
      if constexpr (std::is_enum_v<E>) kind["words"][std::string(field.name)] = names_of<E>;
    });
  });
  all["missing"] = Json::array();
  for (const MissingModule& missing : missing_modules())
    all["missing"].push_back({{"name", missing.name}, {"why_not", missing.reason}});
  all["devices"] = std::move(found);
  return all;
}

void print_text(const Json& all) {
  const auto width = static_cast<std::size_t>(terminal_style().width);
  const auto print = [&](const std::string& line, std::size_t indent) {
    std::cout << wrapped(line, width, indent) << '\n';
  };
  for_each_kind([&]<class K>() {
    const Json& kind = all.at(std::string(K::name));
    std::cout << K::name << '\n';
    for (const Json& backend : kind["backends"]) {
      print(fmt::format("  {:<12} {:<5} {}", backend["name"].get<std::string>(),
                        backend["device_kind"].get<std::string>(), backend["summary"].get<std::string>()),
            21);
      if (!backend["usable"])
        print(fmt::format("  {:<18} not usable here: {}", "", backend["why_not"].get<std::string>()), 21);
    }
    for (const auto& [word, choices] : kind["words"].items()) {
      std::string line = fmt::format("  {:<12}", word + ':');
      for (const Json& choice : choices) line += ' ' + choice.get<std::string>();
      print(line, 15);
    }
    std::cout << '\n';
  });
  for (const Json& missing : all["missing"])
    print(fmt::format("not in this build: {} {}", missing["name"].get<std::string>(),
                      missing["why_not"].get<std::string>()),
          2);
  std::cout << "devices\n";
  for (const Json& device : all["devices"])
    print(fmt::format("  {:<18} {}{}", device["id"].get<std::string>(), device["name"].get<std::string>(),
                      device["simulated"] ? " (SIMULATED)" : ""),
          21);
}

void declare(Options& options) { options.group("Output").add("json"); }

int run_list(const Options& options) {
  const Json all = everything();
  if (options.on("json")) std::cout << all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
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
          declare,
          run_list};
}

}  // namespace npgpu::cli

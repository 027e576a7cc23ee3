// npgpu list: the words that options take, and which of them work here.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/options.hpp"
#include "npgpu/error.hpp"
#include "npgpu/module.hpp"
#include "npgpu/job.hpp"
#include "npgpu/probe.hpp"

namespace npgpu::cli {

namespace {

std::vector<DeviceInfo> all_devices() {
  std::vector<DeviceInfo> all;
  for (const auto& module : modules())
    for (DeviceInfo& device : module->devices()) {
      const auto same = [&](const DeviceInfo& have) { return have.id == device.id; };
      if (std::none_of(all.begin(), all.end(), same)) all.push_back(std::move(device));
    }
  return all;
}

void list_json() {
  nlohmann::ordered_json all;
  all["modules"] = nlohmann::ordered_json::array();
  for (const auto& module : modules())
    all["modules"].push_back({{"name", module->name()},
                              {"summary", module->summary()},
                              {"built", true},
                              {"usable", !module->devices().empty()},
                              {"why_not", module->devices().empty() ? module->why_none() : ""}});
  for (const MissingModule& missing : missing_modules())
    all["modules"].push_back(
        {{"name", missing.name}, {"summary", ""}, {"built", false}, {"usable", false}, {"why_not", missing.reason}});
  all["devices"] = nlohmann::ordered_json::array();
  for (const DeviceInfo& device : all_devices())
    all["devices"].push_back({{"id", device.id}, {"name", device.name}, {"simulated", device.simulated}});
  all["probes"] = nlohmann::ordered_json::array();
  for (const auto& probe : probes())
    all["probes"].push_back({{"name", probe->name()}, {"kind", probe->kind()}, {"summary", probe->summary()}});
  all["patterns"] = names_of<Pattern>;
  all["directions"] = names_of<Direction>;
  all["memories"] = names_of<Memory>;
  all["timings"] = names_of<Timing>;
  all["caches"] = names_of<Cache>;
  all["operations"] = names_of<Operation>;
  all["types"] = names_of<DataType>;
  all["forms"] = names_of<Form>;
  all["kernels"] = names_of<Workload>;
  all["orders"] = names_of<Order>;
  all["pools"] = names_of<StreamPool>;
  std::cout << all.dump(2) << '\n';
}

void list_text() {
  std::cout << "modules\n";
  for (const auto& module : modules()) {
    std::cout << fmt::format("  {:<12} {}\n", module->name(), module->summary());
    if (module->devices().empty()) std::cout << fmt::format("  {:<12} not usable here: {}\n", "", module->why_none());
  }
  for (const MissingModule& missing : missing_modules())
    std::cout << fmt::format("  {:<12} not in this build: {}\n", missing.name, missing.reason);
  std::cout << "\nprobes\n";
  for (const auto& probe : probes())
    std::cout << fmt::format("  {:<12} {:<5} {}\n", probe->name(), probe->kind(), probe->summary());
  std::cout << "\ndevices\n";
  for (const DeviceInfo& device : all_devices())
    std::cout << fmt::format("  {:<20} {}{}\n", device.id, device.name, device.simulated ? " (SIMULATED)" : "");
  std::cout << fmt::format("\npatterns    {}\ndirections  {}\nmemories    {}\ntimings     {}\ncaches      {}\n"
                           "operations  {}\ntypes       {}\nforms       {}\nkernels     {}\norders      {}\npools       {}\n",
                           choices<Pattern>(), choices<Direction>(), choices<Memory>(), choices<Timing>(),
                           choices<Cache>(), choices<Operation>(), choices<DataType>(), choices<Form>(),
                           choices<Workload>(), choices<Order>(), choices<StreamPool>());
}

}  // namespace

int list(const Arguments& arguments) {
  Options options("list", "npgpu list [options]", "Lists modules, devices and the words that options take.");
  options.group("How").add_options()("json", po::bool_switch(), "as JSON");
  if (!options.read(arguments)) return exit_code::done;
  options.on("json") ? list_json() : list_text();
  return exit_code::done;
}

}  // namespace npgpu::cli

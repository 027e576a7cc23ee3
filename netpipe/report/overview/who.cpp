// Where a trace was taken, in two lines.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "netpipe/engine/saturated.hpp"
#include "netpipe/model/run_facts.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/overview/sections.hpp"
#include "netpipe/report/series_text.hpp"
#include "npgpu/shared.hpp"

namespace npgpu {

namespace {

std::string fact_of(const Facts& facts, std::string_view name) {
  const Fact* const fact = find_fact(facts, name);
  return fact ? fact_text(*fact) : std::string();
}

struct Items {
  std::vector<std::string> all{};

  // "before VALUE behind", if there is a value.
  void add(const std::string& value, const char* before = "", const char* behind = "") {
    if (!value.empty() && value != "nan") all.push_back(before + value + behind);
  }
  void add_count(double value, std::string_view what) {
    if (value > 0) all.push_back(counted(saturated<std::size_t>(value), what));
  }
};

std::string memory_of_device(const Facts& facts) {
  const double bytes = number_fact(facts, "memory_bytes");
  return bytes > 0 ? about_size_text(bytes) : std::string();
}

// The host of a rank is measured as a device is.
std::string label_of(const DeviceOverview& device) { return device.id.starts_with("host@") ? "rank" : "gpu"; }

std::vector<std::string> gpu_items(const DeviceOverview& device) {
  Items items;
  items.add(device.id);
  const Facts& facts = device.facts;
  const double units = number_fact(facts, "multiprocessors");
  items.add_count(units > 0 ? units : number_fact(facts, "sms"), "SM");
  items.add(memory_of_device(facts));
  items.add(link_text(facts));
  items.add(fact_of(facts, "driver_version"), "driver ");
  items.add(fact_of(facts, "cuda_runtime"), "CUDA ");
  items.add(fact_of(facts, "power_limit_w"), "power limit ", " W");
  return items.all;
}

std::vector<std::string> host_items(const Facts& facts) {
  Items items;
  items.add(fact_of(facts, "cpu_model"));
  if (fact_of(facts, "in_virtual_machine") == "1") items.add("VM");
  if (number_fact(facts, "sockets") > 1) items.add_count(number_fact(facts, "sockets"), "socket");
  items.add_count(number_fact(facts, "cores"), "core");
  items.add(fact_of(facts, "cpu_quota"), "CPU quota ");
  if (number_fact(facts, "numa_nodes") > 1) items.add_count(number_fact(facts, "numa_nodes"), "NUMA node");
  items.add(memory_of_device(facts));
  items.add(fact_of(facts, "kernel"));
  return items.all;
}

std::string clock_text_of(double seconds) {
  const auto s = saturated<long>(std::round(seconds));
  return s >= 3600 ? fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
                   : fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace

bool is_simulated(const Overview& all) {
  return std::ranges::any_of(all.gpus, &DeviceOverview::simulated) || (all.host && all.host->simulated);
}

std::string headline_of(const Overview& all) {
  std::vector<std::pair<std::string, std::size_t>> models;  // in order, with their number
  bool every_simulated = !all.gpus.empty();
  std::set<std::string> cards;  // by UUID: one may be a device of two families
  for (const DeviceOverview& gpu : all.gpus) {
    every_simulated &= gpu.simulated;
    if (!gpu.uuid.empty() && !cards.insert(gpu.uuid).second) continue;
    std::string called = gpu.name.empty() ? gpu.id : gpu.name;
    if (gpu.simulated && !called.starts_with("sim")) called += " (" + gpu.id + ')';
    const auto known = std::ranges::find(models, called, &std::pair<std::string, std::size_t>::first);
    if (known == models.end()) models.emplace_back(called, 1);
    else ++known->second;
  }
  std::string what;
  for (const auto& [called, count] : models)
    what += (what.empty() ? "" : ", ") + (count > 1 ? fmt::format("{} x {}", count, called) : called);
  if (all.gpus.empty()) what = all.host && !all.host->name.empty() ? all.host->name : "nothing was measured";
  if (every_simulated) return "SIMULATED " + what + ": no measurement of hardware";
  if (is_simulated(all)) what += " (some of it SIMULATED)";
  if (all.gpus.empty() && all.host) what += " (no GPU was measured)";
  return what + (all.run.hostname.empty() ? "" : " on " + all.run.hostname);
}

std::string run_text(const Overview& all) {
  std::vector<std::string> parts;
  std::string when = all.run.start_time_utc.substr(0, 16);
  if (when.size() == 16 && when[10] == 'T') when[10] = ' ';
  if (!when.empty()) parts.push_back(when + " UTC");
  if (all.seconds > 0) parts.push_back("took " + clock_text_of(all.seconds));
  if (!all.run.tool_version.empty())
    parts.push_back("npgpu " + all.run.tool_version +
                    (all.run.git_commit.empty() ? "" : " (" + all.run.git_commit + ')'));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<Entry> who_of(const Overview& all) {
  std::vector<Entry> entries;
  // Eight GPUs of a node differ in little but their address, which the table of GPUs has.
  if (all.gpus.size() == 1) {
    entries.push_back({label_of(all.gpus.front()), gpu_items(all.gpus.front())});
  } else {
    std::set<std::vector<std::string>> said;
    for (const DeviceOverview& gpu : all.gpus) {
      DeviceOverview plain = gpu;
      plain.id = gpu.name;
      if (const auto items = gpu_items(plain); said.insert(items).second) entries.push_back({label_of(gpu), items});
    }
  }
  if (auto items = host_items(facts_of(all.provenance, "host")); !items.empty())
    entries.push_back({"host", std::move(items)});
  return entries;
}

}  // namespace npgpu

#include "netpipe/cli/plan_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "netpipe/campaign/guess.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/suggestion.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/cli/transfer_sizes.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/layout.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

std::string memory_text(std::uint64_t bytes) {
  return bytes ? fmt::format("{:.0f} MiB", std::ceil(static_cast<double>(bytes) / static_cast<double>(MiB))) : "-";
}

template <class K> Seconds time_of(const Batch<K>& batch, const MeasureOptions& options) {
  const Repetition how = campaign::repetition_of(batch, options);
  Seconds sum = campaign::guess_set_up(batch) * how.rounds;
  for (const Step<K>& step : batch.steps) sum += campaign::guess(batch, step, how);
  return sum;
}

}  // namespace

std::string plan_text(const Plan& plan, const MeasureOptions& options, std::size_t width) {
  const std::size_t titles = width - 42;
  const auto row = [&](const std::string& what, const auto& points, const std::string& time, const std::string& host,
                       const std::string& device) {
    return fmt::format("{:<{}} {:>6} {:>9} {:>11} {:>11}\n", cut_to(what, titles), titles, points, time, host, device);
  };
  std::string text = row("what", "points", "about", "host mem", "device mem");
  for_each_kind([&]<class K>() {
    for (const Batch<K>& batch : plan.of<K>())
      text += row(title_of(batch), batch.steps.size(), fmt::format("{:.1f} s", time_of(batch, options).count()),
                  memory_text(batch.need.host_bytes), memory_text(batch.need.device_bytes));
  });
  text += fmt::format("{}, {}, about {:.0f} s\n", counted(plan.cases(), "case"), counted(plan.points(), "point"),
                      guess(plan, options).count());
  for_each_kind([&]<class K>() {
    if (!plan.of<K>().empty())
      text += wrapped(fmt::format("schedule of {}: {}", K::name,
                                  campaign::repetition_of(plan.of<K>().front(), options).schedule()->text()),
                      width, 2) +
              '\n';
  });
  for (const std::string& why : plan.left_out) text += wrapped("left out: " + why, width, 2) + '\n';
  return text;
}

void plan_json(std::ostream& out, const Plan& plan, const MeasureOptions& options) {
  Json all{{"document", "npgpu-plan"}, {"version", 1}};
  for_each_kind([&]<class K>() {
    Json& batches = all[std::string(K::name)] = Json::array();
    for (const Batch<K>& batch : plan.of<K>()) {
      Json points = Json::array();
      for (const Step<K>& step : batch.steps) points.push_back(text_of(step.axes));
      batches.push_back({entry("title", title_of(batch)), entry("device", batch.device.id),
                         entry("schedule", campaign::repetition_of(batch, options).schedule()->text()),
                         entry("about_s", time_of(batch, options).count()), entry("host_bytes", batch.need.host_bytes),
                         entry("device_bytes", batch.need.device_bytes), entry("points", points)});
    }
  });
  all["about_s"] = guess(plan, options).count();
  all["left_out"] = plan.left_out;
  write_json(out, all, 2);
}

std::vector<std::string> gpu_ids(const Options& options, const std::string& what) {
  const auto given = options.maybe("device");
  if (!given && devices::gpus().empty())
    throw Error(ErrorKind::nothing, what + " need a GPU: " + devices::why_no_gpu());
  return split_names("device", given.value_or(devices::default_device()));
}

std::vector<DeviceInfo> devices_named(const std::string& list) {
  std::vector<DeviceInfo> all;
  for (const std::string& id : split_names("device", list)) {
    const std::vector<std::string> node = devices::node(id);
    if (std::ranges::find(node, id) != node.end()) all.push_back(devices::find(id));
    else  // the name of a node
      for (const std::string& one : node) all.push_back(devices::find(one));
  }
  return all;
}

void refuse_targets_without_peers(const Options& options) {
  const auto directions = names_or(options, "direction", Direction::h2d);
  if (options.has("to") && std::ranges::find(directions, Direction::peer) == directions.end())
    throw Error(ErrorKind::usage, "--to: only copies between devices go to another one: --direction peer");
}

std::vector<std::string> targets_of(const Options& options, const std::string& source) {
  if (const auto named = options.maybe("to")) return split_names("to", *named);
  std::vector<std::string> all = devices::node(source);
  std::erase(all, source);
  if (all.empty()) throw Error(ErrorKind::nothing, "--direction peer needs two GPUs, and there is none but " + source);
  return all;
}

const Module& module_named(const std::string& name) {
  if (const Module* module = find_module(name)) return *module;
  for (const MissingModule& missing : missing_modules())
    if (missing.name == name)
      throw Error(ErrorKind::usage, fmt::format("--module: {} is not in this build: it {}", name, missing.reason));
  std::vector<std::string> names;
  for (const auto& module : modules()) names.emplace_back(module->name());
  refuse_word("module", name, names);
}

}  // namespace npgpu::cli

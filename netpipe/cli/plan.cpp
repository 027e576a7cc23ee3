#include "netpipe/cli/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/layout.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

// Which options make a kind need less memory.
template <class K> constexpr std::string_view smaller = "measure smaller sizes";
template <> constexpr std::string_view smaller<Transfers> = "lower --end or --sizes";
template <> constexpr std::string_view smaller<Probes> = "lower bytes in --shape";
template <> constexpr std::string_view smaller<Jobs> = "lower --bytes-in or --bytes-out";
template <> constexpr std::string_view smaller<Partitions> = "lower --size";

template <class K> std::string title_of(const Batch<K>& batch) {
  const auto cases = batch.cases();
  return cases.size() == 1 ? title(*cases.begin()) : fmt::format("{} {}", K::name, batch.device.id);
}

// Why these do not fit into what is free now; nothing if they do.
template <class K> std::optional<std::string> too_large(const Batch<K>& batch) {
  const MemoryNeed free = batch.backend->available(batch.steps.front().question);
  for (const auto& [where, need, have] : {std::tuple{"host", batch.need.host_bytes, free.host_bytes},
                                          std::tuple{"device", batch.need.device_bytes, free.device_bytes}})
    if (need > have)
      return fmt::format("{}: needs {} of {} memory, and {} are free: {}", title_of(batch), size_text(need), where,
                         size_text(have), smaller<K>);
  return std::nullopt;
}

std::string memory_text(std::uint64_t bytes) {
  return bytes ? fmt::format("{:.0f} MiB", std::ceil(static_cast<double>(bytes) / static_cast<double>(MiB))) : "-";
}

template <class K> Seconds time_of(const Batch<K>& batch, const MeasureOptions& options) {
  const Repetition how = repetition_of(batch, options);
  Seconds sum = guess_set_up(batch) * how.rounds;
  for (const Step<K>& step : batch.steps) sum += guess(batch, step, how);
  return sum;
}

}  // namespace

std::vector<DeviceInfo> Plan::devices() const {
  std::vector<DeviceInfo> all;
  for_each_kind([&]<class K>() {
    for (const Batch<K>& batch : of<K>()) {
      if (std::ranges::find(all, batch.device.id, &DeviceInfo::id) == all.end()) all.push_back(batch.device);
      if constexpr (std::is_same_v<K, Transfers>)
        for (const TransferCase& c : batch.cases()) {
          if (is_between_ranks(c)) continue;  // the batch's device is this rank's end
          for (const std::string& id : devices_of(c))
            if (std::ranges::find(all, id, &DeviceInfo::id) == all.end()) all.push_back(devices::find(id));
        }
    }
  });
  return all;
}

bool Plan::is_of_node() const {
  std::size_t several = 0;
  for (const Batch<Transfers>& batch : of<Transfers>())
    for (const TransferCase& c : batch.cases()) several += devices_of(c).size() > 1;
  constexpr std::size_t a_screen = 20;
  return several > 1 && cases() > a_screen;
}

bool Plan::stands_begin_anew() const {
  bool all = true;
  for_each_kind([&]<class K>() {
    for (const Batch<K>& batch : of<K>()) all = all && batch.backend->stands_begin_anew();
  });
  return all;
}

std::size_t Plan::points() const {
  std::size_t sum = 0;
  for_each_kind([&]<class K>() {
    for (const Batch<K>& batch : of<K>()) sum += batch.steps.size();
  });
  return sum;
}

std::size_t Plan::cases() const {
  std::size_t sum = 0;
  for_each_kind([&]<class K>() {
    for (const Batch<K>& batch : of<K>()) sum += batch.cases().size();
  });
  return sum;
}

template <class K>
void add(Plan& plan, const Backend<K>& backend, const DeviceInfo& device, const std::vector<Step<K>>& steps,
         Seconds least_trial) {
  struct Refused {
    std::string why;
    typename K::Case first;
    std::size_t points = 0;
  };
  std::vector<Refused> refused;
  Batch<K> batch{&backend, device, {}, {}, least_trial};
  for (const Step<K>& step : steps) {
    const auto why = backend.refuses(step);
    if (!why) {
      batch.steps.push_back(step);
      continue;
    }
    auto same = std::ranges::find(refused, *why, &Refused::why);
    if (same == refused.end()) same = refused.insert(same, {*why, step.question});
    ++same->points;
  }
  for (const Refused& r : refused)
    plan.left_out.push_back(
        fmt::format("{}: {}{}", title(r.first), r.why,
                    r.points > 1 && r.points < steps.size() ? fmt::format(" (and {} more points)", r.points - 1) : ""));
  if (batch.steps.empty()) return;
  batch.need = backend.needs(batch.steps);
  if (const auto why = too_large(batch)) plan.left_out.push_back(*why);
  else plan.of<K>().push_back(std::move(batch));
}

std::vector<TransferSize> axes_of(const std::vector<std::uint64_t>& sizes) {
  std::vector<TransferSize> axes;
  for (const std::uint64_t bytes : sizes) axes.push_back({bytes});
  return axes;
}

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
  text +=
      fmt::format("{} cases, {} points, about {:.0f} s\n", plan.cases(), plan.points(), guess(plan, options).count());
  for_each_kind([&]<class K>() {
    if (!plan.of<K>().empty())
      text += wrapped(fmt::format("schedule of {}: {}", K::name,
                                  repetition_of(plan.of<K>().front(), options).schedule()->text()),
                      width, 2) +
              '\n';
  });
  for (const std::string& why : plan.left_out) text += wrapped("left out: " + why, width, 2) + '\n';
  return text;
}

void plan_json(std::ostream& out, const Plan& plan, const MeasureOptions& options) {
  Json all;
  for_each_kind([&]<class K>() {
    Json& batches = all[std::string(K::name)] = Json::array();
    for (const Batch<K>& batch : plan.of<K>()) {
      Json points = Json::array();
      for (const Step<K>& step : batch.steps) points.push_back(text_of(step.axes));
      batches.push_back({entry("title", title_of(batch)), entry("device", batch.device.id),
                         entry("schedule", repetition_of(batch, options).schedule()->text()),
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
  return split_words("device", given.value_or(devices::default_device()));
}

const Module& module_named(const std::string& name) {
  if (const Module* module = find_module(name)) return *module;
  for (const MissingModule& missing : missing_modules())
    if (missing.name == name)
      throw Error(ErrorKind::usage, fmt::format("--module: {} is not in this build: it {}", name, missing.reason));
  std::vector<std::string> names;
  for (const auto& module : modules()) names.emplace_back(module->name());
  throw Error(ErrorKind::usage, fmt::format("--module: '{}' is no module; there are {}", name, fmt::join(names, ", ")));
}

const Module& default_module(const DeviceInfo& device, Executor executor) {
  const std::string_view kind = devices::kind_of(device.id);
  const auto all = reaching(modules(), kind);
  if (all.empty()) throw Error(ErrorKind::nothing, fmt::format("no module of this build moves bytes on {}", device.id));
  if (executor == Executor::sm_kernel)
    for (const Module* module : all)
      if (module->executor() == executor) return *module;
  // The runtime API is what most programs use.
  const auto usual = std::ranges::find(all, "cudaMemcpy", &Module::name);
  return usual == all.end() ? *all.front() : **usual;
}

namespace {

// One instance for each kind of the list.
template <class... Ks> constexpr auto instances_for(List<Ks...>) { return std::tuple{&add<Ks>...}; }
[[maybe_unused, gnu::used]] const auto instances = instances_for(Kinds{});

}  // namespace

}  // namespace npgpu::cli

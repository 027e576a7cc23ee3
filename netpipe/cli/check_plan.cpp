#include "netpipe/cli/check_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "netpipe/cli/matrix.hpp"
#include "netpipe/engine/algorithms.hpp"
#include "netpipe/engine/copy_cases.hpp"
#include "netpipe/files/input.hpp"
#include "netpipe/report/json.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/questions.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

// A trace is a plain file; of a pipe only JSON comes.
bool is_json(const std::string& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (!std::filesystem::is_regular_file(status)) return std::filesystem::exists(status);
  std::ifstream file(path);
  char first = 0;
  return file >> first && first == '{';
}

// What nvbandwidth prints for people has no figure that can be read surely.
void refuse_text_of_nvbandwidth(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return;
  constexpr std::string_view first_words = "nvbandwidth Version";
  std::string begin(first_words.size(), '\0');
  std::ifstream(path).read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (begin == first_words)
    throw Error(ErrorKind::usage, "--reference: " + path + ": is the text of nvbandwidth: use nvbandwidth --json");
}

using Refuse = std::function<void(const std::string&)>;

// GB/s of a cell; nothing where the test has no value there.
std::optional<double> gb_s_of(const Json& cell, const std::string& test, const Refuse& refuse) {
  if (cell.is_number()) return cell.get<double>();
  const std::string text = cell.is_string() ? cell.get<std::string>() : std::string();
  if (text == "N/A" || text.empty()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end || !std::isfinite(value)) refuse(test + " has '" + text + "', which is no bandwidth");
  return value;
}

// nvbandwidth writes the cells of its matrices as texts, "N/A" where there is none. Figures are medians over the GPUs.
// Those of its tests that measure what check judges are taken; the GPUs' names are not in it.
Reference from_nvbandwidth(const Json& all, const Refuse& refuse) {
  static constexpr std::pair<const char*, const char*> metrics[] = {
      {"host_to_device_memcpy_ce", "h2d_rate"},
      {"device_to_host_memcpy_ce", "d2h_rate"},
      {"host_to_device_bidirectional_memcpy_ce", "h2d_rate_duplex"},
      {"device_to_host_bidirectional_memcpy_ce", "d2h_rate_duplex"},
      {"device_local_copy", "d2d_rate"}};
  Reference reference;
  if (!all.is_object() || !all.contains("testcases") || !all["testcases"].is_array()) return reference;
  for (const Json& one : all["testcases"]) {
    if (!one.is_object() || one.value("status", Json()) != "Passed") continue;
    const Json name = one.value("name", Json());
    const auto is_known = [&](const auto& known) { return name == known.first; };
    if (name.is_string() && std::ranges::none_of(metrics, is_known))
      reference.unused.push_back(one_line(name.get<std::string>()));
  }
  for (const auto& [test, metric] : metrics)
    for (const Json& one : all["testcases"]) {
      if (!one.is_object() || one.value("name", Json()) != test || one.value("status", Json()) != "Passed") continue;
      std::vector<double> cells;
      for (const Json& row : one.value("bandwidth_matrix", Json::array()))
        for (const Json& cell : row) {
          const auto gb_s = gb_s_of(cell, test, refuse);
          if (gb_s && !(*gb_s > 0)) refuse(fmt::format("{} has {:g} GB/s", test, *gb_s));
          if (gb_s) cells.push_back(*gb_s);
        }
      if (!cells.empty()) reference.figures.push_back({metric, 1e9 * median(cells), "B/s"});
    }
  return reference;
}

// What nccl-tests wrote to its -J file (version 2). Out of place, a collective of one GPU is a copy within its memory,
// of which the largest counts. What several GPUs do together is nothing that check measures.
Reference from_nccl_tests(const Json& all, const Refuse& refuse) {
  Reference reference;
  const Json& config = all["config"];
  const auto number = [](const Json& of, const char* key) {
    return of.is_object() && of.contains(key) && of[key].is_number() ? of[key].get<double>() : 0;
  };
  const Json devices = config.is_object() ? config.value("devices", Json::array()) : Json::array();
  if (number(config, "ngpus") * number(config, "nthreads") != 1 || devices.size() > 1)
    refuse("is of nccl-tests on several GPUs, and check measures no collectives: run one of them with -g 1");
  double largest = 0, gb_s = 0;
  if (all["results"].is_array())
    for (const Json& one : all["results"]) {
      if (!one.is_object() || !one.contains("out_of_place")) continue;
      const double bytes = number(one, "size"), rate = number(one["out_of_place"], "alg_bw");
      if (rate > 0 && bytes > largest) std::tie(largest, gb_s) = std::pair(bytes, rate);
    }
  if (gb_s > 0) reference.figures.push_back({"d2d_rate", 1e9 * gb_s, "B/s"});
  for (const Json& device : devices)
    if (device.is_object() && device.contains("device_info") && device["device_info"].is_string())
      reference.gpus.push_back(one_line(device["device_info"].get<std::string>()));
  return reference;
}

std::string doubt_of(CheckVerdict verdict) {
  const bool is_bad =
      verdict == CheckVerdict::slow || verdict == CheckVerdict::broken || verdict == CheckVerdict::failed_to_run;
  return is_bad ? fmt::format("npgpu check calls it {}", npgpu::name(verdict)) : "";
}

Reference from_json(const std::string& path) {
  const Refuse refuse = [&](const std::string& why) {
    throw Error(
        ErrorKind::usage,
        "--reference: " + path + ": " + why +
            "; it takes a trace, what npgpu check --json or nvbandwidth --json printed, or the -J file of nccl-tests");
  };
  Reference reference;
  const Json all = files::read_json("--reference", path);
  if (all.is_object() && all.contains("nvbandwidth")) return from_nvbandwidth(all["nvbandwidth"], refuse);
  if (all.is_object() && all.contains("nccl_version") && all.contains("config") && all.contains("results"))
    return from_nccl_tests(all, refuse);
  if (!all.is_object() || !all.contains("findings") || !all["findings"].is_array() || !all.contains("gpus"))
    refuse("is JSON without findings");
  const auto text = [](const Json& of, const char* key) {
    return of.is_object() && of.contains(key) && of[key].is_string() ? of[key].get<std::string>() : std::string();
  };
  std::vector<HealthFinding> findings;
  for (const Json& one : all["findings"]) {
    if (!one.is_object() || !one.contains("value") || !one["value"].is_number()) continue;
    HealthFinding& finding = findings.emplace_back();
    finding.device = text(one, "device");
    finding.metric = text(one, "metric");
    finding.value = one["value"];
    finding.unit = text(one, "unit");
    const bool is_figure = finding.unit == "us" || finding.unit.ends_with("/s");
    if (is_figure && !(finding.value > 0))
      refuse(fmt::format("{} is {:g} {}", finding.metric, finding.value, finding.unit));
  }
  reference.figures = figures_of(findings);
  if (const auto verdict = named<CheckVerdict>(text(all, "verdict"))) reference.doubt = doubt_of(*verdict);
  for (const Json& gpu : all["gpus"]) reference.gpus.push_back(one_line(text(gpu, "name")));
  return reference;
}

}  // namespace

Reference read_reference(const std::string& path) {
  Reference reference;
  refuse_text_of_nvbandwidth(path);
  if (is_json(path)) {
    reference = from_json(path);
  } else {
    const Trace trace = [&] {
      try {
        return read_trace(path, Guard::child);
      } catch (const Error& e) {
        throw Error(e.kind(), std::string("--reference: ") + e.what());
      }
    }();
    const std::vector<HealthFinding> findings = health_of(trace);
    reference.figures = figures_of(findings);
    reference.doubt = doubt_of(verdict_of(findings));
    if (reference.doubt.empty() && !trace.root.complete) reference.doubt = "its run did not reach its end";
    for (const CheckReport::Gpu& gpu : gpus_of(trace)) reference.gpus.push_back(gpu.name);
  }
  reference.name = std::filesystem::path(path).filename().string();
  constexpr double most = 1e18;  // a rate or a time beyond it is a slip, or a lie
  for (const ReferenceFigure& figure : reference.figures)
    if (!(figure.value > 0 && figure.value < most))
      throw Error(ErrorKind::usage, fmt::format("--reference: {}: its figure {} is {:g} {}, which nothing has", path,
                                                figure.metric, figure.value, figure.unit));
  if (reference.figures.empty())
    throw Error(ErrorKind::usage,
                "--reference: " + path + ": has no figure of a GPU that others could be compared with");
  return reference;
}

namespace {

using SoakBackend = Backend<Soaks>;

// So many slices a load at least, where they are not longer than this; shorter ones say little.
constexpr double slices_wanted = 126;
constexpr Seconds longest{2}, shortest{0.25};
// After each slice results are compared and counters read: 0.12 s on an H100, 0.22 s on two. Simulated ones take none.
constexpr Seconds between_slices{0.15};

const SoakBackend& soak_backend_for(const DeviceInfo& device) {
  const auto some = reaching(backends<Soaks>(), devices::kind_of(device.id));
  if (some.empty())
    throw Error(ErrorKind::usage, fmt::format("--soak: this program has no such loads on '{}'", device.id));
  return *some.front();
}

// The next GPU of the node that is soaked, too; empty where there is none.
std::string target_of(const std::vector<DeviceInfo>& all, const std::string& id) {
  const std::vector<std::string> node = devices::node(id);
  const auto me = std::ranges::find(all, id, &DeviceInfo::id) - all.begin();
  for (std::size_t step = 1; step < all.size(); ++step) {
    const std::string& other = all[(static_cast<std::size_t>(me) + step) % all.size()].id;
    if (std::ranges::find(node, other) != node.end()) return other;
  }
  return {};
}

// Those of these loads that the device has; why it lacks others is said once.
std::vector<SoakCase> soak_cases_of(Plan& plan, const std::vector<DeviceInfo>& all, const DeviceInfo& device,
                                    const std::vector<SoakLoad>& loads) {
  std::vector<SoakCase> cases;
  const std::string target = target_of(all, device.id);
  for (const SoakLoad load : loads) {
    SoakCase c{.device = device.id, .load = load};
    if (load == SoakLoad::peer && target.empty()) continue;
    // Few devices have it, and nobody asked for it.
    if (load == SoakLoad::fp64_tensor && soak_backend_for(device).refuses({c, {}})) continue;
    if (load == SoakLoad::peer || load == SoakLoad::together) c.target = target;
    if (const auto why = soak_backend_for(device).refuses({c, {}}))
      plan.left_out.push_back(fmt::format("{}: {}", title(c), *why));
    else cases.push_back(std::move(c));
  }
  return cases;
}

// Devices of one family share a runner.
void add_batches(Plan& plan, const std::vector<DeviceInfo>& all,
                 const std::map<std::string, std::vector<SoakCase>>& by_device, std::uint32_t slices,
                 std::uint32_t length_ms) {
  std::map<const SoakBackend*, std::vector<DeviceInfo>> families;
  for (const DeviceInfo& device : all)
    if (!by_device.at(device.id).empty()) families[&soak_backend_for(device)].push_back(device);
  for (const auto& [backend, some] : families) {
    std::vector<Step<Soaks>> steps;
    for (std::uint32_t slice = 0; slice < slices; ++slice)
      for (const DeviceInfo& device : some) {
        const std::vector<SoakCase>& cases = by_device.at(device.id);
        steps.push_back({cases[slice % cases.size()], {slice, length_ms}});
      }
    add<Soaks>(plan, *backend, some.front(), steps);
    if (!plan.of<Soaks>().empty()) plan.of<Soaks>().back().more_devices.assign(some.begin() + 1, some.end());
  }
}

}  // namespace

Plan soak_plan(const std::vector<DeviceInfo>& all, Seconds duration, bool with_memory_test) {
  Plan plan;
  std::vector<SoakLoad> loads{SoakLoad::tensor, SoakLoad::memory, SoakLoad::fp32,        SoakLoad::h2d,
                              SoakLoad::fp64,   SoakLoad::d2h,    SoakLoad::fp64_tensor, SoakLoad::peer};
  if (with_memory_test) loads.push_back(SoakLoad::memory_test);
  const Seconds length = std::clamp(duration / slices_wanted, shortest, longest);
  std::map<std::string, std::vector<SoakCase>> by_device;
  for (const DeviceInfo& device : all) {
    const std::vector<SoakCase> together = soak_cases_of(plan, all, device, {SoakLoad::together});
    std::vector<SoakCase>& turns = by_device[device.id];
    for (const SoakCase& c : soak_cases_of(plan, all, device, loads)) {
      turns.push_back(c);
      std::ranges::copy(together, std::back_inserter(turns));
    }
  }
  const bool is_measured = std::ranges::any_of(all, [](const DeviceInfo& one) { return !one.simulated; });
  const Seconds each = is_measured ? length + between_slices : length;
  const auto slices = static_cast<std::uint32_t>(std::fmax(1, std::round(duration / each)));
  add_batches(plan, all, by_device, slices, static_cast<std::uint32_t>(length.count() * 1e3 + 0.5));
  return plan;
}

Plan memory_test_plan(const std::vector<DeviceInfo>& all) {
  Plan plan;
  std::map<std::string, std::vector<SoakCase>> by_device;
  for (const DeviceInfo& device : all) by_device[device.id] = soak_cases_of(plan, all, device, {SoakLoad::memory_test});
  add_batches(plan, all, by_device, 1, static_cast<std::uint32_t>(longest.count() * 1e3));
  return plan;
}

namespace {

void add_copies(Plan& plan, const DeviceInfo& device, CopyQuestion question, const std::vector<std::uint64_t>& sizes) {
  const Module& module = default_module(device);
  const TransferCase c = case_of(question, std::string(module.name()), device.id);
  add<Transfers>(plan, module, device, steps_of<Transfers>(c, axes_of(sizes)));
}

void add_copies(Plan& plan, const DeviceInfo& device, Level level) {
  const std::vector<std::uint64_t> few{8, 4 * MiB, 64 * MiB},
      sizes{8, 4 * KiB, 64 * KiB, MiB, 4 * MiB, 16 * MiB, 64 * MiB, 128 * MiB};
  for (const CopyQuestion question : {CopyQuestion::to_device, CopyQuestion::to_host})
    add_copies(plan, device, question, level == Level::seconds ? few : sizes);
  if (number_fact(device.facts, "copy_engines") != 1) add_copies(plan, device, CopyQuestion::both_ways, {32 * MiB});
  if (level == Level::seconds) return;
  add_copies(plan, device, CopyQuestion::to_device_blocking, {8, 4 * KiB});
  for (const CopyQuestion question : {CopyQuestion::to_device_pageable, CopyQuestion::to_host_pageable})
    add_copies(plan, device, question, {MiB, 16 * MiB, 64 * MiB});
  // Far beyond the L2 cache.
  const double l2 = number_fact(device.facts, "l2_bytes");
  const std::uint64_t beyond =
      l2 > 0 ? padded(2 * std::min<std::uint64_t>(saturated<std::uint64_t>(l2), 1024 * GiB), 64 * MiB) : 0;
  add_copies(plan, device, CopyQuestion::within_device, {std::max(192 * MiB, beyond)});
}

bool is_asked(const ProbeCase& c, Level level, bool has_reads) {
  const auto question = question_of(c);
  if (question == ProbeQuestion::computing_power) return level != Level::seconds || c.type == DataType::fp32;
  if (question != ProbeQuestion::memory_bandwidth) return false;
  return level != Level::seconds || c.operation == Operation::read || !has_reads;
}

void add_probes_of(Plan& plan, const DeviceInfo& device, Level level) {
  for (const Probe* probe : reaching(probes(), devices::kind_of(device.id))) {
    if (!description_of(probe->name()).is_usual) continue;
    try {
      const auto cases = probe->cases(device.id);
      const bool has_reads = std::ranges::any_of(cases, [](const auto& c) { return c.operation == Operation::read; });
      for (const ProbeCase& c : cases)
        if (is_asked(c, level, has_reads))
          if (const auto shape = filling_shape(probe->shapes(c))) add<Probes>(plan, *probe, device, {{c, *shape}});
    } catch (const Error& e) {
      plan.left_out.push_back(fmt::format("probe {} of {}: {}", probe->name(), device.id, e.what()));
    }
  }
}

void add_launches(Plan& plan, const DeviceInfo& device, Level level) {
  std::vector<Step<Calls>> steps;
  for (const Spacing spacing : {Spacing::back_to_back, Spacing::alone})
    if (level != Level::seconds || spacing == Spacing::back_to_back)
      steps.push_back(
          {{.device = device.id, .call = Call::launch, .spacing = spacing}, {.bytes = 0, .blocks = 1, .nodes = 0}});
  for (const Backend<Calls>* backend : reaching(backends<Calls>(), devices::kind_of(device.id)))
    add<Calls>(plan, *backend, device, steps);
}

// Its bytes are compared. Nothing where the two are of no one node.
std::optional<TransferCase> peer_copy(const DeviceInfo& source, const DeviceInfo& target) {
  if (devices::kind_of(source.id) != devices::kind_of(target.id)) return std::nullopt;
  const std::vector<std::string> node = devices::node(source.id);
  if (std::ranges::find(node, target.id) == node.end()) return std::nullopt;
  const Module& module = default_module(source);
  TransferCase c = peer_case(std::string(module.name()), source.id, target.id, Access::write);
  c.async = true;
  c.timing = Timing::gated;
  if (module.refuses_case(c)) {  // one does not see the other
    c.access = Access::staged;
    c.timing = Timing::event;
  }
  return c;
}

struct PeerCopies {
  std::vector<std::pair<std::size_t, TransferCase>> all{}, of_ring{};  // by the number of the GPU that is read
  bool are_mixed = false;
};

PeerCopies peer_copies(const std::vector<DeviceInfo>& gpus) {
  PeerCopies found;
  for (const auto& [from, to] : pairs_of(gpus.size(), true))
    if (const auto c = peer_copy(gpus[from], gpus[to])) {
      found.all.emplace_back(from, *c);
      if (to == from + 1 || (gpus.size() > 2 && from + 1 == gpus.size() && to == 0))
        found.of_ring.emplace_back(from, *c);
    }
  found.are_mixed = std::ranges::any_of(
      found.all, [&](const auto& one) { return one.second.access != found.all.front().second.access; });
  return found;
}

}  // namespace

bool are_peers_mixed(const std::vector<DeviceInfo>& gpus) { return peer_copies(gpus).are_mixed; }

void add_peer_copies(Plan& plan, const std::vector<DeviceInfo>& gpus) {
  const PeerCopies found = peer_copies(gpus);
  for (const auto& [from, c] : found.are_mixed ? found.all : found.of_ring)
    add<Transfers>(plan, default_module(gpus[from]), gpus[from],
                   steps_of<Transfers>(c, axes_of({gpus[from].simulated ? MiB : 64 * MiB})));
}

void add_between_gpus(Plan& plan, const std::vector<DeviceInfo>& all) {
  add_peer_copies(plan, all);
  if (all.size() < 2) return;
  const std::vector<std::string> node = devices::node(all.front().id);
  for (const DeviceInfo& one : all)
    if (std::ranges::find(node, one.id) == node.end()) {
      plan.left_out.push_back(fmt::format("all-reduce: {} and {} are of no one node", all.front().id, one.id));
      return;
    }
  try {
    Plan together = all_reduce_plan(all);
    for_each_kind([&]<class K>() { std::ranges::move(together.of<K>(), std::back_inserter(plan.of<K>())); });
    for (const std::string& why : together.left_out) plan.left_out.push_back("all-reduce: " + why);
  } catch (const Error& e) {
    plan.left_out.push_back(std::string("all-reduce: ") + e.what());
  }
}

Plan check_plan(const std::vector<DeviceInfo>& all, Level level) {
  Plan plan;
  for (const DeviceInfo& device : all) {
    add_copies(plan, device, level);
    add_probes_of(plan, device, level);
    add_launches(plan, device, level);
  }
  if (level != Level::seconds) add_peer_copies(plan, all);
  return plan;
}

void set_repetition(MeasureOptions& options, const Options& given, Level level) {
  if (level == Level::all) return;
  for_each_kind([&]<class K>() {
    Repetition& how = options.repetition<K>();
    if (how.is_classic || given.has("rounds")) return;
    how.rounds = level == Level::seconds ? 3 : 6;
    how.adaptive.visits = static_cast<int>(how.rounds);
  });
}

std::vector<std::string> required_metrics(Level level) {
  std::vector<std::string> all{"results", "h2d_rate", "d2h_rate", "memory_rate", "compute_rate", "launch_time"};
  if (level != Level::seconds) all.insert(all.end(), {"sms", "copy_time", "d2d_rate"});
  return all;
}

}  // namespace npgpu::cli

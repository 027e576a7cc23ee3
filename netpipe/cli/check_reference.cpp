// What a check is compared with on the user's word: a trace, or what npgpu, nvbandwidth or nccl-tests wrote.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "netpipe/cli/check_plan.hpp"
#include "netpipe/engine/algorithms.hpp"
#include "netpipe/files/input.hpp"
#include "netpipe/report/json.hpp"
#include "npgpu/report/report.hpp"
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

}  // namespace npgpu::cli

#include "netpipe/cli/reference.hpp"

#include <filesystem>
#include <fstream>

#include "netpipe/report/json.hpp"
#include "npgpu/check.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

bool is_json(const std::string& path) {
  std::ifstream file(path);
  char first = 0;
  return file >> first && first == '{';
}

Reference from_json(const std::string& path) {
  const auto refuse = [&](const std::string& why) -> void {
    throw Error(ErrorKind::usage,
                "--reference: " + path + ": " + why + "; it takes a trace, or what npgpu check --json printed");
  };
  Reference reference;
  std::ifstream file(path);
  const Json all = Json::parse(file, nullptr, false);
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
  }
  reference.figures = figures_of(findings);
  for (const Json& gpu : all["gpus"]) reference.gpus.push_back(text(gpu, "name"));
  return reference;
}

}  // namespace

Reference read_reference(const std::string& path) {
  Reference reference;
  if (is_json(path)) {
    reference = from_json(path);
  } else {
    const Trace trace = read_trace(path, Guard::child);
    reference.figures = figures_of(health_of(trace));
    for (const CheckOf::Gpu& gpu : gpus_of(trace)) reference.gpus.push_back(gpu.name);
  }
  reference.name = std::filesystem::path(path).filename().string();
  if (reference.figures.empty())
    throw Error(ErrorKind::usage,
                "--reference: " + path + ": has no figure of a GPU that others could be held against");
  return reference;
}

}  // namespace npgpu::cli

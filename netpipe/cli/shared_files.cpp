#include "netpipe/cli/shared_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "netpipe/files/folder.hpp"
#include "netpipe/files/json_input.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

using files::read_json;
using Json = nlohmann::json;
constexpr std::uint64_t most_bytes = 1 << 20;

std::string text(const Json& of, const char* key) {
  const auto found = of.find(key);
  return found != of.end() && found->is_string() ? found->get<std::string>() : std::string();
}
double number(const Json& of, const char* key) {
  const auto found = of.find(key);
  return found != of.end() && found->is_number() ? found->get<double>() : not_measured;
}

bool is_shared(const Json& all) { return all.is_object() && text(all, "document") == "npgpu-shared"; }

// Only what is known of it, and what can be a figure: the file is a stranger's.
SharedNode node_of(const Json& all, const std::string& path) {
  if (number(all, "version") != 1)
    throw Error(ErrorKind::usage, fmt::format("--among: {}: is of another version than 1", path));
  SharedNode node;
  node.host_cpu = text(all, "host_cpu");
  for (const Json& one : all.value("gpus", Json::array())) {
    if (!one.is_object()) continue;
    SharedGpu gpu;
    gpu.name = text(one, "name");
    for (const Json& its : one.value("figures", Json::array())) {
      if (!its.is_object()) continue;
      const SharedFigure figure{text(its, "metric"), number(its, "value"), number(its, "low"), number(its, "high")};
      const auto metric = std::ranges::find(shared_metrics(), figure.metric, &SharedMetric::metric);
      const bool is_figure = std::isfinite(figure.value) && figure.value > 0;
      if (metric != shared_metrics().end() && text(its, "unit") == metric->unit && is_figure)
        gpu.figures.push_back(figure);
    }
    node.gpus.push_back(std::move(gpu));
  }
  return node;
}

void add_folder(const std::filesystem::path& folder, std::vector<SharedNode>& nodes) {
  std::error_code unreadable;
  for (const auto& path : files::entries_of(folder, unreadable))
    if (path.extension() == ".json") {
      const Json all = read_json("--among", path, {.bytes = most_bytes});
      if (is_shared(all)) nodes.push_back(node_of(all, path.string()));
    }
  if (unreadable) throw Error(ErrorKind::usage, fmt::format("--among: {}: {}", folder.string(), unreadable.message()));
}

}  // namespace

std::vector<SharedNode> read_shared(const std::vector<std::string>& paths) {
  std::vector<SharedNode> nodes;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
      add_folder(path, nodes);
      continue;
    }
    const Json all = read_json("--among", path, {.bytes = most_bytes});
    if (!is_shared(all))
      throw Error(ErrorKind::usage, fmt::format("--among: {}: npgpu report --share did not write it", path));
    nodes.push_back(node_of(all, path));
  }
  if (nodes.empty()) throw Error(ErrorKind::usage, "--among: no file of npgpu report --share is there");
  return nodes;
}

}  // namespace npgpu::cli

// export --format superbench: a trace as a line of SuperBench's results-summary.jsonl, for `sb result diagnosis` and
// `sb result summary`: {"node": host, "benchmark/metric:rank": value, ...}. The benchmark is npgpu-KIND; the metric is
// the point's name in small letters and underscores, with its unit at the end; the rank is the number of the GPU. Lines
// of several nodes are put below each other. Points without a usable result are left out, which SuperBench counts as
// missing.
#include <cctype>

#include "netpipe/report/json.hpp"
#include "netpipe/report/point_figures.hpp"

namespace npgpu {

namespace {

// Letters and digits, and an underscore for each run of others.
std::string metric_word(std::string_view text) {
  std::string word;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u)) word += static_cast<char>(std::tolower(u));
    else if (!word.empty() && word.back() != '_') word += '_';
  }
  return word;
}

// "bytes_per_s", "flop_per_s", "us"
std::string unit_word(const std::string& unit) {
  const auto per = unit.find('/');
  if (per == std::string::npos) return unit;
  const std::string work = unit.substr(0, per);
  return (work == "B" ? "bytes" : metric_word(work)) + "_per_s";
}

// The number of a device that has one, as ":0"; the device is then no part of the title any more. Nothing of copies
// between two devices.
std::string take_rank(std::string& title, const std::string& device) {
  const auto colon = device.rfind(':');
  const auto at = title.find(device);
  if (colon == std::string::npos || colon + 1 == device.size() || at == std::string::npos) return {};
  if (device.find_first_not_of("0123456789", colon + 1) != std::string::npos) return {};
  if (title.find(device + '>') != std::string::npos) return {};
  title.erase(at, device.size());
  return device.substr(colon);
}

}  // namespace

void export_superbench(std::ostream& out, const Trace& trace) {
  Json json{{"node", trace.root.hostname}};
  for (NamedFigure& f : named_figures(trace)) {
    if (!f.why_unusable.empty()) continue;
    const std::string rank = take_rank(f.title, f.device);
    const std::string metric = metric_word(f.title + ' ' + f.axes + ' ' + unit_word(f.figure.unit));
    json["npgpu-" + f.kind + '/' + metric + rank] = f.figure.value;
  }
  write_json(out, json, -1);
}

}  // namespace npgpu

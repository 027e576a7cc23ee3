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

// ":0" of cuda:0, which is then no part of the title any more; nothing of other devices.
std::string take_rank(std::string& title, const std::string& device) {
  constexpr std::string_view cuda = "cuda:";
  if (!device.starts_with(cuda) || title.find(device) == std::string::npos ||
      title.find(device + '>') != std::string::npos)
    return {};
  title.replace(title.find(device), device.size(), "");
  return device.substr(cuda.size() - 1);
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

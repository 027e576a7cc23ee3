// npgpu report: a trace in the terminal, as a page, and among others.
#include "npgpu/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "netpipe/cli/characterize.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/predict.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/files/input.hpp"
#include "netpipe/files/output.hpp"
#include "netpipe/model/medians.hpp"
#include "netpipe/model/run_facts.hpp"
#include "npgpu/judge/overview.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/model/record.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

// ---- files of `npgpu report --share`, as others sent them ----

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

// What files are, and those in folders that are such documents. Throws Error(usage) where a file is none, and where no
// path has one.
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

// ---- the report ----

std::vector<std::string> predictable_of(const Overview& all) {
  std::vector<std::string> devices;
  for (const DeviceOverview& one : all.gpus)
    if (!one.advice.empty()) devices.push_back(one.id);
  if (all.host && !all.host->advice.empty()) devices.push_back(all.host->id);
  return devices;
}

std::vector<std::string> predictable_of(std::span<const MeasuredCosts> costs) {
  std::vector<std::string> devices;
  for (const MeasuredCosts& one : costs)
    if (one.usable) devices.push_back(one.device);
  return devices;
}

// The step of a recorded application, by the costs of a kept GPU of its name; nothing where there is none, or no step.
std::optional<std::pair<AppStep, MeasuredCosts>> recorded_step(const Trace& trace) {
  if (trace.of<Records>().empty()) return std::nullopt;
  try {
    AppStep step = step_of(trace);
    MeasuredCosts costs = costs_of_kept(step);
    return std::pair(std::move(step), std::move(costs));
  } catch (const Error&) {
    return std::nullopt;
  }
}

void write_page(const Options& options, const std::string& path, const Trace& trace, const Overview& all,
                std::span<const AmongOthers> among) {
  const auto recorded = recorded_step(trace);
  std::optional<AppForecastReport> application;
  if (recorded) {
    const auto& [step, costs] = *recorded;
    application = {&step, &costs, costs.device, forecast(step, costs)};
  }
  write_file("html", path, options.on("force"), [&](std::ostream& file) {
    report_html(file, TraceResults(trace), all, among, application ? &*application : nullptr);
  });
}

// True if that is all that was asked for.
bool write_files(const Options& options, const Trace& trace, const Overview& all, std::span<const AmongOthers> among) {
  const auto page = options.maybe("html"), share = options.maybe("share");
  if (!page && !share) return false;
  if (share) {
    const SharedNode node = shared_of(all);
    write_file("share", *share, options.on("force"), [&](std::ostream& file) { shared_json(file, node, all); });
  }
  if (page) write_page(options, *page, trace, all, among);
  return !options.on("overview") && !options.on("json") && !options.on("markdown");
}

// What can be asked of this trace next: commands, a line each. `predictable`: the devices whose streams' costs it has;
// `is_whole`: all of it was shown, so that --all has nothing to add.
std::string next_steps(const Trace& trace, const std::vector<std::string>& predictable, const std::string& path,
                       bool is_whole, const TextStyle& style) {
  const std::string file = quoted(path);
  const std::string page = quoted(std::filesystem::path(path).replace_extension(".html").string());
  std::vector<std::string> commands;
  if (!is_whole) commands.push_back(fmt::format("{} report {} --all", called(), file));
  if (!trace.of<Soaks>().empty()) commands.push_back(fmt::format("{} check --trace {}", called(), file));
  if (!trace.of<Probes>().empty()) commands.push_back(called() + " derive " + file);
  commands.push_back(fmt::format("{} report {} --html {}", called(), file, page));
  const bool is_named = model::by_device<Jobs>(trace).size() > 1;
  for (const std::string& device : predictable)
    commands.push_back(fmt::format("{} predict {}{} --bytes-in 64MiB --kernel-ms 1 --bytes-out 64MiB", called(), file,
                                   is_named ? " --device " + quoted(device) : ""));
  if (!trace.of<Records>().empty()) commands.push_back(fmt::format("{} predict {}", called(), file));
  bool is_comparable = false;  // soaks and recordings are not
  for_each_kind([&]<class K>() {
    if constexpr (!std::is_same_v<K, Soaks> && !std::is_same_v<K, Records>)
      is_comparable = is_comparable || !trace.of<K>().empty();
  });
  if (is_comparable) commands.push_back(fmt::format("{} compare {} NEWER.h5", called(), file));

  // As many on a line as fit, but no command is broken: it is there to be copied.
  constexpr std::string_view head = "NEXT     ", gap = ";  ";
  std::string text = style.color ? fmt::format("\x1b[1m{}\x1b[0m", head) : std::string(head);
  std::size_t column = head.size();
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const bool fits = column + gap.size() + commands[i].size() <= static_cast<std::size_t>(style.width);
    if (i > 0) text += fits ? std::string(gap) : "\n" + std::string(head.size(), ' ');
    column = (i > 0 && fits ? column + gap.size() : head.size()) + commands[i].size();
    text += commands[i];
  }
  text += '\n';
  return text;
}

// What an overview, or the screen that characterize shows, ends with.
void print_rest_of_overview(const Trace& trace, const Overview& all, const std::string& path, const TextStyle& style) {
  matrix_overview(std::cout, node_matrix(trace), style);
  std::cout << next_steps(trace, predictable_of(all), path, false, style);
}

void print_series(const Trace& trace, const std::string& path, bool is_whole, const TextStyle& style) {
  const TraceResults results(trace);
  report_text(std::cout, results, style);
  std::cout << '\n' << next_steps(trace, predictable_of(results.costs), path, is_whole, style);
}

void print(const Options& options, const Trace& trace, const TextStyle& style) {
  std::vector<AmongOthers> among;
  if (options.has("among") || options.has("html") || options.has("share")) {
    const Overview all = overview_of(trace);
    if (options.has("among")) among = among_others(all, read_shared(options.texts("among")));
    if (write_files(options, trace, all, among)) return;
  }
  const bool overview = options.on("overview"), json = options.on("json"), markdown = options.on("markdown");
  if (markdown) {
    report_markdown(std::cout, TraceResults(trace), overview_of(trace), style.series_in_trace);
    return matrix_markdown(std::cout, node_matrix(trace));
  }
  if (json)
    return overview ? report_overview_json(std::cout, overview_of(trace)) : report_json(std::cout, TraceResults(trace));
  if (!among.empty()) return among_text(std::cout, among, style);
  if (overview) {
    const Overview all = overview_of(trace);
    report_overview(std::cout, TraceResults(trace), all, style);
    print_rest_of_overview(trace, all, options.place("TRACE"), style);
  } else if (options.on("all") || options.has("case") || options.on("every-size")) {
    print_series(trace, options.place("TRACE"), !options.has("case"), style);
  } else {
    print_report(trace, options.place("TRACE"));
  }
}

// What is shown of a merged file that is named without the number of a run.
int list_runs(const Options& options, const std::vector<Trace>& runs, const TextStyle& style) {
  const std::string file = options.place("TRACE");
  if (options.has("html") || options.has("case") || options.has("share") || options.has("among") ||
      options.on("overview") || options.on("markdown"))
    throw Error(ErrorKind::usage, fmt::format("{0}: holds {1} runs, and --overview, --html, --share, --among, "
                                              "--markdown and --case are of one: name one of {0}:0 to {0}:{2}",
                                              file, runs.size(), runs.size() - 1));
  options.on("json") ? runs_json(std::cout, file, runs) : runs_text(std::cout, file, runs, style);
  return exit_code::done;
}

int run_report(const Options& options) {
  if (options.on("markdown") && options.on("json"))
    throw Error(ErrorKind::usage, "--markdown and --json are two forms of one report: choose one");
  TextStyle style = terminal_style();
  const std::vector<Trace> runs = read_runs(options.place("TRACE"), Guard::child, Depth::headers);
  if (runs.size() > 1) return list_runs(options, runs, style);
  Trace trace = read_trace(options.place("TRACE"), Guard::child);
  style.every_size = options.on("every-size");
  if (options.has("case")) {
    style.series_in_trace = series_of(trace);
    choose_cases(options, trace);
  }
  print(options, trace, style);
  return exit_code::done;
}

}  // namespace

void print_report(const Trace& trace, const std::string& path) {
  const TextStyle style = terminal_style();
  if (const Overview all = overview_of(trace); !is_shown_whole(trace, all)) {
    if (!report_glance(std::cout, all, style)) report_overview(std::cout, TraceResults(trace), all, style);
    return print_rest_of_overview(trace, all, path, style);
  }
  if (trace.of<Collectives>().empty()) return print_series(trace, path, true, style);
  // The copies that limits are from are in --all.
  const TraceResults results(trace);
  collectives_text(std::cout, results, style);
  std::cout << '\n' << next_steps(trace, predictable_of(results.costs), path, false, style);
}

Command report() {
  return {
      "report",
      "show a trace: in the terminal, as a page, for an issue",
      "Shows a trace: whether the node is healthy, and one figure for each question, each with its 95 % interval, its "
      "share of what the device could do and the limit that check applies. --overview says more on one page; --all has "
      "every series as a table, and which number of streams is best for the partition method; --markdown is the "
      "overview for an issue or a wiki, and --html a page with curves to send. Both begin with what a trace is about: "
      "collectives, a soak, energy, copies of pieces, the partition method. A trace of few points is shown whole. Of a "
      "merged file it lists the runs; FILE:N is run N. Needs no device.",
      {"TRACE"},
      {"npgpu report node.h5", "npgpu report node.h5 --all", "npgpu report node.h5 --html node.html",
       "npgpu report node.h5 --case transfers:0,3 probes", "npgpu report job.h5:3 --overview",
       "npgpu report node.h5 --json > node.json", "npgpu report node.h5 --share h200-oslo.json",
       "npgpu report node.h5 --among shared/ --html among.html"},
      {{"What is shown", {Option("all", {}, "Every series as a table."), "case", "every-size", "overview", "among"}},
       {"Output",
        {Option("html", {}, "Nothing else is printed, unless asked for."), "share", "force",
         Option("markdown", {}, "Of the overview."), "json"}}},
      run_report};
}

const Joined<ListedCommand> listed_report({Asks::able, 2, report});

}  // namespace npgpu::cli

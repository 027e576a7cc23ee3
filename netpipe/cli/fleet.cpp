// npgpu fleet: which GPUs of many traces are not like the others of their kind.
#include "npgpu/judge/fleet.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/files/output.hpp"
#include "npgpu/vocabulary/units.hpp"

// What a reading process sends: MessagePack, in which numbers may be NaN and texts any bytes.
namespace npgpu {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FleetDefect, metric, text, remedy, cause, what)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FleetSetting, name, value)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FleetSeries, kind, title, is_measured, why)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FleetFigure, kind, name, at, unit, value, low, high, disturbed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(KeyFigure, device, metric, value, low, high, unit)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FleetGpu, id, name, uuid, bus, simulated, is_under_load, driver, link, facts,
                                   throttle, defects, slow, signs, settings, series, figures, key_figures)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FleetRun, run_uuid, host, date, plan, hash, complete, defects, open, gpus)

}  // namespace npgpu

namespace npgpu::cli {

namespace {

namespace fs = std::filesystem;

// ---- which traces ----

struct FoundTraces {
  std::vector<fs::path> traces;       // by path, each file once
  std::vector<FleetFile> unreadable;  // folders that cannot be listed, files that are not there
};

// A folder stands for the traces (*.h5) in it and in its folders. What it finds was not named by anybody: nothing in a
// folder may end it, or lead it in a circle.
class Finder {
 public:
  FoundTraces find(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      std::error_code error;
      if (!fs::is_directory(word, error)) {
        add(word);
        continue;
      }
      const std::size_t before = found_.traces.size() + found_.unreadable.size();
      walk(word);
      if (found_.traces.size() + found_.unreadable.size() > before) continue;
      const std::string why = "is a folder without traces (*.h5)";
      if (words.size() == 1) throw Error(ErrorKind::usage, "'" + word + "' " + why);
      found_.unreadable.push_back({word, why});  // as a shell's *.h5 may name one
    }
    std::ranges::sort(found_.traces);
    std::ranges::sort(found_.unreadable, {}, &FleetFile::path);
    return std::move(found_);
  }

 private:
  void walk(const fs::path& folder) {
    std::error_code error;
    const std::vector<fs::path> entries = files::entries_of(folder, error);
    if (error) found_.unreadable.push_back({folder.string(), "cannot be listed: " + error.message()});
    for (const fs::path& path : entries) {
      if (path.filename().string().starts_with(".")) continue;
      struct stat is {};
      const bool is_folder =
          ::lstat(path.c_str(), &is) == 0 && S_ISDIR(is.st_mode);  // links to folders are not followed
      if (is_folder) walk(path);
      else if (path.extension() == ".h5") add(path);
    }
  }

  void add(const fs::path& path) {
    struct stat is {};
    if (::stat(path.c_str(), &is) != 0)
      found_.unreadable.push_back({path.string(), std::generic_category().message(errno)});
    else if (taken_.emplace(is.st_dev, is.st_ino).second)  // else it was named twice
      found_.traces.push_back(path);
  }

  FoundTraces found_;
  std::set<std::pair<dev_t, ino_t>> taken_;
};

// ---- reading them ----

struct FleetRuns {
  std::vector<FleetRun> runs;
  std::vector<FleetFile> unreadable;
};

std::uint64_t content_hash(std::span<const std::byte> bytes) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Nothing where these are no run: HDF5 may have written over the memory of the process that sent them.
std::optional<FleetRun> run_of(const std::string& bytes) {
  try {
    auto run = nlohmann::json::from_msgpack(bytes).get<FleetRun>();
    for (const FleetGpu& gpu : run.gpus)
      for (const FleetFigure& figure : gpu.figures)
        if (static_cast<std::size_t>(figure.kind) >= names_of<FigureKind>.size() ||
            static_cast<std::size_t>(figure.unit) >= names_of<FigureUnit>.size())
          return std::nullopt;
    return run;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::vector<ReadDigest> read_files(const std::vector<fs::path>& paths) {
  const bool is_shown = takes_escapes(STDERR_FILENO);
  const auto show = [&](std::size_t done) {
    std::cerr << fmt::format("\r\x1b[K{} of {} traces read", done, paths.size()) << std::flush;
  };
  auto digests = read_many(
      paths,
      [](const Trace& trace, std::span<const std::byte> file) {
        FleetRun run = fleet_run(trace);
        run.hash = content_hash(file);
        std::string bytes;
        nlohmann::json::to_msgpack(run, bytes);
        return bytes;
      },
      std::max(1u, std::thread::hardware_concurrency()), is_shown ? show : std::function<void(std::size_t)>());
  if (is_shown && !paths.empty()) std::cerr << "\r\x1b[K";
  return digests;
}

// In several processes.
FleetRuns read_fleet(const FoundTraces& found) {
  FleetRuns all;
  all.unreadable = found.unreadable;
  const std::vector<ReadDigest> digests = read_files(found.traces);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    std::string why = digests[i].error;
    if (why.empty()) {
      if (auto run = run_of(digests[i].bytes)) all.runs.push_back(std::move(*run));
      else why = "is damaged: what HDF5 makes of it is garbled";
    }
    if (!why.empty()) all.unreadable.push_back({found.traces[i].string(), why});
  }
  return all;
}

// ---- the command ----

// The verdict first. False if a file could not be written.
bool write(const Options& options, const Fleet& fleet) {
  if (options.on("json")) fleet_json(std::cout, fleet);
  else fleet_text(std::cout, fleet, options.on("all"), terminal_style());
  const bool metrics =
      write_if_asked(options, "openmetrics", true, [&](std::ostream& out) { fleet_openmetrics(out, fleet); });
  const bool force = options.on("force");
  const bool table = write_if_asked(options, "csv", force, [&](std::ostream& out) { fleet_csv(out, fleet); });
  return write_if_asked(options, "html", force, [&](std::ostream& out) { fleet_html(out, fleet); }) && table && metrics;
}

int exit_code_of_fleet(const Fleet& fleet) {
  if (fleet.suspects() || !fleet.broken_hosts.empty() || fleet.slow_hosts()) return exit_code::slower;
  if (fleet.in_doubt()) return exit_code::undecided;
  if (!fleet.unjudged_hosts.empty()) return exit_code::busy;
  for (const FleetGroup& group : fleet.groups)
    if (group.judged) return exit_code::done;
  return exit_code::nothing;
}

int run_fleet(const Options& options) {
  FleetRules rules;
  if (const auto text = options.maybe("tolerance")) rules.tolerance = parse_fraction("tolerance", *text);
  // Before thousands of traces are read.
  if (const auto path = options.maybe("openmetrics")) check_output("openmetrics", *path, true);
  for (const char* file : {"csv", "html"})
    if (const auto path = options.maybe(file)) check_output(file, *path, options.on("force"));
  const FoundTraces found = Finder().find(options.places("DIR|FILES..."));
  const FleetRuns read = read_fleet(found);
  const auto refuse = [&](const char* why) {
    for (const FleetFile& file : read.unreadable) std::cerr << one_line(file.path + ": " + file.why) << '\n';
    throw Error(ErrorKind::usage, why);
  };
  if (read.runs.empty()) refuse("none of these can be read as a trace");
  Fleet fleet = judge_fleet(read.runs, rules);
  fleet.files = found.traces.size();
  fleet.unreadable = read.unreadable;
  if (fleet.groups.empty()) refuse("none of these traces has a series of a GPU");
  const bool are_written = write(options, fleet);
  const int code = exit_code_of_fleet(fleet);
  return are_written || code != exit_code::done ? code : exit_code::failed;
}

}  // namespace

Command fleet() {
  return {
      "fleet",
      "which GPUs of thousands of traces differ from the others, and why",
      "Compares the GPUs of many traces with each other by key figures: links each way, memory, computing power, "
      "latencies, calls. A group is what has the same model, driver and link. A GPU is a suspect if a key figure takes "
      "more time than the group's median by more than healthy GPUs of a model differ; if its own plan had a figure and "
      "it has no valid one; if it has fewer multiprocessors, a lesser link or a lower clock; or if it is broken. "
      "Confirmed, and so on the line for Slurm, is what is broken, and links, memory and computing power of which the "
      "whole interval is beyond the limit, unless half of the group are so: all else is to be looked at. A group is "
      "undecided if half of its GPUs are slow by their own limits and yet like the others. A GPU of a group that is "
      "too small is judged alone, by what its own link, memory and clocks allow. Calls that are slow on all GPUs of a "
      "host are the host's. What several traces say of a GPU (by its host and UUID) is one value. A folder stands for "
      "the traces (*.h5) in it and below it. The last line is for Slurm. Exit codes: 0 nothing found, 3 suspects or "
      "slow hosts, 8 undecided: a group that is slow by its own limits, 2 bad input, 77 no group is large enough to be "
      "judged. Traces that cannot be read are listed, and the others are judged.",
      {"DIR|FILES..."},
      {"npgpu fleet traces/", "npgpu fleet traces/ --html fleet.html --openmetrics /var/lib/node_exporter/fleet.prom",
       "npgpu fleet traces/ --csv fleet.csv"},
      {{"How it is judged",
        {Option("tolerance", {}, "The least share that counts. Default: by kind of figure, 2 % to 40 %.")}},
       {"Output", {"all", "csv", "json", "openmetrics", Option("html", {}, "Here of the fleet."), "force"}}},
      run_fleet};
}

const Joined<ListedCommand> listed_fleet({Asks::healthy, 5, fleet});

}  // namespace npgpu::cli

// npgpu compare: one or several traces compared with others.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

struct Read {
  std::vector<Trace> traces;
  ComparisonReport::Side side;

  explicit Read(const std::vector<std::string>& typed_words) {
    for (const std::string& file : trace_files(typed_words)) {
      std::vector<Trace> runs = read_runs(file, Guard::child);
      for (std::size_t i = 0; i < runs.size(); ++i) {
        complain_of_doubts(runs[i], file);
        side.files.push_back(runs.size() == 1 ? file : fmt::format("{}:{}", file, i));
        traces.push_back(std::move(runs[i]));
      }
    }
    for (const Trace& trace : traces) side.runs.push_back(&trace);
  }
};

bool share_a_point(const Comparison& found) {
  const auto is_shared = [](const Change& c) { return !is_of_one_side(c.verdict); };
  return std::ranges::any_of(found.energies, is_shared) ||
         std::ranges::any_of(found.cases,
                             [&](const CaseComparison& of) { return std::ranges::any_of(of.points, is_shared); });
}

int exit_code_of_outcome(Outcome outcome) {
  switch (outcome) {
    case Outcome::broken: return exit_code::broken;
    case Outcome::slower: return exit_code::slower;
    case Outcome::clock: return exit_code::clock;
    case Outcome::not_judged: return exit_code::busy;
    case Outcome::cards:
    case Outcome::cannot_tell:
    case Outcome::not_slower: break;
  }
  return exit_code::done;
}

void write(const Options& options, const ComparisonReport& of) {
  const ComparisonDetail detail{options.on("all"), options.on("points")};
  if (options.on("json")) compare_json(std::cout, of);
  else if (options.on("markdown")) compare_markdown(std::cout, of, detail);
  else compare_text(std::cout, of, detail, terminal_style());
}

int run_compare(const Options& options) {
  std::optional<double> tolerance;
  if (const auto text = options.maybe("tolerance")) tolerance = parse_fraction("tolerance", *text);
  const auto [words_a, words_b] = options.sides();
  const Read a(words_a), b(words_b);
  ComparisonReport of{a.side, b.side, {}, false};
  of.found.other_hardware = other_hardware(of.a.runs, of.b.runs);
  of.refused = !of.found.other_hardware.empty() && !options.on("other-hardware");
  if (!of.refused) {
    of.found = compare(of.a.runs, of.b.runs, tolerance);
    of.found.judges_cards = options.on("other-hardware");
    if (!share_a_point(of.found))
      throw Error(ErrorKind::usage,
                  fmt::format("{} and {} have no point in common{}", of.a.files.front(), of.b.files.front(),
                              of.found.soaks ? ": series of soaks are not compared" : ""));
  }
  write(options, of);
  return of.refused ? exit_code::other_hardware : exit_code_of_outcome(outcome_of(of.found));
}

}  // namespace

Command compare_traces() {
  Command command{
      "compare",
      "what has become slower from traces A to traces B",
      "Names A and B and their differences. Lists what is slower in B, by how much each class of measurement changed "
      "as a whole, and the smallest change that these runs can show. Key figures, what each operation and byte takes "
      "of energy, and a line for each case follow. A folder stands for its traces (*.h5), a merged file for its runs, "
      "and FILE:N for run N of it; several on a side are written before and after --. From three runs on a side, runs "
      "are compared rather than rounds. Two cards of one model are compared, and what differs between them is said and "
      "does not count, unless --other-hardware is given. Cases that other programs disturbed, or that only one side "
      "has, are not judged; the verdict says how many cases it covers. Exit codes: 0 nothing was found slower, 3 "
      "something is, 4 no case is undisturbed in both, 5 in time and not in cycles (the clock), 6 wrong results or no "
      "figure, 7 other hardware.",
      {"A...", "[--]", "B..."},
      {"npgpu compare last_month.h5 today.h5", "npgpu compare runs_of_may/ -- today.h5 --points",
       "npgpu compare a.h5 b.h5 --tolerance 10% --markdown", "npgpu compare job.h5:0 job.h5:1"},
      {{"What is compared",
        {Option("tolerance", {}, "Changes up to it do not matter. Default: by class of measurement, 1 % to 5 %."),
         "other-hardware"}},
       {"Output",
        {Option("all", {}, "With --points every point."), Option("points", {}, "Of each case, those that differ."),
         "markdown", "json"}}},
      run_compare};
  command.sides = true;
  return command;
}

const Joined<ListedCommand> listed_compare_traces({Asks::healthy, 4, compare_traces});

}  // namespace npgpu::cli

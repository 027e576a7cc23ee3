// Ways out of a trace: text that a person or a program reads.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   const npgpu::TraceResults results(trace);
//   const npgpu::Overview all = npgpu::overview_of(trace);
//   npgpu::report_overview(std::cout, results, all, {.width = 80});  // one screen
//   std::ofstream page("node.html");
//   npgpu::report_html(page, results, all);
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/advice.hpp"
#include "npgpu/compare.hpp"
#include "npgpu/matrix.hpp"
#include "npgpu/overview.hpp"
#include "npgpu/predict.hpp"
#include "npgpu/roofline.hpp"

namespace npgpu {

struct AmongOthers;
struct TraceResults;  // npgpu/trace_results.hpp

struct TextStyle {
  bool color = false;
  int width = 100;                  // columns of the terminal
  bool every_size = false;          // false: the perturbed neighbours of a size are folded into its row
  std::size_t series_in_trace = 0;  // where only some of them are shown; 0: all are shown
};

// Text that came from outside (a trace, a driver, the environment, a file's name) as one line of a terminal: control
// characters, line ends, characters that turn the direction of text or cannot be seen, and bytes that are not UTF-8 are
// written as "\x1b". Whatever prints such text calls it, as the reports below do. printable() keeps line ends.
std::string one_line(std::string_view);
std::string printable(std::string_view);

// Four significant digits; "-" if it is NaN.
std::string rate_text(double bytes_per_s);  // "55.40 GB/s", "195.3 kB/s"
std::string time_text(double us);           // "5.120 us", "1.030 ms"
// "66.9 TFLOP/s", "493 GOP/s", "4.29 TB/s", and for a chase the time of one load: "271 ns".
std::string probe_rate_text(const ProbeCase&, double per_s);
// The first point's rate, or its time where it has no rate, and half the width of the interval: "66.9 TFLOP/s ±0.10 %";
// "not usable" if it has neither. For K out of Kinds.
template <class K> std::string point_text(const Series<K>&);

// The node as a matrix: tables with a row for each source and a column for each target, and the rates of many lanes at
// once. Prints nothing for an empty one.
void matrix_text(std::ostream&, const NodeMatrix&, const TextStyle&);

// A table for each series and what is derived from all. A simulated device's series have SIMULATED in their titles.
void report_text(std::ostream&, const TraceResults&, const TextStyle&);
void report_json(std::ostream&, const TraceResults&);
// One screen: the verdict, the figures that stand for a device, and how far they can be trusted. As tables for GitHub;
// as a page that needs nothing but a browser.
void report_overview(std::ostream&, const TraceResults&, const Overview&, const TextStyle&);
// The same in at most 30 lines for one GPU: a figure a question, with its interval and the limit that it is judged by.
// False, and nothing is written, where the trace has none of these figures.
bool report_glance(std::ostream&, const Overview&, const TextStyle&);
// Whether all series are what a report shows where nothing is asked for: they are few, and no figure stands for them.
bool is_shown_whole(const Trace&, const Overview&);
void report_overview_json(std::ostream&, const Overview&);
void report_markdown(std::ostream&, const TraceResults&, const Overview&, std::size_t series_in_trace = 0);
void report_html(std::ostream&, const TraceResults&, const Overview&, std::span<const AmongOthers> among = {});
void among_text(std::ostream&, std::span<const AmongOthers>, const TextStyle&);

// The runs of a merged file: a row for each, with its host, Slurm job, rank and devices.
void runs_text(std::ostream&, const std::string& file, const std::vector<Trace>& runs, const TextStyle&);
void runs_json(std::ostream&, const std::string& file, const std::vector<Trace>& runs);

// What was compared, and what compare() found. The names are those of the files.
struct ComparisonReport {
  struct Side {
    std::vector<std::string> files;
    std::vector<const Trace*> runs;
  };
  Side a, b;
  Comparison found;
  bool refused = false;  // as it is other hardware: only that is said
};
struct ComparisonDetail {
  bool every_case = false;  // also those that are the same
  bool points = false;      // those that differ; with every_case all of them
};
// Who A and B are and what differs, the verdict, key figures, a line for each case. As text for a terminal, or as
// tables for GitHub.
void compare_text(std::ostream&, const ComparisonReport&, const ComparisonDetail&, const TextStyle&);
void compare_markdown(std::ostream&, const ComparisonReport&, const ComparisonDetail&);
void compare_json(std::ostream&, const ComparisonReport&);

// What is derived from a trace. Full: with formula, meaning and what disturbs each parameter.
enum class Detail { brief, full };
void parameters_text(std::ostream&, const std::vector<DeviceParameters>&, Detail, const TextStyle&);
void parameters_json(std::ostream&, const std::vector<DeviceParameters>&);

// A device's roofs, ridges and measured points, and kernels of the user's own that are compared with them.
struct RooflineReport {
  Roofline roofline;
  std::vector<PlacedKernel> kernels{};
};
void roofline_text(std::ostream&, std::span<const RooflineReport>, const TextStyle&);
void roofline_json(std::ostream&, std::span<const RooflineReport>);

// A job played through a simulated node, and what other numbers of streams would have given.
struct Simulation {
  std::string node;  // "sim:h200", or how its costs were given
  Job job;
  Order order = Order::breadth_first;
  std::uint32_t streams = 1;
  StreamCosts costs;
  Timeline timeline;
  Prediction prediction;
  std::uint32_t chunks = 0;  // more than streams: they take turns
};
// Totals, and a row a server: which chunk it works on, over the time.
void simulation_text(std::ostream&, const Simulation&, const TextStyle&);
void simulation_json(std::ostream&, const Simulation&);
// Chrome's trace event format, which Perfetto (ui.perfetto.dev) opens: servers as one process, streams as another.
void simulation_chrome(std::ostream&, const Simulation&);

// How long a job takes in n streams on a measured device, which n is best, and what is advised.
struct ForecastReport {
  const MeasuredCosts* costs = nullptr;
  Job job;
  Order order = Order::breadth_first;
  Forecast forecast;
  Advice advice;
  std::vector<std::string> notes{};  // what else is to be said, a sentence each
};
void forecast_text(std::ostream&, const ForecastReport&, const TextStyle&);
void forecast_json(std::ostream&, const ForecastReport&);
enum class Language { cuda, cupy, torch };  // C++, and Python with one of two libraries
template <> inline constexpr std::array<std::string_view, 3> names_of<Language>{"cuda", "cupy", "torch"};
// The advice as a program that times itself; the lean form where there is one.
void forecast_code(std::ostream&, const ForecastReport&, Language);
// Measured jobs, and what is predicted of each: a row for each job with its best numbers of streams.
struct PredictedJobsReport {
  const MeasuredCosts* costs = nullptr;
  PredictedJobs predicted;
  std::vector<GraphComparison> graphs;
  std::vector<SplitInTurn> in_turn;
  std::size_t disturbed = 0;
};
void predicted_jobs_text(std::ostream&, const PredictedJobsReport&, const TextStyle&);
void predicted_jobs_json(std::ostream&, const PredictedJobsReport&);

// A table of one kind. Samples: each with its case, axes and visit. Summary: a row for each point, as data/TABLES.md
// describes it.
enum class CsvRows { samples, summary };
template <> inline constexpr std::array<std::string_view, 2> names_of<CsvRows>{"samples", "points"};
struct CsvTable {
  std::string kind = std::string(Transfers::name);
  CsvRows rows = CsvRows::samples;
};
// Throws Error(usage) if there is no such kind, or the trace has no such rows; the sentence names those that it has.
void export_csv(std::ostream&, const Trace&, const CsvTable& = {});
// Points of several runs below each other, under one header. Samples do not say of which run they are, so that they are
// written of one run only.
void export_csv(std::ostream&, std::span<const Trace> runs, const CsvTable&);
// The whole trace, provenance included.
void export_json(std::ostream&, const Trace&);
// NetPIPE's np.out of one series (lane 0; duplex: both together, bytes of both): bytes, average, minimum and maximum
// Gbit/s, average microseconds (NetPIPE 5: "%9d %9.3f %9.3f %9.3f %7.2f"), without its 1 us clamp.
void export_npout(std::ostream&, const TransferSeries&);

}  // namespace npgpu

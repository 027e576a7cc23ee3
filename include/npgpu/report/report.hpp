// Ways out of a trace: text that a person or a program reads, a comparison with what papers published, and the outcome
// of a check.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   const npgpu::TraceResults results(trace);
//   const npgpu::Overview all = npgpu::overview_of(trace);
//   npgpu::report_overview(std::cout, results, all, {.width = 80});  // one screen
//   std::ofstream page("node.html");
//   npgpu::report_html(page, results, all);
#pragma once

#include <array>
#include <iosfwd>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/judge/health.hpp"
#include "npgpu/judge/matrix.hpp"
#include "npgpu/judge/overview.hpp"
#include "npgpu/model/advice.hpp"
#include "npgpu/model/compare.hpp"
#include "npgpu/model/derive.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/model/predict.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu {

struct TextStyle {
  bool color = false;
  int width = 100;                  // columns of the terminal; rows of wider tables are folded
  bool whole_tables = false;        // tables are as wide as they are, as in a pipe
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
struct AppForecastReport;
// `application`: of a recording; then its step is on the page.
void report_html(std::ostream&, const TraceResults&, const Overview&, std::span<const AmongOthers> among = {},
                 const AppForecastReport* application = nullptr);
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
// A kernel that nobody has run yet, alone.
struct KernelReport {
  const DeviceModel* device = nullptr;
  KernelTime time{};
};
void kernel_text(std::ostream&, const KernelReport&, const TextStyle&);
void kernel_json(std::ostream&, const KernelReport&);

struct ForecastReport {
  const MeasuredCosts* costs = nullptr;
  Job job;
  Order order = Order::breadth_first;
  Forecast forecast;
  Advice advice;
  std::vector<std::string> notes{};  // what else is to be said, a sentence each
  // Where the kernel is counted and not timed: its time, and those of the advised form with its interval.
  std::optional<KernelTime> kernel{};
  std::array<Seconds, 2> by_kernel{};
  std::vector<StreamModelChoice> models{};  // of the literature; their times are as the forecast's candidates
};
void forecast_text(std::ostream&, const ForecastReport&, const TextStyle&);
void forecast_json(std::ostream&, const ForecastReport&);
enum class Language { cuda, cupy, torch };  // C++, and Python with one of two libraries
template <> inline constexpr std::array<std::string_view, 3> names_of<Language>{"cuda", "cupy", "torch"};
// The advice as a program that times it beside the unsplit job, and says which won.
void forecast_code(std::ostream&, const ForecastReport&, Language);
// Measured jobs, and what is predicted of each: a row for each job with its best numbers of streams; chunks in turn;
// and which of the trace's times are left out.
struct PredictedJobsReport {
  const MeasuredCosts* costs = nullptr;
  PredictedJobs predicted;
  std::vector<GraphComparison> graphs;
  std::vector<SplitInTurn> in_turn;
  std::vector<LeftOutTimes> left_out;
};
// "12 times disturbed by others; 3 times without the same job unsplit"; empty where nothing is left out.
std::string left_out_text(std::span<const LeftOutTimes>);
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
// Gbit/s, average microseconds (NetPIPE 5: "%9d %9.3f %9.3f %9.3f %7.2f"), without its 1 us clamp. `pairs`: of ranks
// that took these times together; the rates are of all of them.
void export_npout(std::ostream&, const TransferSeries&, int pairs = 1);

// What papers measured of the same architecture, and what a trace's probes say of a device: for each figure the
// ratio, and whether intervals, definitions or cards explain what is between the two. The figures ship with the program
// (data/published), each with its source, its card, and whether it was checked.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   for (const npgpu::PublishedTable& table : npgpu::published(trace, npgpu::derive(trace)))
//     for (const npgpu::PublishedRow& row : table.rows)
//       std::cout << row.figure.parameter << ": " << row.ours.value << " here, " << row.comparable << " on an "
//                 << row.figure.source.card << ", arXiv " << row.figure.source.arxiv << '\n';

struct PublishedSource {
  std::string arxiv, title, card;
  double units = 0, clock_mhz = 0;  // of the card, and its highest
};

struct PublishedFigure {
  PublishedSource source;
  std::string parameter;   // that it is compared with
  std::string minus;       // its value less this one's; empty: alone
  double value = 0;        // as published
  std::string unit;        // "cycles", "B/cycle/SM"; of a whole card "B/cycle", "TB/s", "TFLOP/s", "TOP/s"
  std::string definition;  // how it was measured
  std::string differs;     // in what that is not how ours was; empty: not known to be otherwise
  bool checked = false;    // against notes of the paper's whole text
};

enum class Standing {
  agrees,       // to 3 % or 2 cycles
  interval,     // farther off, but our interval reaches there
  definition,   // and something else was measured
  card,         // and it is a rate of a whole card, whose clock is not known
  unexplained,  // and none of these
};
template <>
inline constexpr std::array<std::string_view, 5> names_of<Standing>{"agrees", "interval", "definition", "card",
                                                                    "unexplained"};

struct PublishedRow {
  PublishedFigure figure;
  Estimate ours;          // in its own unit
  double comparable = 0;  // the figure in that unit: a card's rate over its units and highest clock
  Estimate ratio;         // ours over it
  Standing standing = Standing::unexplained;
};

struct PublishedTable {
  std::string device, device_name, capability;
  bool simulated = false;
  std::vector<PublishedRow> rows;    // of parameters that were derived
  std::vector<std::string> missing;  // parameters that papers have and the trace has not
};

// One table for each device whose architecture there are figures of. `derived`: of the same trace.
std::vector<PublishedTable> published(const Trace&, const std::vector<DeviceParameters>& derived);

void published_text(std::ostream&, const std::vector<PublishedTable>&, const TextStyle&);
void published_json(std::ostream&, const std::vector<PublishedTable>&);

// The outcome of a check of a node, for people and for machines.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   npgpu::CheckReport check;
//   check.root = trace.root;
//   check.gpus = npgpu::gpus_of(trace);
//   check.findings = npgpu::health_of(trace);
//   check.verdict = npgpu::verdict_of(check.findings);
//   npgpu::check_text(std::cout, check, false, {.width = 80});
//   std::cout << npgpu::check_reason(check) << '\n';  // what fails, in few words

struct CheckReport {
  struct Gpu {
    std::string id, name, uuid;
    bool simulated = false;
  };
  TraceRoot root;  // where and when
  std::vector<Gpu> gpus;
  std::vector<HealthFinding> findings;
  CheckVerdict verdict = CheckVerdict::not_judged;
  int exit_code = 0;
  std::string decided;             // by which limits: "limits of link, clock and width", "reference node7.h5"
  std::string why_not_judged;      // of the whole check; empty where something was judged
  std::size_t measured_again = 0;  // points with figures beyond their limits, or with intervals that hold them
  double wall_s = not_measured;
  std::string trace;  // its path; empty if it is not kept
  std::vector<SoakDevice> soaks{};
};
std::vector<CheckReport::Gpu> gpus_of(const Trace&);

// A line for each GPU, then each failure and warning with causes and remedies; `every_finding`: also what passes.
void check_text(std::ostream&, const CheckReport&, bool every_finding, const TextStyle&);
void check_json(std::ostream&, const CheckReport&);
// What fails, in few words: "cuda:3 PCIe x8/x16, H2D 27/52 GB/s; cuda:5 too hot". The finding that decides the verdict
// comes first, and its first twenty characters name the device and the fault. Empty where nothing fails.
std::string check_reason(const CheckReport&);
// JUnit XML: a suite for each GPU, a case for each finding.
void check_junit(std::ostream&, const CheckReport&);
// OpenMetrics text. It has gauges only, so that the older parsers of Prometheus read it, too.
void check_openmetrics(std::ostream&, const CheckReport&);

}  // namespace npgpu

// Ways out of a trace. One exporter a file; each writes text that a person or a program reads.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/model.hpp"
#include "npgpu/derive.hpp"
#include "npgpu/predict.hpp"
#include "npgpu/simulate.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

struct TextStyle {
  bool color = false;
  int width = 100;  // columns of the terminal
  bool every_size = false;  // false: the perturbed neighbours of a size are folded into its row
};

// "4 KiB", "1.5 MiB", "4093 B": always exact.
std::string size_text(std::uint64_t bytes);
// "55.40 GB/s", "195.3 kB/s": four significant digits; "-" if it is NaN.
std::string rate_text(double bytes_per_s);
// "5.120 us", "1.030 ms": four significant digits; "-" if it is NaN.
std::string time_text(double us);

// "66.9 TFLOP/s", "493 GOP/s", "4.29 TB/s", and for a chase the time of one load: "271 ns".
std::string probe_rate_text(const ProbeCase&, double per_s);
// "132 x 1024 threads, ilp 4, 16 B each, in 4 GiB, alone"
std::string text_of(const Shape&);
// The rate of a probe's first point, and half the width of its interval: "66.9 TFLOP/s ±0.10 %".
std::string probe_point_text(const ProbeSeries&);

// "60 MiB in, 60 MiB out, kernel 60 MiB x 64, 16 chunks in 16 streams"
std::string text_of(const JobShape&);
// The time of a case's first job, and half the width of its interval: "1.458 ms ±0.10 %".
std::string job_point_text(const JobSeries&);

// The readable summary: per sweep a table of size, rate, percent of the limit, time, interval, and the
// curve in a few numbers. A simulated device's says SIMULATED in its title.
void report_text(std::ostream&, const Trace&, const TextStyle&);
// One short line a sweep: best rate, percent, latency, n_1/2.
void report_overview(std::ostream&, const Trace&, const TextStyle&);
void report_json(std::ostream&, const Trace&);

void compare_text(std::ostream&, const std::vector<PointComparison>&, double tolerance, const TextStyle&);
void compare_json(std::ostream&, const std::vector<PointComparison>&, double tolerance);

// What probes tell of how devices are built. Full: with formula, meaning and what disturbs each parameter.
enum class Detail { brief, full };
void parameters_text(std::ostream&, const std::vector<DeviceParameters>&, Detail, const TextStyle&);
void parameters_json(std::ostream&, const std::vector<DeviceParameters>&);

// A job played through a simulated node, and what other numbers of streams would have given.
struct Simulation {
  std::string node;  // "sim:h200", or how its costs were given
  Job job;
  Order order = Order::breadth_first;
  std::uint32_t streams = 1;
  StreamCosts costs;
  Timeline timeline;
  Prediction prediction;
};
// Totals, and a row a server: which chunk it works on, over the time.
void simulation_text(std::ostream&, const Simulation&, const TextStyle&);
void simulation_json(std::ostream&, const Simulation&);
// Chrome's trace event format, which Perfetto (ui.perfetto.dev) opens: servers as one process, streams as another.
void simulation_chrome(std::ostream&, const Simulation&);

// How long a job takes in n streams on a measured device, and which n is best.
struct ForecastOf {
  const MeasuredCosts* costs = nullptr;
  Job job;
  Order order = Order::breadth_first;
  Forecast forecast;
};
void forecast_text(std::ostream&, const ForecastOf&, const TextStyle&);
void forecast_json(std::ostream&, const ForecastOf&);
// Predictions held against measured workloads: a row a model; full: the simulator's times for every workload, too.
void evaluation_text(std::ostream&, const Evaluation&, Detail, const TextStyle&);
void evaluation_json(std::ostream&, const Evaluation&);

// Every sample of every sweep, one row each, with the case's words in front.
void export_csv(std::ostream&, const Trace&);
// Likewise every sample of every probe.
void export_probes_csv(std::ostream&, const Trace&);
// Likewise every sample of every job in streams.
void export_streams_csv(std::ostream&, const Trace&);
// The whole trace, provenance included.
void export_json(std::ostream&, const Trace&);
// NetPIPE's np.out of one sweep (lane 0; duplex: both together, bytes of both): bytes, average, minimum and maximum
// Gbit/s, average microseconds (NetPIPE 5: "%9d %9.3f %9.3f %9.3f %7.2f"), without its 1 us clamp.
void export_npout(std::ostream&, const TransferSeries&);

}  // namespace npgpu

// One series of jobs: a row for each job.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "netpipe/report/document.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

std::string bytes_cell(std::uint64_t bytes) { return bytes ? size_text(bytes) : "-"; }

std::string time_note(Gating gating) {
  switch (gating) {
    case Gating::open: break;
    case Gating::gated: return "us: device time, from the opening of the gate to the end of the last stream's work";
    case Gating::last_stream_free:
      return fmt::format(
          "us: host time, from the first call to the end of the last stream's work, while all other streams wait "
          "behind a gate; the gate is opened if that work has not ended {:.0f} us after the last call",
          microseconds(last_stream_free_patience));
  }
  return "us: host time, from the first call to the end of synchronization";
}

std::size_t place_of_least(const std::vector<double>& us) {
  return static_cast<std::size_t>(std::ranges::min_element(us) - us.begin());
}

std::string in_streams_text(double us, std::uint32_t streams) {
  return fmt::format("{} in {:>2}", time_text(us), streams);
}

}  // namespace

void series_text(Document& doc, const JobSeries& series, bool) {
  if (!heading(doc, series)) return;
  Table table({right("in"), right("out"), right("kernel"), right("iterations", 2), right("chunks"), right("streams", 3),
               decimal("us"), right("95 % interval", 1), decimal("speed-up"),
               decimal("create us", 2, series.question.pool == StreamPool::fresh), decimal("issue us", 2),
               right("trials", 4), left("")});
  const auto points = points_by_axes(series);
  Marks marks;
  for (const JobResult& s : results(series))
    table.row({bytes_cell(s.axes.bytes_in), bytes_cell(s.axes.bytes_out), bytes_cell(s.axes.kernel_bytes),
               s.axes.kernel_bytes ? std::to_string(s.axes.iterations) : "-", std::to_string(s.axes.chunks),
               std::to_string(s.axes.streams), digits_text(s.time_us.value), interval_text(s.time_us),
               digits_text(s.speed_up, 3), digits_text(s.create_us), digits_text(s.issue_us), std::to_string(s.trials),
               marks.take(points.at(s.axes), s.unsteady, s.time_us.value > 0)});
  doc.gap();
  doc.table(std::move(table));
  doc.note(time_note(series.question.gating));
  doc.note("speed-up: over the same job unsplit in one stream");
  marks.notes(doc, "jobs", series.unsteady_above);
}

// predict --measured without a job: predictions of the jobs that a trace holds, and their measured times. The
// JSON document is what `python -m npgpu.study` reads. Regrets are those of npgpu/model/statistics.hpp: of each number
// of streams, and of choosing by half of the rounds ("measuring"); "others" are jobs with fewer than three splits, or
// with streams made for the job; chunk_us is one chunk alone on its engine.

namespace {

std::string left_out_because(const LeftOutTimes& of) {
  static constexpr std::array<std::string_view, names_of<LeftOut>.size()> texts{
      "disturbed by others",
      "wrong or without a time",
      "of parts alone: without copies or a kernel, behind a gate, or in independent order",
      "in another number of streams than of chunks, and not in turn (depth-first, in fewer pooled streams)",
      "without the same job unsplit",
      "of jobs that were not split",
      "of graphs, without the same job in streams, four numbers of chunks, or what graphs cost"};
  return fmt::format("{} {}", counted(of.times, "time"), texts[static_cast<std::size_t>(of.why)]);
}

}  // namespace

std::string left_out_text(std::span<const LeftOutTimes> left_out) {
  std::string text;
  for (const LeftOutTimes& one : left_out) text += (text.empty() ? "" : "; ") + left_out_because(one);
  return text;
}

void predicted_jobs_text(std::ostream& out, const PredictedJobsReport& of, const TextStyle& style) {
  Document doc;
  const auto &scored = of.predicted.jobs, &others = of.predicted.others;
  const std::size_t jobs = scored.size() + others.size();
  doc.title(fmt::format("prediction for {} ({}) of {}", of.costs->device, of.costs->device_name,
                        jobs ? counted(jobs, "measured job") : counted(of.in_turn.size(), "split") + " in turn"),
            of.costs->simulated);
  doc.gap();
  Table table({right("in"), right("kernel"), right("out"), left("of", 2), left("order", 1), left("streams", 1),
               right("best measured"), right("best predicted"), right("measured there")});
  const auto row = [&](const PredictedJob& one) {
    const MeasuredWorkload& w = one.workload;
    std::vector<double> measured_us;
    for (const Estimate& t : w.time_us) measured_us.push_back(t.value);
    const std::size_t best = place_of_least(measured_us), chosen = place_of_least(one.predicted_us);
    table.row({about_size_text(static_cast<double>(w.job.bytes_in)), time_text(microseconds(one.job.kernel)),
               about_size_text(static_cast<double>(w.job.bytes_out)), std::string(name(w.question.workload)),
               std::string(name(w.question.order)), std::string(name(w.question.pool)),
               in_streams_text(measured_us[best], w.streams[best]),
               in_streams_text(one.predicted_us[chosen], w.streams[chosen]), time_text(measured_us[chosen])});
  };
  std::ranges::for_each(scored, row);
  std::ranges::for_each(others, row);
  if (jobs) {
    doc.table(std::move(table));
    doc.note(
        "Best: the least time, and its number of streams, among those measured. The kernel's time is the unsplit job's "
        "less its copies, weighed with that of kernels of its sort alone, where these were measured and are near.");
  }
  if (!of.in_turn.empty()) {
    Table turns({right("chunks"), right("streams"), right("measured"), right("predicted")});
    for (const SplitInTurn& one : of.in_turn)
      turns.row({std::to_string(one.chunks), std::to_string(one.streams), time_text(one.measured_us),
                 time_text(one.predicted_us)});
    if (jobs) doc.gap();
    doc.table(std::move(turns));
    doc.note("Chunks in turn, depth-first in fewer streams.");
  }
  if (!of.graphs.empty())
    doc.note(fmt::format("{} also measured as graphs: --json has their times.", counted(of.graphs.size(), "job")));
  if (!of.left_out.empty()) doc.note("Left out: " + left_out_text(of.left_out) + ".");
  doc.note(
      "python -m npgpu.study says how far predictions are off, and those of the models of the literature; --json "
      "has every time.");
  out << to_text(doc, style);
}

NPGPU_FORM(Stages, us<"h2d", &T::h2d>, us<"kernel", &T::kernel>, us<"d2h", &T::d2h>);
struct IntervalOf : Estimate {};  // without its method
NPGPU_FORM(IntervalOf, &T::value, &T::low, &T::high);
struct PredictedSplit {
  std::uint32_t streams = 1;
  Estimate measured{};
  double predicted_us = not_measured, as_host_was_us = not_measured;
  Stages chunk_us{};
  IntervalOf regret{};
};
NPGPU_FORM(PredictedSplit, &T::streams, called<"measured_us", within<&T::measured, &Estimate::value>>,
           called<"low_us", within<&T::measured, &Estimate::low>>,
           called<"high_us", within<&T::measured, &Estimate::high>>, &T::predicted_us, &T::as_host_was_us, &T::chunk_us,
           &T::regret);
struct SplitPrediction {
  std::uint32_t streams = 1;
  double measured_us = not_measured, predicted_us = not_measured;
};
NPGPU_FORM(SplitPrediction, &T::streams, &T::measured_us, &T::predicted_us);

namespace {

std::vector<PredictedSplit> predicted_splits(const PredictedJob& one) {
  const MeasuredWorkload& w = one.workload;
  const std::vector<Estimate> regrets = regrets_of_choosing(w);
  std::vector<PredictedSplit> all;
  for (std::size_t i = 0; i < w.streams.size(); ++i)
    all.push_back(
        {w.streams[i], w.time_us[i], one.predicted_us[i], one.as_host_was_us[i], one.chunks[i], {regrets.at(i)}});
  return all;
}
std::size_t disturbed_times(const PredictedJobsReport& of) {
  const auto found = std::ranges::find(of.left_out, LeftOut::disturbed, &LeftOutTimes::why);
  return found == of.left_out.end() ? 0 : found->times;
}
template <auto Workload, auto Predicted> std::vector<SplitPrediction> splits_of(const GraphComparison& one) {
  std::vector<SplitPrediction> all;
  for (std::size_t i = 0; i < (one.*Workload).streams.size(); ++i)
    all.push_back({(one.*Workload).streams[i], (one.*Workload).time_us[i].value, (one.*Predicted)[i]});
  return all;
}

}  // namespace

template <auto At>
inline constexpr auto of_case = within<within<&PredictedJob::workload, &MeasuredWorkload::question>, At>;
template <auto At> inline constexpr auto of_shape = within<within<&PredictedJob::workload, &MeasuredWorkload::job>, At>;
NPGPU_FORM(PredictedJob, of_case<&JobCase::workload>, of_case<&JobCase::order>, of_case<&JobCase::pool>,
           of_shape<&JobShape::bytes_in>, of_shape<&JobShape::bytes_out>, of_shape<&JobShape::kernel_bytes>,
           of_shape<&JobShape::iterations>, of_shape<&JobShape::threads>,
           us<"kernel_us", within<&T::job, &Job::kernel>>, called<"points", &predicted_splits>,
           called<"measuring", [](const T& one) { return regrets_of_measuring(one.workload.us_by_round); }>);
NPGPU_FORM(GraphComparison, within<&T::streams, &MeasuredWorkload::job>, &T::kernel_us,
           called<"streams", &splits_of<&T::streams, &T::streams_us>>,
           called<"graph", &splits_of<&T::graph, &T::graph_us>>);
NPGPU_FORM(SplitInTurn, &T::chunks, &T::streams, &T::measured_us, &T::predicted_us);
struct CostsOf : MeasuredCosts {};
template <auto At> inline constexpr auto of_costs = within<&CostsOf::costs, At>;
NPGPU_FORM(CostsOf, us<"stream_create", &T::create>, us<"submit", of_costs<&StreamCosts::submit>>,
           us<"duplex_extra_gap", of_costs<&StreamCosts::duplex_extra_gap>>, of_costs<&StreamCosts::gap>,
           of_costs<&StreamCosts::latency>, of_costs<&StreamCosts::issue>);
NPGPU_FORM(LeftOutTimes, called<"reason", &T::why>, &T::times, called<"text", &left_out_because>);
using PredictedReport = PredictedJobsReport;
NPGPU_FORM(PredictedReport, in_place<[](const T& of) -> const MeasuredCosts& { return *of.costs; }>,
           within<&T::predicted, &PredictedJobs::jobs>, within<&T::predicted, &PredictedJobs::others>, &T::graphs,
           &T::in_turn, called<"disturbed", &disturbed_times>, &T::left_out,
           called<"calls_over_costs", [](const T& of) { return IntervalOf{of.predicted.calls}; }>,
           called<"costs_us", [](const T& of) { return CostsOf{*of.costs}; }>);

void predicted_jobs_json(std::ostream& out, const PredictedJobsReport& of) {
  write_document(out, "npgpu-predicted-jobs", 1, of);
}

}  // namespace npgpu

// predict --measured without a job: predictions of the jobs that a trace holds, and their measured times. The
// JSON document is what `python -m npgpu.study` reads. Keys are stable; new ones may be added. Times are microseconds.
//
//   { "document": "npgpu-predicted-jobs", "version": 1, "device", "device_name", "simulated",
//     "jobs": [ { workload, order, pool, fields of the job, kernel_us,
//                 "points": [ { streams, measured_us, low_us, high_us, predicted_us,
//                               as_host_was_us: with calls as slow as those of the other jobs,
//                               chunk_us: { h2d, kernel, d2h } of one chunk alone on its engine,
//                               regret: { value, low, high } of choosing this number, cross-validated } ],
//                 "measuring": [ regrets of choosing by half of the rounds ] } ],
//     "others": jobs with fewer than three splits, or with streams made for the job,
//     "graphs": [ { "job": its fields, kernel_us, "streams": [ { streams, measured_us, predicted_us } ],
//                   "graph": the same of the job as a graph of so many chains } ],
//     "in_turn": [ { chunks, streams, measured_us, predicted_us } ] of jobs whose chunks took turns in fewer streams,
//     "disturbed": how many times others disturbed, which are left out,
//     "calls_over_costs": { value, low, high } of the host's time for the calls of jobs,
//     "costs_us": { stream_create, submit, duplex_extra_gap, "gap": { h2d, kernel, d2h }, "latency", "issue" } }
//   npgpu/regret.hpp says what regrets are; they are null for jobs measured in one round.
#include <fmt/format.h>

#include <algorithm>

#include "netpipe/report/document.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/json.hpp"

namespace npgpu {

namespace {

std::size_t place_of_least(const std::vector<double>& us) {
  return static_cast<std::size_t>(std::ranges::min_element(us) - us.begin());
}

std::string in_streams_text(double us, std::uint32_t streams) {
  return fmt::format("{} in {:>2}", time_text(us), streams);
}

Json stages_json(const Stages& s) {
  return Json(
      {entry("h2d", microseconds(s.h2d)), entry("kernel", microseconds(s.kernel)), entry("d2h", microseconds(s.d2h))});
}

Json interval_json(const Estimate& e) {
  return Json({entry("value", e.value), entry("low", e.low), entry("high", e.high)});
}

Json measured_job_json(const PredictedJob& one) {
  const MeasuredWorkload& w = one.workload;
  const std::vector<Estimate> regrets = regrets_of_choosing(w);
  Json points = Json::array();
  for (std::size_t i = 0; i < w.streams.size(); ++i) {
    const Estimate& t = w.time_us[i];
    points.push_back({entry("streams", w.streams[i]), entry("measured_us", t.value), entry("low_us", t.low),
                      entry("high_us", t.high), entry("predicted_us", one.predicted_us[i]),
                      entry("as_host_was_us", one.as_host_was_us[i]), entry("chunk_us", stages_json(one.chunks[i])),
                      entry("regret", interval_json(regrets.at(i)))});
  }
  return Json({entry("workload", w.question.workload), entry("order", w.question.order), entry("pool", w.question.pool),
               entry("bytes_in", w.job.bytes_in), entry("bytes_out", w.job.bytes_out),
               entry("kernel_bytes", w.job.kernel_bytes), entry("iterations", w.job.iterations),
               entry("threads", w.job.threads), entry("kernel_us", microseconds(one.job.kernel)),
               entry("points", points), entry("measuring", regrets_of_measuring(w.us_by_round))});
}

Json both_ways_json(const GraphComparison& one) {
  const auto splits = [](const MeasuredWorkload& w, const std::vector<double>& predicted_us) {
    Json all = Json::array();
    for (std::size_t i = 0; i < w.streams.size(); ++i)
      all.push_back({entry("streams", w.streams[i]), entry("measured_us", w.time_us[i].value),
                     entry("predicted_us", predicted_us[i])});
    return all;
  };
  Json json({entry("job", Json::object()), entry("kernel_us", one.kernel_us),
             entry("streams", splits(one.streams, one.streams_us)), entry("graph", splits(one.graph, one.graph_us))});
  add_fields(json["job"], one.streams.job);
  return json;
}

Json costs_json(const MeasuredCosts& measured) {
  const StreamCosts& c = measured.costs;
  return Json({entry("stream_create", microseconds(measured.create)), entry("submit", microseconds(c.submit)),
               entry("duplex_extra_gap", microseconds(c.duplex_extra_gap)), entry("gap", stages_json(c.gap)),
               entry("latency", stages_json(c.latency)), entry("issue", stages_json(c.issue))});
}

}  // namespace

void predicted_jobs_text(std::ostream& out, const PredictedJobsReport& of, const TextStyle& style) {
  Document doc;
  const auto& jobs = of.predicted.jobs;
  doc.title(fmt::format("prediction for {} ({}) of {}", of.costs->device, of.costs->device_name,
                        counted(jobs.size(), "measured job")),
            of.costs->simulated);
  doc.gap();
  Table table({right("in"), right("kernel"), right("out"), left("of", 2), left("order", 1), right("best measured"),
               right("best predicted"), right("measured there")});
  for (const PredictedJob& one : jobs) {
    const MeasuredWorkload& w = one.workload;
    std::vector<double> measured_us;
    for (const Estimate& t : w.time_us) measured_us.push_back(t.value);
    const std::size_t best = place_of_least(measured_us), chosen = place_of_least(one.predicted_us);
    table.row({about_size_text(static_cast<double>(w.job.bytes_in)), time_text(microseconds(one.job.kernel)),
               about_size_text(static_cast<double>(w.job.bytes_out)), std::string(name(w.question.workload)),
               std::string(name(w.question.order)), in_streams_text(measured_us[best], w.streams[best]),
               in_streams_text(one.predicted_us[chosen], w.streams[chosen]), time_text(measured_us[chosen])});
  }
  doc.table(std::move(table));
  doc.note(
      "Best: the least time, and its number of streams, among those measured. The kernel's time is the unsplit job's "
      "less its copies, weighed with that of kernels of its sort alone, where these were measured and are near.");
  doc.left_out();
  if (of.disturbed) doc.note(fmt::format("Left out: {} that others disturbed.", counted(of.disturbed, "time")));
  doc.note(
      "python -m npgpu.study says how far predictions are off, and those of the models of the literature; --json "
      "has every time.");
  out << to_text(doc, style);
}

void predicted_jobs_json(std::ostream& out, const PredictedJobsReport& of) {
  write_json(out,
             Json({entry("document", "npgpu-predicted-jobs"), entry("version", 1), entry("device", of.costs->device),
                   entry("device_name", of.costs->device_name), entry("simulated", of.costs->simulated),
                   entry("jobs", array_of(of.predicted.jobs, measured_job_json)),
                   entry("others", array_of(of.predicted.others, measured_job_json)),
                   entry("graphs", array_of(of.graphs, both_ways_json)),
                   entry("in_turn", array_of(of.in_turn,
                                             [](const SplitInTurn& s) {
                                               return Json({entry("chunks", s.chunks), entry("streams", s.streams),
                                                            entry("measured_us", s.measured_us),
                                                            entry("predicted_us", s.predicted_us)});
                                             })),
                   entry("disturbed", of.disturbed), entry("calls_over_costs", interval_json(of.predicted.calls)),
                   entry("costs_us", costs_json(*of.costs))}),
             1);
}

}  // namespace npgpu

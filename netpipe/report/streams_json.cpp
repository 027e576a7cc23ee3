// predict --json and simulate --json. Keys are stable; new ones may be added. Times are microseconds.
//
//   { "document": "npgpu-prediction", "version": 1, "device", "device_name", "simulated",
//     "job": { in_bytes, out_bytes, kernel_us, blocks, slots }, "order",
//     "best": { streams, fewest, most, time_us, low_us, high_us, speed_up, bound, bound_time_us },
//     "advised": { streams, chunks, order, time_us, chunk_in_bytes, chunk_out_bytes, device_bytes },
//     "lean": the same with the least device memory, or null, "max_memory_bytes": null where it is not limited,
//     "graph": { chains, time_us, gain (over the advised streams, a share), instantiate_us, pays_after (launches), or
//                null } or null where its costs are not known,
//     "error": { source, from_us, to_us, workloads, median, p95, most } of measured jobs as long as this one, or null,
//     "notes": [ sentences ],
//     "candidates": [ { streams, time_us, low_us, high_us } ] }
//   With limited memory `advised` is the best that fits, and `best` what would be best without the limit.
//
//   { "document": "npgpu-evaluation", "version": 1, "device_name", "simulated",
//     "models": [ { model, source, fitted, workloads, error: { median, p95, most }, regret: { ... },
//                   advised_regret: { ... }, cross_validated: { choices, mean, median, p5, p95, worse },
//                   advised_cross_validated: { ... }, hits, r2, rmse_us } ],
//     "calls_over_costs": { value, low, high } of the host's time for its calls,
//     "measuring": { median, p95, most } of regrets_of_measuring(), null for jobs measured in one round,
//     "disturbed": how many times others disturbed, which are left out,
//     "by_length": [ { from_us, to_us, workloads, error: { ... } } ],
//     "workloads": [ { workload, order, pool, fields of the job, kernel_us, h2d_us, d2h_us, best, predicted_best,
//                      regret,
//                      "points": [ { streams, measured_us, low_us, high_us, predicted_us } ],
//                      "models": [ { model, predicted_best, regret, cross_validated, cross_validated_low,
//                                    cross_validated_high, hit, advised, advised_regret, advised_cross_validated,
//                                    predicted_us } ],
//                      "hypotheses": [ { hypothesis, predicted_us } ] } ],
//     "graphs": [ { "job": its fields, kernel_us, "streams": [ { streams, measured_us, predicted_us } ], "graph": the
//                   same of the job as a graph of so many chains } ],
//     "in_turn": { splits, error: { ... } } of jobs whose chunks took turns in fewer streams,
//     "others": workloads that are in no score: fewer than three cuts, or streams made for the job }
//   cross_validated is the regret without the luck of the least time, null for jobs measured in one round; `worse`
//   counts the choices whose interval is above 0. npgpu/regret.hpp has the definition.
//   A point's predicted_us and a workload's predicted_best and regret are the simulator's. A model's and a hypothesis'
//   predicted_us is a list as long as "points"; null where a model only chooses, or had nothing to be fitted to.
//
//   { "document": "npgpu-simulation", "version": 1, "node", "simulated": true,
//     "job": { in_bytes, out_bytes, kernel_us, blocks, slots }, "order", "streams", "chunks", "total_us",
//     "busy_us": { host, copy_in, copy_out, compute },
//     "best": { streams, time_us, speed_up (over one stream), bound, bound_time_us },
//     "candidates": [ { streams, time_us } ],
//     "timeline": [ { stage, chunk, queue, server, start_us, end_us } ] }
//   A simulation's times are from the first stream's creation.
#include "netpipe/report/regret.hpp"

namespace npgpu {

namespace {

Json us(Seconds t) { return json_of(microseconds(t)); }

Json job_json(const Job& job) {
  return Json({entry("in_bytes", job.in_bytes), entry("out_bytes", job.out_bytes), entry("kernel_us", us(job.kernel)),
               entry("blocks", job.blocks), entry("slots", job.slots)});
}

Json workload(const WorkloadScore& w) {
  const JobShape& job = w.workload.job;
  const ModelPrediction& simulator = w.simulator();
  Json points = Json::array();
  for (std::size_t i = 0; i < w.workload.streams.size(); ++i) {
    const Estimate& t = w.workload.time_us[i];
    points.push_back({entry("streams", w.workload.streams[i]), entry("measured_us", t.value), entry("low_us", t.low),
                      entry("high_us", t.high), entry("predicted_us", simulator.predicted_us[i])});
  }
  const Json models = array_of(w.models, [](const ModelPrediction& p) {
    return Json({entry("model", p.model), entry("predicted_best", p.predicted_best), entry("regret", p.regret),
                 entry("cross_validated", p.cross_validated.value), entry("cross_validated_low", p.cross_validated.low),
                 entry("cross_validated_high", p.cross_validated.high), entry("hit", p.hit),
                 entry("advised", p.advised), entry("advised_regret", p.advised_regret),
                 entry("advised_cross_validated", p.advised_cross_validated.value),
                 entry("predicted_us", p.predicted_us)});
  });
  const Json hypotheses = array_of(w.hypotheses, [](const Hypothesis& h) {
    return Json({entry("hypothesis", h.name), entry("predicted_us", h.predicted_us)});
  });
  return Json({entry("workload", w.workload.question.workload), entry("order", w.workload.question.order),
               entry("pool", w.workload.question.pool), entry("bytes_in", job.bytes_in),
               entry("bytes_out", job.bytes_out), entry("kernel_bytes", job.kernel_bytes),
               entry("iterations", job.iterations), entry("threads", job.threads), entry("kernel_us", w.kernel_us),
               entry("h2d_us", w.h2d_us), entry("d2h_us", w.d2h_us), entry("best", w.best),
               entry("predicted_best", simulator.predicted_best), entry("regret", simulator.regret),
               entry("points", points), entry("models", models), entry("hypotheses", hypotheses)});
}

Json graph_json(const GraphComparison& one) {
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

Json split_json(const Job& job, const SplitTime& s) {
  const Buffers b = buffers_of(job, s.chunks, s.streams);
  return Json({entry("streams", s.streams), entry("chunks", s.chunks), entry("order", s.order),
               entry("time_us", us(s.run.total)), entry("chunk_in_bytes", b.in_bytes),
               entry("chunk_out_bytes", b.out_bytes), entry("device_bytes", b.all_bytes)});
}

Json graph_advice_json(const GraphAdvice& g) {
  return Json({entry("chains", g.advised.streams), entry("time_us", us(g.advised.run.total)), entry("gain", g.gain),
               entry("instantiate_us", g.instantiate ? us(*g.instantiate) : Json(nullptr)),
               entry("pays_after", g.pays_after ? json_of(*g.pays_after) : Json(nullptr))});
}

Json error_json(const Advice& a) {
  if (!a.error) return nullptr;
  const LengthClass& c = *a.error;
  return Json({entry("source", a.error_source), entry("from_us", c.from_us), entry("to_us", c.to_us),
               entry("workloads", c.workloads), entry("median", c.error.median), entry("p95", c.error.p95),
               entry("most", c.error.most)});
}

}  // namespace

void forecast_json(std::ostream& out, const ForecastReport& of) {
  const Prediction& p = of.forecast.prediction;
  const Estimate& best = of.forecast.time_us;
  Json json({entry("document", "npgpu-prediction"), entry("version", 1), entry("device", of.costs->device),
             entry("device_name", of.costs->device_name), entry("simulated", of.costs->simulated),
             entry("job", job_json(of.job)), entry("order", of.order),
             entry("best", Json{entry("streams", p.streams), entry("fewest", of.forecast.fewest),
                                entry("most", of.forecast.most), entry("time_us", best.value),
                                entry("low_us", best.low), entry("high_us", best.high), entry("speed_up", p.speed_up),
                                entry("bound", p.bound), entry("bound_time_us", us(p.bound_time))}),
             entry("advised", split_json(of.job, of.advice.advised)),
             entry("lean", of.advice.lean ? split_json(of.job, *of.advice.lean) : Json(nullptr)),
             entry("graph", of.advice.graph ? graph_advice_json(*of.advice.graph) : Json(nullptr)),
             entry("max_memory_bytes", of.advice.max_memory ? Json(*of.advice.max_memory) : Json(nullptr)),
             entry("error", error_json(of.advice)), entry("notes", of.notes), entry("candidates", Json::array())});
  for (std::size_t i = 0; i < p.candidates.size(); ++i) {
    const Estimate& e = of.forecast.candidates_us[i];
    json["candidates"].push_back({entry("streams", p.candidates[i].streams), entry("time_us", e.value),
                                  entry("low_us", e.low), entry("high_us", e.high)});
  }
  write_json(out, json, 1);
}

void evaluation_json(std::ostream& out, const Evaluation& e, std::span<const GraphComparison> graphs,
                     const InTurnErrors& in_turn) {
  const Json models = array_of(e.models, [](const ModelScore& m) {
    return Json({entry("model", m.model), entry("source", m.source), entry("fitted", m.fitted),
                 entry("workloads", m.workloads), entry("error", spread_json(m.error)),
                 entry("regret", spread_json(m.regret)), entry("advised_regret", spread_json(m.advised_regret)),
                 entry("cross_validated", cross_validated_json(m.cross_validated)),
                 entry("advised_cross_validated", cross_validated_json(m.advised_cross_validated)),
                 entry("hits", m.hits), entry("r2", m.r2), entry("rmse_us", m.rmse_us)});
  });
  const Json json(
      {entry("document", "npgpu-evaluation"), entry("version", 1), entry("device_name", e.device_name),
       entry("simulated", e.simulated), entry("models", models),
       entry("calls_over_costs",
             Json{entry("value", e.calls.value), entry("low", e.calls.low), entry("high", e.calls.high)}),
       entry("measuring", spread_json(e.measuring)), entry("disturbed", e.disturbed),
       entry("by_length", array_of(errors_by_length(e, {}).classes,
                                   [](const LengthClass& c) {
                                     return Json({entry("from_us", c.from_us), entry("to_us", c.to_us),
                                                  entry("workloads", c.workloads),
                                                  entry("error", spread_json(c.error))});
                                   })),
       entry("workloads", array_of(e.workloads, workload)), entry("others", array_of(e.others, workload)),
       entry("graphs", array_of(graphs, graph_json)),
       entry("in_turn", Json{entry("splits", in_turn.splits), entry("error", spread_json(in_turn.error))})});
  write_json(out, json, 1);
}

void simulation_json(std::ostream& out, const Simulation& s) {
  const Busy& busy = s.timeline.run.busy;
  const Prediction& p = s.prediction;
  Json json(
      {entry("document", "npgpu-simulation"), entry("version", 1), entry("node", s.node), entry("simulated", true),
       entry("job", job_json(s.job)), entry("order", s.order), entry("streams", s.streams),
       entry("chunks", std::max(s.chunks, s.streams)), entry("total_us", us(s.timeline.run.total)),
       entry("busy_us", Json{entry("host", us(busy.host)), entry("copy_in", us(busy.copy_in)),
                             entry("copy_out", us(busy.copy_out)), entry("compute", us(busy.compute))}),
       entry("best", Json{entry("streams", p.streams), entry("time_us", us(p.time)), entry("speed_up", p.speed_up),
                          entry("bound", p.bound), entry("bound_time_us", us(p.bound_time))}),
       entry("candidates", array_of(p.candidates,
                                    [](const StreamTime& c) {
                                      return Json({entry("streams", c.streams), entry("time_us", us(c.run.total))});
                                    })),
       entry("timeline", array_of(s.timeline.entries, [](const TimelineEntry& e) {
               return Json({entry("stage", e.stage), entry("chunk", e.chunk), entry("queue", e.queue),
                            entry("server", e.server), entry("start_us", us(e.start)), entry("end_us", us(e.end))});
             }))});
  write_json(out, json, 1);
}

}  // namespace npgpu

// predict --json. Keys are stable; new ones may be added. Times are microseconds.
//
//   { "document": "npgpu-prediction", "version": 1, "device", "device_name", "simulated",
//     "job": { in_bytes, out_bytes, kernel_us, blocks, slots }, "order",
//     "best": { streams, fewest, most, time_us, low_us, high_us, speed_up, bound, bound_time_us },
//     "candidates": [ { streams, time_us, low_us, high_us } ] }
//
//   { "document": "npgpu-evaluation", "version": 1, "device_name", "simulated",
//     "models": [ { model, source, fitted, workloads, error: { median, p95, most }, regret: { ... }, hits, r2,
//                   rmse_us } ],
//     "workloads": [ { workload, order, pool, fields of the job, kernel_us, h2d_us, d2h_us, best, predicted_best,
//     regret,
//                      "points": [ { streams, measured_us, low_us, high_us, predicted_us } ],
//                      "models": [ { model, predicted_best, regret, hit, predicted_us } ],
//                      "hypotheses": [ { hypothesis, predicted_us } ] } ],
//     "others": workloads that are in no score: fewer than three cuts, or streams made for the job }
//   A point's predicted_us and a workload's predicted_best and regret are the simulator's. A model's and a hypothesis'
//   predicted_us is a list as long as "points"; null where a model only chooses, or had nothing to be fitted to.
#include "netpipe/report/json.hpp"

namespace npgpu {

namespace {

Json spread(const Spread& s) {
  return {{"median", json_of(s.median)}, {"p95", json_of(s.p95)}, {"most", json_of(s.most)}};
}

Json list(const std::vector<double>& times) {
  Json all = Json::array();
  for (const double t : times) all.push_back(json_of(t));
  return all;
}

Json workload(const WorkloadScore& w) {
  const JobShape& job = w.workload.job;
  const ModelPrediction& simulator = w.simulator();
  Json points = Json::array(), models = Json::array(), hypotheses = Json::array();
  for (std::size_t i = 0; i < w.workload.streams.size(); ++i) {
    const Estimate& t = w.workload.time_us[i];
    points.push_back({{"streams", w.workload.streams[i]},
                      {"measured_us", json_of(t.value)},
                      {"low_us", json_of(t.low)},
                      {"high_us", json_of(t.high)},
                      {"predicted_us", json_of(simulator.predicted_us[i])}});
  }
  for (const ModelPrediction& p : w.models)
    models.push_back({{"model", p.model},
                      {"predicted_best", p.predicted_best},
                      {"regret", json_of(p.regret)},
                      {"hit", p.hit},
                      {"predicted_us", list(p.predicted_us)}});
  for (const Hypothesis& h : w.hypotheses)
    hypotheses.push_back({{"hypothesis", h.name}, {"predicted_us", list(h.predicted_us)}});
  return {{"workload", name(w.workload.question.workload)},
          {"order", name(w.workload.question.order)},
          {"pool", name(w.workload.question.pool)},
          {"bytes_in", job.bytes_in},
          {"bytes_out", job.bytes_out},
          {"kernel_bytes", job.kernel_bytes},
          {"iterations", job.iterations},
          {"threads", job.threads},
          {"kernel_us", json_of(w.kernel_us)},
          {"h2d_us", json_of(w.h2d_us)},
          {"d2h_us", json_of(w.d2h_us)},
          {"best", w.best},
          {"predicted_best", simulator.predicted_best},
          {"regret", json_of(simulator.regret)},
          {"points", std::move(points)},
          {"models", std::move(models)},
          {"hypotheses", std::move(hypotheses)}};
}

}  // namespace

void forecast_json(std::ostream& out, const ForecastOf& of) {
  const Prediction& p = of.forecast.prediction;
  const Estimate& best = of.forecast.time_us;
  Json json{{"document", "npgpu-prediction"},
            {"version", 1},
            {"device", of.costs->device},
            {"device_name", of.costs->device_name},
            {"simulated", of.costs->simulated},
            {"job",
             {{"in_bytes", of.job.in_bytes},
              {"out_bytes", of.job.out_bytes},
              {"kernel_us", json_of(microseconds(of.job.kernel))},
              {"blocks", of.job.blocks},
              {"slots", of.job.slots}}},
            {"order", name(of.order)},
            {"best",
             {{"streams", p.streams},
              {"fewest", of.forecast.fewest},
              {"most", of.forecast.most},
              {"time_us", json_of(best.value)},
              {"low_us", json_of(best.low)},
              {"high_us", json_of(best.high)},
              {"speed_up", json_of(p.speed_up)},
              {"bound", name(p.bound)},
              {"bound_time_us", json_of(microseconds(p.bound_time))}}},
            {"candidates", Json::array()}};
  for (std::size_t i = 0; i < p.candidates.size(); ++i) {
    const Estimate& e = of.forecast.candidates_us[i];
    json["candidates"].push_back({{"streams", p.candidates[i].streams},
                                  {"time_us", json_of(e.value)},
                                  {"low_us", json_of(e.low)},
                                  {"high_us", json_of(e.high)}});
  }
  write_json(out, json, 1);
}

void evaluation_json(std::ostream& out, const Evaluation& e) {
  Json json{{"document", "npgpu-evaluation"}, {"version", 1},
            {"device_name", e.device_name},   {"simulated", e.simulated},
            {"models", Json::array()},        {"workloads", Json::array()},
            {"others", Json::array()}};
  for (const ModelScore& m : e.models)
    json["models"].push_back({{"model", m.model},
                              {"source", m.source},
                              {"fitted", m.fitted},
                              {"workloads", m.workloads},
                              {"error", spread(m.error)},
                              {"regret", spread(m.regret)},
                              {"hits", json_of(m.hits)},
                              {"r2", json_of(m.r2)},
                              {"rmse_us", json_of(m.rmse_us)}});
  for (const WorkloadScore& w : e.workloads) json["workloads"].push_back(workload(w));
  for (const WorkloadScore& w : e.others) json["others"].push_back(workload(w));
  write_json(out, json, 1);
}

}  // namespace npgpu

// report --json, "partition_studies": of runs of the partition method. Keys are stable; new ones may be added. Times
// are microseconds, sizes unknowns.
//
//     [ { device, device_name, simulated, type, sub_system,
//       "sizes": [ { size, best, stage2_us (over all points), stages_us: { stage1_in, ... } of the unsplit run, sum_us,
//                    "points": [ { streams, time_us, low_us, high_us, even_us, overhead_us, gain_us } ],
//                    "choices": [ { model, streams, regret, regret_low, regret_high, even_regret, even_regret_low,
//                                   even_regret_high, hit, predicted_us, cross_validated, cross_validated_low,
//                                   cross_validated_high } ] } ],
//       "fitted": { sum_slope, sum_start, small_size, small_log, small_start, big_size, big_log, big_start },
//       "quality": { "sum": { rows, r2, mse, rmse }, "small", "big" },
//       "models": [ { model, source, sizes, regret: { median, p95, most }, even_regret: { ... },
//                     cross_validated: { choices, mean, median, p5, p95, worse }, error: { median, p95, most }, hits }
//                     ],
//       "measuring": { median, p95, most } of regrets_of_measuring(), null for sizes measured in one round,
//       "missing": [ sentences ] } ]
//   cross_validated is the regret without the luck of the least time, null for sizes measured in one round; `worse`
//   counts the choices whose interval is above 0. npgpu/regret.hpp has the definition.
//   even_us: the time with the same host's stage, stage2_us, in all points; even_regret: the regret of these.
//   A choice without an answer has streams null. predicted_us is as long as "points", or empty.
#include "netpipe/report/json.hpp"

namespace npgpu {

namespace {

Json spread_json(const Spread& s) {
  return Json({entry("median", s.median), entry("p95", s.p95), entry("most", s.most)});
}

Json cross_validated_json(const CrossValidated& r) {
  return Json({entry("choices", r.choices), entry("mean", r.mean), entry("median", r.median), entry("p5", r.p5),
               entry("p95", r.p95), entry("worse", r.worse)});
}

Json choice_json(const PartitionChoice& c) {
  Json json({entry("model", c.model), entry("streams", not_measured), entry("regret", c.regret.value),
             entry("regret_low", c.regret.low), entry("regret_high", c.regret.high),
             entry("even_regret", c.even_regret.value), entry("even_regret_low", c.even_regret.low),
             entry("even_regret_high", c.even_regret.high), entry("cross_validated", c.cross_validated.value),
             entry("cross_validated_low", c.cross_validated.low), entry("cross_validated_high", c.cross_validated.high),
             entry("hit", c.hit), entry("predicted_us", c.predicted_us)});
  if (c.streams) json["streams"] = *c.streams;
  return json;
}

Json row_json(const PartitionRow& row) {
  Json points = Json::array(), stages = Json::object();
  for (std::size_t i = 0; i < row.streams.size(); ++i) {
    const Estimate& t = row.time_us[i];
    points.push_back({entry("streams", row.streams[i]), entry("time_us", t.value), entry("low_us", t.low),
                      entry("high_us", t.high), entry("even_us", row.even_us[i].value),
                      entry("overhead_us", row.overhead_us[i]), entry("gain_us", row.gain_us[i])});
  }
  for (std::size_t i = 0; i < row.stages_us.size(); ++i)
    stages[std::string(names_of<PartitionStage>[i])] = json_of(row.stages_us[i].value);
  return Json({entry("size", row.size), entry("best", row.best), entry("stage2_us", row.stage2_us.value),
               entry("stages_us", stages), entry("sum_us", row.sum_us), entry("points", points),
               entry("choices", array_of(row.choices, choice_json))});
}

Json fitted_json(const PartitionRegressions& m) {
  return Json({entry("sum_slope", m.sum_slope), entry("sum_start", m.sum_start), entry("small_size", m.small_size),
               entry("small_log", m.small_log), entry("small_start", m.small_start), entry("big_size", m.big_size),
               entry("big_log", m.big_log), entry("big_start", m.big_start)});
}

Json quality_json(const RegressionQuality& q) {
  return Json({entry("rows", q.rows), entry("r2", q.r2), entry("mse", q.mse), entry("rmse", q.rmse)});
}

Json study_json(const PartitionStudy& s) {
  return Json({entry("device", s.device), entry("device_name", s.device_name), entry("simulated", s.simulated),
               entry("type", s.type), entry("sub_system", s.sub_system), entry("sizes", array_of(s.rows, row_json)),
               entry("fitted", fitted_json(s.fitted)),
               entry("quality", Json({entry("sum", quality_json(s.fitted.sum_quality)),
                                      entry("small", quality_json(s.fitted.small_quality)),
                                      entry("big", quality_json(s.fitted.big_quality))})),
               entry("models", array_of(s.models,
                                        [](const PartitionScore& m) {
                                          return Json(
                                              {entry("model", m.model), entry("source", m.source),
                                               entry("sizes", m.sizes), entry("regret", spread_json(m.regret)),
                                               entry("even_regret", spread_json(m.even_regret)),
                                               entry("cross_validated", cross_validated_json(m.cross_validated)),
                                               entry("error", spread_json(m.error)), entry("hits", m.hits)});
                                        })),
               entry("measuring", spread_json(s.measuring)), entry("missing", s.missing)});
}

}  // namespace

Json studies_json(std::span<const PartitionStudy> all) { return array_of(all, study_json); }

}  // namespace npgpu

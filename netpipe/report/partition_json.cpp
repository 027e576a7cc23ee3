// report --json, "partition_studies": of runs of the partition method. Keys are stable; new ones may be added. Times
// are microseconds, sizes unknowns.
//
//     [ { device, device_name, simulated, type, sub_system,
//       "sizes": [ { size, best, stage2_us (over all points), stages_us: { stage1_in, ... } of the unsplit run, sum_us,
//                    "points": [ { streams, time_us, low_us, high_us, even_us, overhead_us, fitted_overhead_us, gain_us
//                    }
//                    ],
//                    "choices": [ { model, streams, regret, regret_low, regret_high, even_regret, even_regret_low,
//                                   even_regret_high, hit, predicted_us, cross_validated, cross_validated_low,
//                                   cross_validated_high } ],
//                    "measuring": [ regrets of choosing by half of the rounds ] } ],
//       "fitted": { sum_slope, sum_start, small_size, small_log, small_start, big_size, big_log, big_start },
//       "quality": { "sum": { rows, r2, mse, rmse }, "small", "big" },
//       "models": [ { model, source } ], in the order of the choices,
//       "missing": [ sentences ] } ]
//   cross_validated is the regret without the luck of the least time, null for sizes measured in one round.
//   npgpu/regret.hpp has the definition. python -m npgpu.study --partitions makes scores of all sizes from these.
//   even_us: the time with the same host's stage, stage2_us, in all points; even_regret: the regret of these.
//   A choice without an answer has streams null. predicted_us is as long as "points", or empty.
#include "netpipe/report/json.hpp"

namespace npgpu {

namespace {

Json choice_json(const PartitionModel& by, const PartitionChoice& c) {
  Json json({entry("model", by.model), entry("streams", not_measured), entry("regret", c.regret.value),
             entry("regret_low", c.regret.low), entry("regret_high", c.regret.high),
             entry("even_regret", c.even_regret.value), entry("even_regret_low", c.even_regret.low),
             entry("even_regret_high", c.even_regret.high), entry("cross_validated", c.cross_validated.value),
             entry("cross_validated_low", c.cross_validated.low), entry("cross_validated_high", c.cross_validated.high),
             entry("hit", c.hit), entry("predicted_us", c.predicted_us)});
  if (c.streams) json["streams"] = *c.streams;
  return json;
}

Json row_json(const PartitionRow& row) {
  Json points = Json::array(), stages = Json::object(), choices = Json::array();
  for (std::size_t i = 0; i < row.streams.size(); ++i) {
    const Estimate& t = row.time_us[i];
    points.push_back({entry("streams", row.streams[i]), entry("time_us", t.value), entry("low_us", t.low),
                      entry("high_us", t.high), entry("even_us", row.even_us[i].value),
                      entry("overhead_us", row.overhead_us[i]), entry("fitted_overhead_us", row.fitted_overhead_us[i]),
                      entry("gain_us", row.gain_us[i])});
  }
  for (std::size_t i = 0; i < row.stages_us.size(); ++i) {
    const std::string_view column = partition_stages[i].name;
    stages[std::string(column.substr(0, column.rfind('_')))] = json_of(row.stages_us[i].value);
  }
  for (std::size_t m = 0; m < partition_models.size(); ++m)
    choices.push_back(choice_json(partition_models[m], row.choices[m]));
  return Json({entry("size", row.size), entry("best", row.best), entry("stage2_us", row.stage2_us.value),
               entry("stages_us", stages), entry("sum_us", row.sum_us), entry("points", points),
               entry("choices", choices), entry("measuring", regrets_of_measuring(row.us_by_round))});
}

Json study_json(const PartitionStudy& s) {
  return Json({entry("device", s.device), entry("device_name", s.device_name), entry("simulated", s.simulated),
               entry("type", s.type), entry("sub_system", s.sub_system), entry("sizes", array_of(s.rows, row_json)),
               entry("fitted", s.fitted),
               entry("quality", Json({entry("sum", s.fitted.sum_quality), entry("small", s.fitted.small_quality),
                                      entry("big", s.fitted.big_quality)})),
               entry("models", array_of(partition_models, [](const PartitionModel& m) { return json_of(m); })),
               entry("missing", s.missing)});
}

}  // namespace

Json studies_json(std::span<const PartitionStudy> all) { return array_of(all, study_json); }

}  // namespace npgpu

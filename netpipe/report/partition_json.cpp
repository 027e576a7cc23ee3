// report --json, "partition_studies": of runs of the partition method. Times are microseconds, sizes unknowns.
// cross_validated is the regret without the luck of the least time (npgpu/regret.hpp), null for sizes measured in one
// round; even_us the time with the same host's stage, stage2_us, in all points, and even_regret the regret of these.
// python -m npgpu.study --partitions makes scores of all sizes from these.
#include "netpipe/report/json.hpp"

namespace npgpu {

struct SplitPoint {
  std::uint32_t streams = 1;
  Estimate time_us{};
  double even_us = not_measured, overhead_us = not_measured, fitted_overhead_us = not_measured, gain_us = not_measured;
};
NPGPU_FORM(SplitPoint, &T::streams, called<"time_us", within<&T::time_us, &Estimate::value>>,
           called<"low_us", within<&T::time_us, &Estimate::low>>,
           called<"high_us", within<&T::time_us, &Estimate::high>>, &T::even_us, &T::overhead_us,
           &T::fitted_overhead_us, &T::gain_us);
struct ModelChoice : PartitionChoice {
  std::string_view model{};
};
NPGPU_FORM(ModelChoice, &T::model, &T::streams, called<"regret", within<&T::regret, &Estimate::value>>,
           called<"regret_low", within<&T::regret, &Estimate::low>>,
           called<"regret_high", within<&T::regret, &Estimate::high>>,
           called<"even_regret", within<&T::even_regret, &Estimate::value>>,
           called<"even_regret_low", within<&T::even_regret, &Estimate::low>>,
           called<"even_regret_high", within<&T::even_regret, &Estimate::high>>,
           called<"cross_validated", within<&T::cross_validated, &Estimate::value>>,
           called<"cross_validated_low", within<&T::cross_validated, &Estimate::low>>,
           called<"cross_validated_high", within<&T::cross_validated, &Estimate::high>>, &T::hit, &T::predicted_us);

namespace {

std::vector<SplitPoint> split_points(const PartitionRow& row) {
  std::vector<SplitPoint> all;
  for (std::size_t i = 0; i < row.streams.size(); ++i)
    all.push_back({row.streams[i], row.time_us[i], row.even_us[i].value, row.overhead_us[i], row.fitted_overhead_us[i],
                   row.gain_us[i]});
  return all;
}
// Of the unsplit run, by stage.
Json stages_of(const PartitionRow& row, JsonOf as) {
  Json object = empty_object(as);
  for (std::size_t i = 0; i < row.stages_us.size(); ++i) {
    const std::string_view column = partition_stages[i].name;
    add_member(object, column.substr(0, column.rfind('_')), form_of(row.stages_us[i].value, as), as);
  }
  return object;
}
std::vector<ModelChoice> choices_of(const PartitionRow& row) {
  std::vector<ModelChoice> all;
  for (const PartitionModel& by : partition_models) all.push_back({row.choices[all.size()], by.model});
  return all;
}

}  // namespace

NPGPU_FORM(PartitionRow, &T::size, &T::best, called<"stage2_us", within<&T::stage2_us, &Estimate::value>>,
           called<"stages_us", &stages_of>, &T::sum_us, called<"points", &split_points>, called<"choices", &choices_of>,
           called<"measuring", [](const T& row) { return regrets_of_measuring(row.us_by_round); }>);
struct FormQualities : PartitionRegressions {};
NPGPU_FORM(FormQualities, called<"sum", &T::sum_quality>, called<"small", &T::small_quality>,
           called<"big", &T::big_quality>);
NPGPU_FORM(PartitionStudy, &T::device, &T::device_name, &T::simulated, &T::type, &T::sub_system,
           called<"sizes", &T::rows>, &T::fitted, called<"quality", [](const T& s) { return FormQualities{s.fitted}; }>,
           called<"models", [](const T&) { return partition_models; }>, &T::missing);

Json study_json(const PartitionStudy& study, JsonOf as) { return form_of(study, as); }

}  // namespace npgpu

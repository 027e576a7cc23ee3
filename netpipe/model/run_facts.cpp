#include "netpipe/model/run_facts.hpp"

#include <fmt/format.h>

#include <variant>

namespace npgpu {

namespace {

// What the run's environment said of Slurm; empty if nothing.
std::string slurm(const Trace& run, const std::string& name) {
  return text_fact(facts_of(run.provenance, "slurm"), name);
}

}  // namespace

std::string fact_text(const Fact& fact) {
  if (const auto* text = std::get_if<std::string>(&fact)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&fact)) return std::to_string(*number);
  return fmt::format("{:g}", std::get<double>(fact));
}

std::string job_of(const Trace& run) {
  const std::string array = slurm(run, "SLURM_ARRAY_JOB_ID");
  return array.empty() ? slurm(run, "SLURM_JOB_ID") : array + "_" + slurm(run, "SLURM_ARRAY_TASK_ID");
}

std::string rank_of(const Trace& run) {
  return slurm(run, "SLURM_NTASKS") == "1" ? std::string() : slurm(run, "SLURM_PROCID");
}

std::set<MeasuredDevice> devices_of(const Trace& run) {
  std::set<MeasuredDevice> all;
  for_each_kind([&]<class K>() {
    for (const Series<K>& series : run.of<K>())
      if (!series.device_name.empty()) all.insert({series.device_name, series.device_uuid, series.simulated});
  });
  return all;
}

std::size_t series_of(const Trace& run) {
  std::size_t count = 0;
  for_each_kind([&]<class K>() { count += run.of<K>().size(); });
  return count;
}

}  // namespace npgpu

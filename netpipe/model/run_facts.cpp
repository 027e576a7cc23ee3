#include "netpipe/model/run_facts.hpp"

#include <fmt/format.h>

#include <string_view>
#include <variant>

#include "npgpu/model/figures.hpp"
#include "npgpu/model/result.hpp"

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
std::string fact_text(const Facts& facts, std::string_view name) {
  const Fact* const fact = find_fact(facts, name);
  return fact ? fact_text(*fact) : std::string();
}

std::vector<std::string> left_out_of(const Trace& trace) {
  std::vector<std::string> all;
  for (const auto& [name, why] : facts_of(trace.provenance, "plan"))
    if (const auto* text = std::get_if<std::string>(&why); text && name.starts_with("left_out")) all.push_back(*text);
  return all;
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

BusySibling busy_sibling(const Trace& trace) {
  constexpr auto shared = static_cast<std::uint32_t>(Cause::core_shared);
  BusySibling found;
  std::vector<double> ratios;
  for_each_kind([&]<class K>() {
    for (const Series<K>& series : trace.of<K>())
      for (const Point<K>& point : points_of(series)) {
        std::vector<double> quiet_us, shared_us;
        for (const VisitInfo* visit : point.visits) {
          const std::vector<double> times = trial_times<K>(series.question, samples_of(series, *visit));
          if (times.empty()) continue;
          if (visit->causes() == 0) quiet_us.push_back(median(times));
          if (visit->causes() == shared) shared_us.push_back(median(times));
        }
        found.visits += shared_us.size();
        if (!quiet_us.empty() && !shared_us.empty()) ratios.push_back(median(shared_us) / median(quiet_us));
      }
  });
  found.points = ratios.size();
  if (!ratios.empty()) found.adds = median(ratios) - 1;
  return found;
}

std::vector<BesideOthers> beside_others(const Trace& trace) {
  constexpr std::string_view beside = "_beside_us", alone = "_alone_us";
  std::vector<BesideOthers> all;
  const Facts facts = facts_of(trace.provenance, "side_by_side");
  for (const auto& [name, value] : facts) {
    const std::size_t first = name.find('_');
    if (!name.ends_with(beside) || first + beside.size() >= name.size()) continue;
    const std::string stem = name.substr(0, name.size() - beside.size());
    all.push_back({stem.substr(0, first), stem.substr(first + 1), number_fact(facts, name),
                   number_fact(facts, stem + std::string(alone))});
  }
  return all;
}

}  // namespace npgpu

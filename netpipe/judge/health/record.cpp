#include "netpipe/judge/health/record.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "netpipe/judge/compare/curves.hpp"
#include "netpipe/model/medians.hpp"

namespace npgpu::model {

double DeviceRecord::counter(std::string_view key) const {
  const double end = number_fact(after, key);
  return std::isnan(end) ? fact(key) : end;
}

double DeviceRecord::rise(std::string_view key) const {
  double sum = not_measured;
  for (const Run& run : runs) {
    const double rise = number_fact(run.after, key) - number_fact(run.before, key);
    if (!std::isnan(rise)) sum = std::isnan(sum) ? rise : sum + rise;
  }
  return sum;
}

std::string DeviceRecord::state(std::string_view key) const {
  const std::string end = text_fact(after, key);
  return end.empty() ? text(key) : end;
}

std::string DeviceRecord::why_unread(std::string_view group) const {
  struct Words {
    std::string_view fact;
    const char* text;
  };
  static constexpr Words known[] = {{"not supported", "not supported by this GPU"},
                                    {"no permission", "needs root (no permission)"},
                                    {"not in this driver", "this driver's NVML cannot be asked for it"},
                                    {"lost", "the GPU is lost"},
                                    {"needs a reset", "the GPU needs a reset"},
                                    {"timeout", "NVML did not answer in time"}};
  const std::string why = state("unread_" + std::string(group));
  for (const Words& one : known)
    if (one.fact == why) return one.text;
  if (!why.empty()) return "NVML " + why;
  constexpr std::string_view unavailable = "unavailable: ";
  if (const std::string telemetry = text("telemetry"); telemetry.starts_with(unavailable))
    return telemetry.substr(unavailable.size());
  return after.empty() ? "not in this trace" : "not reported by this GPU or its driver";
}

bool is_temperature(double celsius) {
  constexpr double hottest = 150;  // what circuits of processors are switched off below
  return celsius > 0 && celsius < hottest;
}

Telemetry believable(Telemetry t) {
  constexpr double most_mhz = 50'000, most_w = 20'000;
  if (!(t.sm_clock_mhz > 0 && t.sm_clock_mhz < most_mhz)) t.sm_clock_mhz = not_measured;
  if (!(t.memory_clock_mhz > 0 && t.memory_clock_mhz < most_mhz)) t.memory_clock_mhz = not_measured;
  if (!(t.power_w > 0 && t.power_w < most_w)) t.power_w = not_measured;
  if (!is_temperature(t.temperature_c)) t.temperature_c = not_measured;
  return t;
}

namespace {

// A continued trace gives the facts of its last run, which come last.
void add_facts(DeviceRecord& record, const Provenance& provenance) {
  for (const auto& [group, facts] : provenance) {
    const std::string of = group.substr(group.find('/') + 1);
    if (of == "host") record.host = facts;
    if (text_fact(facts, "id") != record.id) continue;
    if (!is_of_end(of)) {
      record.before = facts;
      record.runs.push_back({facts, {}});
      continue;
    }
    if (!record.runs.empty()) record.runs.back().after = facts;
    // What a later run did not see, as the link of one without copies, stays as it was seen before.
    for (const auto& [key, value] : facts) {
      const auto known = std::ranges::find(record.after, key, &Facts::value_type::first);
      if (known == record.after.end()) record.after.emplace_back(key, value);
      else known->second = value;
    }
  }
}

// A run that was killed has no counters at its end, and slices of a soak have those of their ends.
void add_counters_of_slices(DeviceRecord& record) {
  static constexpr std::pair<const char*, double SoakSample::*> counters[] = {
      {"ecc_corrected_volatile", &SoakSample::ecc_corrected},
      {"ecc_uncorrected_volatile", &SoakSample::ecc_uncorrected},
      {"pcie_replays", &SoakSample::pcie_replays},
      {"xids", &SoakSample::xids}};
  for (const auto& [name, counter] : counters) {
    double most = not_measured;
    for (const SoakSeries* series : record.all<Soaks>())
      for (const SoakSample& sample : series->samples) most = std::fmax(most, sample.*counter);
    if (!std::isfinite(most) || most <= number_fact(record.after, name)) continue;
    const auto put = [&](Facts& facts) {
      std::erase_if(facts, [&](const auto& fact) { return fact.first == name; });
      facts.emplace_back(name, static_cast<std::int64_t>(most));
    };
    put(record.after);
    if (!record.runs.empty()) put(record.runs.back().after);
  }
}

// What a series would say of a device that has none.
std::optional<SeriesInfo> described_device(const Provenance& provenance, const std::string& id) {
  for (const auto& [group, facts] : provenance) {
    if (text_fact(facts, "id") != id || text_fact(facts, "name").empty()) continue;
    SeriesInfo info;
    info.device_name = text_fact(facts, "name");
    info.device_uuid = text_fact(facts, "uuid");
    info.simulated = number_fact(facts, "simulated") > 0;
    return info;
  }
  return std::nullopt;
}

}  // namespace

std::vector<DeviceRecord> records_of(const Trace& trace) {
  std::vector<DeviceRecord> all;
  const auto record_of = [&](const std::string& id, const SeriesInfo& series) -> DeviceRecord& {
    for (DeviceRecord& known : all)
      if (known.id == id && known.uuid == series.device_uuid) return known;
    DeviceRecord& record = all.emplace_back();
    record.id = id;
    record.name = series.device_name;
    record.uuid = series.device_uuid;
    record.simulated = series.simulated;
    add_facts(record, trace.provenance);
    return record;
  };
  for_each_kind([&]<class K>() {
    if constexpr (K::is_of_device)
      for (const auto& series : trace.of<K>()) {
        DeviceRecord& of = record_of(device_of(series.question), series);
        std::get<SeriesOf<K>>(is_beside(series.question) ? of.beside : of.series).push_back(&series);
      }
  });
  std::ranges::for_each(all, add_counters_of_slices);
  // A GPU that others copy to, or that takes part in what several do, has counters as well.
  for_each_kind([&]<class K>() {
    for (const auto& series : trace.of<K>())
      each_device(series.question, [&](const std::string& id) {
        if (id == "host" || std::ranges::find(all, id, &DeviceRecord::id) != all.end()) return;
        if (const auto described = described_device(trace.provenance, id)) record_of(id, *described);
      });
  });
  for_each_kind([&]<class K>() {
    for (const auto& series : trace.of<K>()) {
      const std::string& whose = series.failed_device.empty() ? device_of(series.question) : series.failed_device;
      for (DeviceRecord& record : all) {
        if (record.id != whose) continue;
        const std::string said = title(series.question) + ": " + series.error;
        // What happened stands before the series that were not tried any more, whose error only names the device.
        const bool is_told_before = series.error.starts_with(whose + " was lost");
        if (series.failure == Failure::lost)
          record.lost.insert(is_told_before ? record.lost.end() : record.lost.begin(), said);
        if (series.failure == Failure::defect) record.defects.push_back(said);
      }
    }
  });
  std::ranges::stable_partition(all, [](const DeviceRecord& record) { return !record.is_host(); });
  return all;
}

}  // namespace npgpu::model

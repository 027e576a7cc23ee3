// Sick devices, measured as npgpu check measures them and judged: each has one sickness, and the verdict, what fails,
// its cause and its remedy are known. Then traces that are edited into the same sicknesses.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "netpipe/cli/check_ending.hpp"
#include "netpipe/cli/check_plan.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/measure.hpp"
#include "tests/scratch.hpp"

namespace sick_test {

using namespace npgpu;
using namespace npgpu::cli;
using nlohmann::json;

namespace {

const std::filesystem::path data = std::filesystem::path(NPGPU_SOURCE_DIR) / "data";
const std::string healthy = (data / "devices/h200-node.json").string();

using Words = std::set<std::string>;

struct Judged {
  std::vector<HealthFinding> findings;
  std::size_t measured_again = 0;

  CheckVerdict verdict() const { return verdict_of(findings); }
  std::vector<HealthFinding> bad() const {
    std::vector<HealthFinding> some;
    for (const HealthFinding& one : findings)
      if (one.health != Health::pass && one.health != Health::skip) some.push_back(one);
    return some;
  }
  Words metrics() const {
    Words all;
    for (const HealthFinding& one : bad()) all.insert(one.metric);
    return all;
  }
  // The first cause of each that is not as it should be, but of those metrics.
  Words causes(const Words& without = {}) const {
    Words all;
    for (const HealthFinding& one : bad())
      if (!without.contains(one.metric))
        all.insert(one.explanations.empty() ? "none for " + one.metric : one.explanations[0].cause);
    return all;
  }
  const HealthFinding& of(const std::string& metric) const {
    const auto found = std::ranges::find(findings, metric, &HealthFinding::metric);
    REQUIRE_MESSAGE(found != findings.end(), metric);
    return *found;
  }
};

// Of a device of its own noise.
json seeded(const std::string& like, int seed, const json& more = json::object()) {
  json spec{{"like", like}, {"noise", {{"seed", seed}}}};
  spec.update(more);
  return spec;
}

MeasureOptions options_of(const std::string& output, Level level) {
  const Command& command = command_named("check");
  Options options(command);
  options.read({});
  MeasureOptions how = measure_options(options);
  set_repetition(how, options, level);
  how.output = output;
  how.progress = ProgressForm::none;
  how.patience = Seconds{0};
  how.side_by_side = false;
  how.end_round = how.rounds();
  return how;
}

Judged checked(const json& spec, Level level = Level::half_minute) {
  const ScratchFolder folder;
  write(folder / "device.json", spec.dump());
  const MeasureOptions how = options_of(folder / "t.h5", level);
  const Plan plan = check_plan({devices::find("sim:" + (folder / "device.json").string())}, level);
  HealthRules rules;
  rules.required = required_metrics(level);
  run_campaign(plan, how);
  const SecondLook look = look_again(plan, how, rules, Seconds{level == Level::seconds ? 2 : 8});
  return {health_of(read_trace(how.output), rules), look.points};
}

struct Sickness {
  CheckVerdict verdict;
  std::string cause;
  Words metrics;       // that are not as they should be, at least
  const char* remedy;  // a word of the first one
};
const std::map<std::string, Sickness> sick{
    {"half-the-lanes", {CheckVerdict::slow, "link_lanes", {"pcie_link", "h2d_rate", "d2h_rate"}, "reseat the GPU"}},
    {"one-generation-less", {CheckVerdict::slow, "link_generation", {"pcie_link", "h2d_rate", "d2h_rate"}, "BIOS"}},
    {"clock-cap", {CheckVerdict::slow, "clock_cap", {"sm_clock"}, "nvidia-smi -rgc"}},
    {"thermal-throttle", {CheckVerdict::slow, "throttle_thermal", {"throttle", "sm_clock", "temperature"}, "fans"}},
    {"three-sms-missing", {CheckVerdict::broken, "sms_missing", {"sms"}, "reset the GPU"}},
    {"slow-memory", {CheckVerdict::slow, "slow_memory", {"memory_rmw_rate", "d2d_rate"}, "ask the vendor"}},
    {"corrupt-bytes", {CheckVerdict::broken, "corrupt", {"results"}, "out of service"}},
    {"busy-neighbour",
     {CheckVerdict::not_judged, "neighbour", {"neighbours", "h2d_rate", "d2h_rate"}, "--require-quiet"}},
    {"ecc-errors", {CheckVerdict::broken, "ecc", {"ecc_uncorrected", "ecc_corrected"}, "replace the GPU"}},
    {"slow-l2", {CheckVerdict::slow, "slow_cache", {"l2_rate"}, "reset it"}},
    {"slow-pageable",
     {CheckVerdict::slow, "host_memory", {"h2d_pageable_rate", "d2h_pageable_rate"}, "use pinned memory"}},
    {"slow-latency", {CheckVerdict::slow, "slow_latency", {"memory_latency"}, "reset the GPU"}},
    {"slow-fp64", {CheckVerdict::slow, "slow_fp64", {"compute_fp64_rate"}, "ask the vendor"}},
    {"slow-tensor",
     {CheckVerdict::slow, "slow_tensor", {"tensor_wgmma_fp16_rate", "tensor_mma_fp64_rate"}, "ask the vendor"}},
    {"slow-call", {CheckVerdict::slow, "slow_call", {"launch_time"}, "governor"}},
    {"remapped-rows", {CheckVerdict::broken, "remapped_rows", {"remapped_rows"}, "reboot"}},
};

}  // namespace

TEST_CASE("a healthy device passes, and each sick device is told by its sickness") {
  for (const int seed : {1000, 1001}) {
    const Judged well = checked(seeded(healthy, seed));
    CHECK(well.verdict() == CheckVerdict::ok);
    CHECK(well.metrics() == Words{});
  }
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(data / "devices/sick")) {
    const std::string name = *names.insert(entry.path().stem().string()).first;
    CAPTURE(name);
    REQUIRE(sick.contains(name));
    const Sickness& wanted = sick.at(name);
    const Judged found = checked(seeded(entry.path().string(), 2000));
    CHECK(found.verdict() == wanted.verdict);
    CHECK(found.causes() == Words{wanted.cause});
    const Words metrics = found.metrics();
    CHECK(std::ranges::includes(metrics, wanted.metrics));
    for (const HealthFinding& one : found.bad())
      if (wanted.metrics.contains(one.metric) && one.metric != "ecc_corrected")
        CHECK(one.explanations.at(0).remedy.find(wanted.remedy) != std::string::npos);
  }
  CHECK(names.size() == sick.size());
}

TEST_CASE("what a GPU itself says of its clock or its slot is the cause that is named") {
  const auto seen = [](const json& changes) { return checked(seeded(healthy, 7, changes), Level::seconds); };
  const json slow_clock{{"shader_clock_mhz", 1700}};
  const auto throttled = [&](const json& telemetry) {
    return seen({{"hardware", slow_clock}, {"telemetry", telemetry}});
  };
  const Judged held = throttled({{"throttle_reasons", 4}, {"power_w", 698}});
  CHECK(held.verdict() == CheckVerdict::slow);
  CHECK(held.of("compute_fp32_rate").explanations.at(0).cause == "throttle_power");
  CHECK_FALSE(held.metrics().contains("sm_clock"));
  const Judged boost = throttled({{"throttle_reasons", 16}});
  CHECK(boost.verdict() == CheckVerdict::slow);
  for (const char* metric : {"compute_fp32_rate", "sm_clock"}) {
    REQUIRE(boost.of(metric).explanations.size() == 1);
    CHECK(boost.of(metric).explanations[0].cause == "sync_boost");
  }
  const auto capped = [&](int watts) {
    return seen(
        {{"hardware", {{"shader_clock_mhz", 1200}}},
         {"telemetry", {{"throttle_reasons", 4}, {"power_w", watts}, {"temperature_c", 51}, {"sm_clock_mhz", 1200}}}});
  };
  CHECK(capped(382).verdict() == CheckVerdict::slow);
  CHECK(capped(382).causes() == Words{"throttle_power_feed"});
  CHECK(capped(698).causes() == Words{"throttle_power"});  // what it computes is held against healthy ones
  const Judged lopsided = seen({{"duplex", {{"sl_h", 2.24}, {"sl_d", 1.03}}}});
  CHECK(lopsided.verdict() == CheckVerdict::slow);
  CHECK(lopsided.metrics() == Words{"h2d_rate_duplex"});
  CHECK(lopsided.causes() == Words{"duplex"});
  // In a slot with fewer lanes or of an older generation a GPU is judged by what the slot can carry.
  for (json slot : {json{{"facts", {{"max_pcie_lanes", 8}}}, {"link", {{"generation", 5}, {"lanes", 8}}}},
                    json{{"facts", {{"max_pcie_generation", 4}, {"gpu_max_pcie_generation", 5}}},
                         {"link", {{"generation", 4}, {"lanes", 16}}}}})
    for (const bool is_slow : {false, true}) {
      CAPTURE(is_slow);
      for (const char* way : {"h2d", "d2h"}) slot["links"][way]["pinned"]["rate_gb_s"] = is_slow ? 20 : 26.5;
      const Judged found = seen(slot);
      CHECK(found.of("pcie_link").explanations.at(0).cause == "link_slot");
      CHECK(found.verdict() == (is_slow ? CheckVerdict::slow : CheckVerdict::ok));
      if (!is_slow) CHECK(found.metrics() == Words{"pcie_link"});
      else
        for (const char* metric : {"h2d_rate", "h2d_rate_1mib"})
          CHECK(found.of(metric).explanations.at(0).cause == "link");
    }
  // A clock that passes and one that fails have the same limit.
  const auto limit = [&](int mhz) { return seen({{"hardware", {{"shader_clock_mhz", mhz}}}}).of("sm_clock").limit; };
  CHECK(limit(1980) > 0);
  CHECK(limit(1980) == limit(1900));
}

TEST_CASE(
    "kernels that are done late are not the host's calls; errors counted before a second look are not forgotten") {
  const Judged late = checked(seeded(healthy, 31, {{"hardware", {{"empty_kernel_us", 20}}}}));
  CHECK(late.verdict() == CheckVerdict::slow);
  CHECK(late.metrics() == Words{"launch_done_time"});
  CHECK(late.causes() == Words{"slow_start"});
  const Judged counted =
      checked(seeded(healthy, 1, {{"counters_rise", {{"xids", 2}}}, {"hardware", {{"shader_clock_mhz", 990}}}}),
              Level::seconds);
  CHECK(counted.verdict() == CheckVerdict::broken);
  CHECK(counted.measured_again > 0);
  CHECK(counted.of("xid").text.starts_with("2 Xid errors during this run"));
}

TEST_CASE(
    "a pair of GPUs that do not see each other's memory is slow where others see it, and no fault where none does") {
  for (const bool all : {false, true}) {
    CAPTURE(all);
    json blind = json::array();
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < i; ++j)
        if (all || (i == 2 && j == 0))
          blind.push_back({{"between", "gpu" + std::to_string(j)}, {"and", "gpu" + std::to_string(i)}});
    const ScratchFolder folder;
    write(folder / "node.json", json{{"like", (data / "devices/soak/node4.json").string()},
                                     {"source", "a test"},
                                     {"gpu", healthy},
                                     {"blind", blind}}
                                    .dump());
    std::vector<DeviceInfo> gpus;
    for (const std::string& id : devices::node("sim:" + (folder / "node.json").string()))
      gpus.push_back(devices::find(id));
    REQUIRE(gpus.size() == 4);
    // What check measures between GPUs at level 2, and all of it at level 3.
    for (const bool is_all_of_it : {false, true}) {
      Plan plan;
      (is_all_of_it ? add_between_gpus : add_peer_copies)(plan, gpus);
      MeasureOptions how = options_of(folder / "t.h5", Level::half_minute);
      how.if_exists = IfExists::replace;
      run_campaign(plan, how);
      Words fails;
      for (const HealthFinding& one : health_of(read_trace(how.output)))
        if (one.health == Health::fail) fails.insert(one.metric);
      CHECK(fails == (all ? Words{} : Words{"peer_access"}));
    }
  }
}

// ---- edited traces -----------------------------------------------------------------------------------------------

namespace {

void set(Trace& trace, const std::string& group, const Facts& facts) {
  auto at = std::ranges::find(trace.provenance, group, &Provenance::value_type::first);
  if (at == trace.provenance.end()) {
    const Facts gpu = facts_of(trace.provenance, "gpu0");
    const Fact* const id = find_fact(gpu, "id");
    REQUIRE(id);
    at = trace.provenance.insert(at, {group, {{"id", *id}}});
  }
  for (const auto& [key, value] : facts) {
    const auto fact = std::ranges::find(at->second, key, &Facts::value_type::first);
    if (fact == at->second.end()) at->second.emplace_back(key, value);
    else fact->second = value;
  }
}
Fact whole(std::int64_t value) { return value; }

bool is_of_gpu(const TransferSeries& series) { return series.question.direction != Direction::h2h; }
template <class K> bool is_of_gpu(const Series<K>& series) { return device_of(series.question) != "host"; }
bool crosses_link(const TransferSeries& series) {
  return series.question.direction == Direction::h2d || series.question.direction == Direction::d2h;
}

// Visits of kinds that a check measures.
template <class Change> void each_visit(Trace& trace, Change change) {
  const auto of = [&]<class K>() {
    for (Series<K>& series : trace.of<K>())
      if (is_of_gpu(series)) std::ranges::for_each(series.visits, change);
  };
  of.template operator()<Transfers>();
  of.template operator()<Probes>();
  of.template operator()<Jobs>();
  of.template operator()<Calls>();
}
template <class K> void slow_down(Series<K>& series, double factor) {
  for (auto& sample : series.samples) {
    sample.host_us *= factor;
    sample.device_us *= factor;
    if constexpr (std::is_same_v<K, Probes>) sample.cycles *= factor;
  }
}
void slow_probes(Trace& trace, std::string_view probe, double factor, std::optional<DataType> type = {}) {
  for (ProbeSeries& series : trace.of<Probes>())
    if (series.question.probe == probe && is_of_gpu(series) &&
        type.value_or(series.question.type) == series.question.type)
      slow_down(series, factor);
}
void slow_link(Trace& trace) {
  for (TransferSeries& series : trace.of<Transfers>())
    if (crosses_link(series) && series.question.memory != Memory::pageable)
      for (TransferSample& sample : series.samples) {  // each byte takes twice as long as on such a link: 55 GB/s
        const auto bytes = static_cast<double>(series.visits.at(sample.visit).axes.bytes);
        const double legs = is_round_trip(series.question.pattern) ? 2 : 1;
        const double more_us = legs * bytes * static_cast<double>(sample.repeats) / 55e3;
        sample.host_us += more_us, sample.device_us += more_us;
      }
}
void set_clock(Trace& trace, double mhz, std::uint64_t reasons = 0, double celsius = not_measured) {
  each_visit(trace, [&](VisitInfo& visit) {
    visit.telemetry.sm_clock_mhz = mhz;
    if (reasons) visit.telemetry.throttle_reasons = reasons, visit.telemetry.temperature_c = celsius;
  });
  for (ProbeSeries& series : trace.of<Probes>())
    if (series.question.probe == "compute" && is_of_gpu(series))
      for (ProbeSample& sample : series.samples) sample.host_us *= 1980 / mhz, sample.device_us *= 1980 / mhz;
}

const std::map<std::string, void (*)(Trace&)> edits{
    {"half-the-lanes",
     [](Trace& trace) {
       set(trace, "gpu0", {{"pcie_lanes_now", whole(8)}});
       set(trace, "gpu0_after", {{"pcie_generation_copying", whole(5)}, {"pcie_lanes_copying", whole(8)}});
       slow_link(trace);
     }},
    {"one-generation-less",
     [](Trace& trace) {
       set(trace, "gpu0_after", {{"pcie_generation_copying", whole(4)}, {"pcie_lanes_copying", whole(16)}});
       slow_link(trace);
     }},
    {"clock-cap", [](Trace& trace) { set_clock(trace, 1410); }},
    {"thermal-throttle", [](Trace& trace) { set_clock(trace, 1230, 0x20, 94); }},
    {"three-sms-missing",
     [](Trace& trace) {
       for (ProbeSeries& series : trace.of<Probes>())
         if (is_of_gpu(series))
           for (ProbeSample& sample : series.samples) sample.units = std::min(sample.units, 129u);
     }},
    {"slow-memory",
     [](Trace& trace) {
       for (ProbeSeries& series : trace.of<Probes>())
         if (series.question.probe == "bandwidth") slow_down(series, 4.0 / 3);
       for (TransferSeries& series : trace.of<Transfers>())
         if (series.question.direction == Direction::d2d) slow_down(series, 4.0 / 3);
     }},
    {"slow-l2", [](Trace& trace) { slow_probes(trace, "onchip", 2); }},
    {"slow-pageable",
     [](Trace& trace) {
       for (TransferSeries& series : trace.of<Transfers>())
         if (crosses_link(series) && series.question.memory == Memory::pageable) slow_down(series, 3);
     }},
    {"slow-latency", [](Trace& trace) { slow_probes(trace, "latency", 1.5); }},
    {"slow-fp64", [](Trace& trace) { slow_probes(trace, "compute", 1 / 0.7, DataType::fp64); }},
    {"slow-tensor", [](Trace& trace) { slow_probes(trace, "tensor", 4.0 / 3); }},
    {"corrupt-bytes",
     [](Trace& trace) {
       auto& samples = trace.of<Transfers>().at(0).samples;
       const auto last =
           std::find_if(samples.rbegin(), samples.rend(), [](const auto& one) { return one.intact == 1; });
       REQUIRE(last != samples.rend());
       last->intact = 0;
     }},
    {"busy-neighbour",
     [](Trace& trace) {
       slow_link(trace);
       for (TransferSeries& series : trace.of<Transfers>())
         if (crosses_link(series))
           for (auto& visit : series.visits) {
             visit.disturbed = 24;
             visit.disturber = ShortText("python3 (4711)");
           }
     }},
    {"ecc-errors",
     [](Trace& trace) {
       set(trace, "gpu0", {{"ecc_corrected_volatile", whole(3)}, {"ecc_uncorrected_volatile", whole(0)}});
       set(trace, "gpu0_after", {{"ecc_corrected_volatile", whole(9)}, {"ecc_uncorrected_volatile", whole(1)}});
     }},
    {"slow-call",
     [](Trace& trace) {
       for (CallSeries& series : trace.of<Calls>())
         if (series.question.call == Call::launch)
           for (CallSample& sample : series.samples)
             for (double* us : {&sample.host_us, &sample.done_us}) *us += 3 * static_cast<double>(sample.repeats);
     }},
    {"remapped-rows",
     [](Trace& trace) {
       set(trace, "gpu0_after",
           {{"remapped_rows_corrected", whole(0)},
            {"remapped_rows_uncorrected", whole(1)},
            {"remapped_rows_pending", whole(1)},
            {"remapped_rows_failed", whole(0)}});
     }},
};

Trace kept(const char* name) { return read_trace((data / "traces" / name).string()); }

}  // namespace

TEST_CASE("traces of healthy devices, simulated and measured, that are edited into a sickness are told by it") {
  const ScratchFolder folder;
  write(folder / "device.json", seeded(healthy, 31).dump());
  const MeasureOptions how = options_of(folder / "t.h5", Level::half_minute);
  run_campaign(check_plan({devices::find("sim:" + (folder / "device.json").string())}, Level::half_minute), how);
  for (const Trace& original : {read_trace(how.output), kept("h200_run_a.h5")}) {
    const Judged before{health_of(original)};
    CHECK(worst_of(before.findings) != Health::fail);
    REQUIRE(edits.size() == sick.size());
    for (const auto& [name, edit] : edits) {
      CAPTURE(name);
      CAPTURE(original.root.argv);
      Trace trace = original;
      edit(trace);
      const Judged found{health_of(trace)};
      CHECK(found.verdict() == sick.at(name).verdict);
      CHECK(found.causes(before.metrics()) == Words{sick.at(name).cause});
    }
  }
}

TEST_CASE("errors of before a run are no reason for what is slow in it") {
  const Trace original = kept("h200_run_a.h5");
  const Judged before{health_of(original)};
  for (const bool is_in_run : {false, true}) {
    Trace trace = original;
    slow_probes(trace, "bandwidth", 4.0 / 3);
    set(trace, "gpu0", {{"ecc_uncorrected_volatile", whole(is_in_run ? 0 : 2)}});
    set(trace, "gpu0_after", {{"ecc_uncorrected_volatile", whole(2)}});
    const Judged found{health_of(trace)};
    const Words causes = found.causes(before.metrics());
    CHECK(causes.contains("memory_errors") == is_in_run);
    CHECK(causes.size() >= 2);  // the errors, and what is slow
  }
}

TEST_CASE("each GPU of a node is judged, and each kind of measurement, also where it is the only one") {
  using Bad = std::set<std::pair<std::string, std::string>>;
  const auto bad_of = [](const Trace& trace) {
    Bad all;
    for (const HealthFinding& one : Judged{health_of(trace)}.bad()) all.insert({one.device, one.metric});
    return all;
  };
  for (const char* name :
       {"h100x2_collectives.h5", "h200x2_graphs.h5", "h100x2_energy.h5", "h200x2_matrix.h5", "h100x2_soak.h5"}) {
    CAPTURE(name);
    Trace trace = kept(name);
    CHECK(verdict_of(health_of(trace)) == CheckVerdict::ok);
    set(trace, "gpu1_after", {{"xids", whole(1)}});
    CHECK(verdict_of(health_of(trace)) == CheckVerdict::broken);
    CHECK(bad_of(trace) == Bad{{"cuda:1", "xid"}});
  }
  Trace energy = kept("h100x2_energy.h5");
  energy.of<Energies>().at(1).samples.at(0).intact = 0;
  CHECK(verdict_of(health_of(energy)) == CheckVerdict::broken);
  CHECK(Judged{health_of(energy)}.metrics() == Words{"results"});
  Trace timeless = kept("h100x2_collectives.h5");
  for (auto& series : timeless.of<Collectives>())
    for (auto& sample : series.samples) sample.host_us = not_measured;
  CHECK(verdict_of(health_of(timeless)) == CheckVerdict::failed_to_run);
  // With a second process the times say nothing of a GPU's health, and the results all the same.
  const auto spoil = [&](auto& series) {
    REQUIRE(is_beside(series.question));
    for (auto& sample : series.samples)
      if (sample.intact == 1) sample.intact = 0;
    series.samples.at(0).intact = 0;
  };
  for (const bool is_of_copies : {true, false}) {
    Trace beside = kept("h200_processes.h5");
    if (is_of_copies) spoil(beside.of<Transfers>().at(13));
    else spoil(beside.of<Calls>().at(1));
    CHECK(verdict_of(health_of(beside)) == CheckVerdict::broken);
    CHECK(Judged{health_of(beside)}.metrics().contains("results"));
  }
  // Tensor cores at half of their rate, by the instruction that can reach it.
  Trace tensor = kept("h100_quick_a.h5");
  for (ProbeSeries& series : tensor.of<Probes>())
    if (series.question.probe == "tensor" && series.question.operation == Operation::wgmma &&
        series.question.type == DataType::fp16)
      for (ProbeSample& sample : series.samples) sample.device_us *= 2;
  CHECK(verdict_of(health_of(tensor)) == CheckVerdict::slow);
  CHECK(bad_of(tensor) == Bad{{"cuda:0", "tensor_wgmma_fp16_rate"}});
}

}  // namespace sick_test

#include "netpipe/model/compare/who.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "netpipe/model/run_facts.hpp"

namespace npgpu {

namespace {

using Side = ComparisonReport::Side;
using Texts = std::set<std::string>;

// What a trace has under a name in its provenance: of the host, or of all other devices.
struct NamedFact {
  const char* what;
  std::array<const char*, 2> keys;  // the first that the device has
  bool host = false;
  const char* unit = "";
};
constexpr NamedFact named_facts[] = {{"multiprocessors", {"multiprocessors", "sms"}},
                                     {"driver", {"driver_version"}},
                                     {"firmware", {"vbios_version"}},
                                     {"CUDA runtime", {"cuda_runtime"}},
                                     {"CUDA toolkit", {"cuda_toolkit"}},
                                     {"ECC", {"ecc"}},
                                     {"PCIe generation", {"pcie_generation_now"}},
                                     {"PCIe lanes", {"pcie_lanes_now"}},
                                     {"highest SM clock", {"max_sm_clock_mhz", "shader_clock_mhz"}, false, " MHz"},
                                     {"highest memory clock", {"max_memory_clock_mhz"}, false, " MHz"},
                                     {"power limit", {"power_limit_w"}, false, " W"},
                                     {"host's processor", {"cpu_model"}, true},
                                     {"host's cores", {"cores"}, true},
                                     {"kernel", {"kernel"}, true}};

Texts facts_of(const Side& side, const NamedFact& wanted) {
  Texts all;
  for (const Trace* trace : side.runs)
    for (const auto& [group, facts] : trace->provenance) {
      if ((group == "host") != wanted.host) continue;
      for (const char* key : wanted.keys)
        if (const Fact* fact = key ? find_fact(facts, key) : nullptr) {
          all.insert(fact_text(*fact) + wanted.unit);
          break;
        }
    }
  return all;
}

template <class Visit> void each_series(const Side& side, Visit visit) {
  for (const Trace* trace : side.runs)
    for_each_kind([&]<class K>() {
      for (const Series<K>& series : trace->of<K>()) visit(series, device_of(series.question));
    });
}

Texts of_series(const Side& side, std::string SeriesInfo::*what) {
  Texts all;
  each_series(side, [&](const SeriesInfo& series, const std::string& device) {
    if (device != "host") all.insert(series.*what);
  });
  all.erase("");
  return all;
}

template <class ValueOf> Texts of_roots(const Side& side, ValueOf value_of) {
  Texts all;
  for (const Trace* trace : side.runs) all.insert(value_of(trace->root));
  all.erase("");
  return all;
}

std::string joined(const Texts& texts) { return fmt::format("{}", fmt::join(texts, ", ")); }

std::string version_of(const TraceRoot& root) {
  return root.tool_version + (root.git_commit.empty() ? "" : " (" + root.git_commit + ')');
}

}  // namespace

std::vector<WhoRow> who(const ComparisonReport& of) {
  std::vector<WhoRow> rows;
  const auto add = [&](const char* what, auto&& of_side) {
    WhoRow row{what, joined(of_side(of.a)), joined(of_side(of.b))};
    if (!row.a.empty() || !row.b.empty()) rows.push_back(std::move(row));
  };
  add("GPU", [](const Side& side) { return of_series(side, &SeriesInfo::device_name); });
  add("UUID", [](const Side& side) { return of_series(side, &SeriesInfo::device_uuid); });
  for (const NamedFact& fact : named_facts) add(fact.what, [&](const Side& side) { return facts_of(side, fact); });
  add("hostname", [](const Side& side) { return of_roots(side, [](const TraceRoot& r) { return r.hostname; }); });
  add("npgpu", [](const Side& side) { return of_roots(side, version_of); });
  add("plan", [](const Side& side) { return of_roots(side, [](const TraceRoot& r) { return r.plan; }); });
  return rows;
}

bool is_simulated(const ComparisonReport& of) {
  bool any = false;
  for (const Side* side : {&of.a, &of.b})
    each_series(*side, [&](const SeriesInfo& series, const std::string&) { any |= series.simulated; });
  return any;
}

std::vector<std::string> doubts_of(const ComparisonReport& of) {
  std::vector<std::string> all;
  const auto uuid = [](const TraceRoot& root) { return root.run_uuid; };
  const Texts of_a = of_roots(of.a, uuid), of_b = of_roots(of.b, uuid);
  if (std::ranges::any_of(of_a, [&](const std::string& one) { return of_b.contains(one); }))
    all.emplace_back("A and B have a run in common");
  for (const auto& [which, side] : {std::pair{'A', &of.a}, {'B', &of.b}})
    for (std::size_t i = 0; i < side->runs.size(); ++i)
      if (!side->runs[i]->root.complete)
        all.push_back(fmt::format("{} is incomplete: the run of {} did not reach its end", which, side->files[i]));
  for (const WhoRow& row : who(of))
    if (row.what == "npgpu" && row.differs())
      all.push_back("two versions of npgpu measured: what one of them does in a repeat may differ");
  const auto& cases = of.found.cases;
  if (std::ranges::any_of(cases, &CaseComparison::trials_stand_in))
    all.push_back(fmt::format(
        "{} of {} cases have one visit to each point on a side: their trials stand in for rounds, and such intervals "
        "do not hold what changes from visit to visit and from run to run",
        std::ranges::count(cases, true, &CaseComparison::trials_stand_in), cases.size()));
  if (of.found.soaks > 0)
    all.push_back(fmt::format("{} series of soaks of B are not compared: npgpu report shows each", of.found.soaks));
  return all;
}

}  // namespace npgpu

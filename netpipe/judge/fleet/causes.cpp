// What speaks for a cause: facts, settings and findings that differ from those of the group, with a remedy each.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "netpipe/judge/fleet/group.hpp"
#include "netpipe/judge/health/metrics.hpp"
#include "netpipe/model/medians.hpp"

namespace npgpu::model {

namespace {

// How clocks of one model, and shares of throttled visits, differ from GPU to GPU, and what would be acted on.
constexpr KnownScatter clock_scatter{0.01, 0.05}, throttle_scatter{0.02, 0.1};
constexpr double chance_of_facts = 1e-7, much_hotter_c = 10;

// What people call a setting, and what to do where one GPU has another value than the rest.
struct SettingWords {
  const char *name, *words, *unit, *remedy;
};
constexpr SettingWords setting_words[] = {
    {"power_limit_w", "power limit", " W", "nvidia-smi -pl sets it"},
    {"iommu_domain", "IOMMU domain", "", "iommu=pt on the kernel's command line, or off in the BIOS"},
    {"acs_redirects", "bridges with ACS that redirects", "", "turn ACS off on them where no virtual machine needs it"},
    {"numa_node", "NUMA node", "", "look at the slot, and at NPS or SNC in the BIOS"},
    {"ecc", "ECC", "", "nvidia-smi -e sets it"},
    {"mig_mode", "MIG", "", "nvidia-smi -mig sets it"},
    {"persistence_mode", "persistence mode", "", "start nvidia-persistenced"},
    {"vbios_version", "VBIOS", "", "have the same firmware on all"},
    {"max_sm_clock_mhz", "highest SM clock", " MHz", "nvidia-smi -rgc resets it"},
    {"nvlinks_active", "active NVLinks", "", "reset the GPUs; look at nvidia-smi nvlink -s and the Fabric Manager"},
    {"cpu_model", "processor", "", ""},
    {"kernel", "kernel", "", ""},
    {"mps_daemon", "MPS daemon", "", "echo quit | nvidia-cuda-mps-control stops it"},
    {"numa_balancing", "automatic NUMA balancing", "", "sysctl kernel.numa_balancing=0"},
    {"transparent_huge_pages", "transparent huge pages", "", ""},
};

class Causes {
 public:
  Causes(const GroupOf& group, std::size_t member, const UsualFacts& usual,
         const std::map<std::string, std::string>& settings, const std::vector<FleetFinding>& findings)
      : group_(group),
        member_(member),
        facts_(group.members[member].facts),
        last_(*group.sightings[member].back().gpu),
        usual_(usual),
        settings_(settings),
        findings_(findings) {}

  std::vector<FleetCause> find() {
    add_own(last_.defects);
    add_own(last_.slow);
    if (any(Suspicion::missing))
      add("missing", "its own plan had it, and there is no valid figure: measure it again, and see the error above");
    if (any(Suspicion::broken) || any(Suspicion::slow) || any(Suspicion::differs)) {
      if (!has("link_")) link();
      if (!has("sms_missing")) multiprocessors();
      if (!has("throttle_") && !has("clock_cap") && !has("sync_boost")) clocks();
      way();
      counted();
      settings();
    }
    if (all_.empty()) by_kind();
    if (all_.empty()) add("unknown", "nothing in its traces says why: look at the host's settings and its log");
    return std::move(all_);
  }

 private:
  bool any(Suspicion suspicion) const {
    return std::ranges::find(findings_, suspicion, &FleetFinding::suspicion) != findings_.end();
  }
  bool any_slow(FigureKind kind) const {
    return std::ranges::any_of(
        findings_, [&](const FleetFinding& one) { return one.suspicion == Suspicion::slow && one.kind == kind; });
  }
  bool is_slow(std::string_view figure) const {
    return std::ranges::any_of(
        findings_, [&](const FleetFinding& one) { return one.suspicion == Suspicion::slow && one.what == figure; });
  }
  // It has this figure, and takes at most half of what is allowed more than others.
  bool is_as_others(std::string_view figure) const {
    for (const ItemColumn& column : group_.columns)
      if (column.item.judged && column.item.title == figure)
        if (const FleetValue& value = column.values[member_]; value.share <= column.item.tolerance / 2) return true;
    return false;
  }
  // What check says of it comes first, in its words, each cause once.
  void add_own(const std::vector<FleetDefect>& some) {
    for (const FleetDefect& one : some) {
      const std::string cause = one.cause.empty() ? one.metric : one.cause;
      const auto is_known = [&](const FleetCause& known) {
        return known.cause == cause || (!one.remedy.empty() && known.text.ends_with(": " + one.remedy));
      };
      if (std::ranges::any_of(all_, is_known)) continue;
      std::string text = one.what.empty() ? one.text : fmt::format("{} ({})", one.what, one.text);
      if (!one.remedy.empty()) text += ": " + one.remedy;
      add(cause, std::move(text));
    }
  }
  bool has(std::string_view begin) const {
    return std::ranges::any_of(all_, [&](const FleetCause& one) { return one.cause.starts_with(begin); });
  }
  double own(FleetFact fact) const { return fact_of(facts_, fact); }
  double usual(FleetFact fact) const { return usual_[static_cast<std::size_t>(fact)].value; }
  void add(std::string cause, std::string text) { all_.push_back({std::move(cause), std::move(text)}); }

  void link() {
    const bool is_slow = own(FleetFact::pcie_generation) < usual(FleetFact::pcie_generation),
               is_narrow = own(FleetFact::pcie_lanes) < usual(FleetFact::pcie_lanes);
    if (!is_slow && !is_narrow) return;
    const auto link_text = [](double generation, double lanes) {
      return fmt::format("PCIe{}{}", generation > 0 ? fmt::format(" Gen{:g}", generation) : "",
                         lanes > 0 ? fmt::format(" x{:g}", lanes) : "");
    };
    add("link", fmt::format("{} under load (others: {}): reseat GPU or riser; see LnkSta in lspci -vv",
                            link_text(own(FleetFact::pcie_generation), own(FleetFact::pcie_lanes)),
                            link_text(usual(FleetFact::pcie_generation), usual(FleetFact::pcie_lanes))));
  }

  void multiprocessors() {
    const double is = own(FleetFact::multiprocessors), others = usual(FleetFact::multiprocessors);
    if (is < others)
      add("multiprocessors",
          fmt::format("{:g} multiprocessors (others: {:g}): see MIG; else replace the GPU", is, others));
  }

  void clocks() {
    std::string hot;
    if (own(FleetFact::temperature_c) > usual(FleetFact::temperature_c) + much_hotter_c)
      hot = fmt::format("{:.0f} C (others: {:.0f})", own(FleetFact::temperature_c), usual(FleetFact::temperature_c));
    const bool throttled = is_throttled(group_.members[member_], usual_);
    if (!hot.empty()) add("hot", hot + ": look at fans, airflow and the heat sink");
    if (throttled)
      add("throttled", last_.throttle + ": nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE says what holds it back");
    clock("clock", "SM clock", FleetFact::sm_clock_mhz, "nvidia-smi -rgc resets a locked clock");
    clock("memory_clock", "memory clock", FleetFact::memory_clock_mhz, "nvidia-smi -rmc resets a locked clock");
  }

  void clock(const char* cause, const char* what, FleetFact fact, const char* remedy) {
    if (is_lower_clock(group_.members[member_], usual_, fact))
      add(cause, fmt::format("{} {:.0f} MHz (others: {:.0f}): {}", what, own(fact), usual(fact), remedy));
  }

  // One direction only; large copies only.
  void way() {
    const std::string in = title_of("h2d_rate"), out = title_of("d2h_rate");
    for (const auto& [slow, other] : {std::pair{in, out}, std::pair{out, in}}) {
      if (!is_slow(slow) || !is_as_others(other)) continue;
      const std::string way = slow.substr(0, slow.find(','));
      add("one_direction",
          fmt::format("only {} is slow, so the link is trained as it should: look for corrected errors "
                      "and replays (lspci -vv, AER), at MaxPayload and MaxReadReq, and at the riser",
                      way));
    }
    const bool is_large_only = (is_slow(in) || is_slow(out)) && (!is_slow(in) || is_as_others(title_of("h2d_time"))) &&
                               (!is_slow(out) || is_as_others(title_of("d2h_time")));
    if (is_large_only) add("large_only", "only large copies are slow, small ones are as others': bytes, and not calls");
    if (is_slow("copy to another GPU") || is_slow("copy from another GPU"))
      add("peer_link",
          "a link between GPUs: nvidia-smi nvlink -s and -e show links and errors; npgpu matrix finds the pair");
  }

  // Nothing else speaks for a cause: what is usual of that kind.
  void by_kind() {
    if (is_slow(title_of("h2d_rate")) && is_slow(title_of("d2h_rate")))
      add("path",
          "both directions are slow, and the link is trained as others' are: memory or processors of another NUMA "
          "node (nvidia-smi topo -m, numactl -H; NPS or SNC in the BIOS), or the IOMMU");
    if (any_slow(FigureKind::memory))
      add("memory",
          "memory is slow at the clock that others have: nvidia-smi -q -d ECC,ROW_REMAPPER; reset the GPU, "
          "replace it if it stays slow");
    if (any_slow(FigureKind::compute))
      add("compute", "computing is slow: nvidia-smi -q -d CLOCK,PERFORMANCE,POWER while it works");
  }

  void counted() { add_own(last_.signs); }

  void settings() {
    for (const SettingWords& words : setting_words) {
      const auto setting = std::ranges::find(last_.settings, words.name, &FleetSetting::name);
      const auto known = settings_.find(words.name);
      if (setting == last_.settings.end() || known == settings_.end() || known->second == setting->value) continue;
      add(setting->name, fmt::format("{} {}{} (others: {}{}){}{}", words.words, setting->value, words.unit,
                                     known->second, words.unit, *words.remedy ? ": " : "", words.remedy));
    }
  }

  const GroupOf& group_;
  const std::size_t member_;
  const FleetFacts& facts_;
  const FleetGpu& last_;
  const UsualFacts& usual_;
  const std::map<std::string, std::string>& settings_;
  const std::vector<FleetFinding>& findings_;
  std::vector<FleetCause> all_;
};

bool is_count(FleetFact fact) {
  return fact == FleetFact::multiprocessors || fact == FleetFact::pcie_generation || fact == FleetFact::pcie_lanes;
}

}  // namespace

UsualFacts usual_facts(const std::vector<FleetMember>& members) {
  UsualFacts usual;
  for (std::size_t i = 0; i < usual.size(); ++i) {
    std::vector<double> known;
    std::map<double, std::size_t> counts;
    for (const FleetMember& member : members)
      if (std::isfinite(member.facts[i])) {
        known.push_back(member.facts[i]);
        ++counts[member.facts[i]];
      }
    if (known.empty()) continue;
    const auto most = std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; });
    usual[i].value = is_count(static_cast<FleetFact>(i)) ? most->first : median(known);
    usual[i].is_clear = most->second + std::max<std::size_t>(1, known.size() / 10) >= known.size();
    const auto fact = static_cast<FleetFact>(i);
    if (fact == FleetFact::throttled) {
      const Standard standard = standard_of(known, throttle_scatter, chance_of_facts);
      usual[i].limit = standard.center + standard.limit;
    } else if (fact == FleetFact::sm_clock_mhz || fact == FleetFact::memory_clock_mhz) {
      for (double& mhz : known) mhz = -std::log(mhz);
      const Standard standard = standard_of(known, clock_scatter, chance_of_facts);
      usual[i].limit = std::exp(-standard.center - standard.limit);
    }
  }
  return usual;
}

bool is_less(const FleetMember& member, const UsualFacts& usual, FleetFact fact) {
  const Usual& of_group = usual[static_cast<std::size_t>(fact)];
  return of_group.is_clear && fact_of(member.facts, fact) < of_group.value;
}

bool is_lower_clock(const FleetMember& member, const UsualFacts& usual, FleetFact fact) {
  return fact_of(member.facts, fact) < usual[static_cast<std::size_t>(fact)].limit;
}

bool is_throttled(const FleetMember& member, const UsualFacts& usual) {
  return fact_of(member.facts, FleetFact::throttled) > usual[static_cast<std::size_t>(FleetFact::throttled)].limit;
}

std::map<std::string, std::string> usual_settings(const std::vector<Sightings>& members) {
  std::map<std::string, std::map<std::string, std::size_t>> counts;
  std::map<std::string, std::size_t> known;
  for (const Sightings& seen : members)
    for (const FleetSetting& setting : seen.back().gpu->settings) {
      ++counts[setting.name][setting.value];
      ++known[setting.name];
    }
  std::map<std::string, std::string> usual;
  for (const auto& [name, values] : counts) {
    const auto most = std::ranges::max_element(values, {}, [](const auto& one) { return one.second; });
    if (most->second + std::max<std::size_t>(1, known[name] / 10) >= known[name]) usual[name] = most->first;
  }
  return usual;
}

std::vector<FleetCause> causes_of(const GroupOf& group, std::size_t member, const UsualFacts& usual,
                                  const std::map<std::string, std::string>& settings,
                                  const std::vector<FleetFinding>& findings) {
  return Causes(group, member, usual, settings, findings).find();
}

}  // namespace npgpu::model

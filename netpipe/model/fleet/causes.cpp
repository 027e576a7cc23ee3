#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "netpipe/model/fleet/suspects.hpp"

namespace npgpu::model {

namespace {

// Clocks of one model differ by less from GPU to GPU, shares of throttled visits and degrees too.
constexpr double lower_clock = 0.02, more_throttled = 0.1, much_hotter_c = 10;

class Causes {
 public:
  Causes(const FleetMember& member, const FleetGpu& last, const UsualFacts& usual,
         const std::vector<FleetFinding>& findings)
      : facts_(member.facts), last_(last), usual_(usual), findings_(findings) {}

  std::vector<FleetCause> find() {
    for (const FleetDefect& defect : last_.defects)
      if (defect.metric != "sms")
        add(defect.metric, defect.remedy.empty() ? defect.text : defect.text + ": " + defect.remedy);
    if (any(Suspicion::missing)) add("missing", "something that was to be measured has no figure");
    if (any(Suspicion::broken) || any(Suspicion::slow) || any(Suspicion::differs)) {
      link();
      multiprocessors();
      clocks();
    }
    if (any(Suspicion::noisy))
      add("noise", "its own times scatter: look for other processes, an unsteady clock, or a link with errors");
    if (all_.empty()) add("unknown", "nothing in its traces says why: look at the host's settings and its log");
    return std::move(all_);
  }

 private:
  bool any(Suspicion suspicion) const {
    return std::ranges::find(findings_, suspicion, &FleetFinding::suspicion) != findings_.end();
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
    add("link", fmt::format("its link is {}, and others have {}",
                            link_text(own(FleetFact::pcie_generation), own(FleetFact::pcie_lanes)),
                            link_text(usual(FleetFact::pcie_generation), usual(FleetFact::pcie_lanes))));
  }

  void multiprocessors() {
    const double is = own(FleetFact::multiprocessors), others = usual(FleetFact::multiprocessors);
    if (is < others) add("multiprocessors", fmt::format("{:g} multiprocessors, and others have {:g}", is, others));
  }

  void clocks() {
    std::string hot;
    if (own(FleetFact::temperature_c) > usual(FleetFact::temperature_c) + much_hotter_c)
      hot = fmt::format("; {:.0f} C, and others have {:.0f} C", own(FleetFact::temperature_c),
                        usual(FleetFact::temperature_c));
    const double throttled = usual(FleetFact::throttled);
    const bool is_throttled = own(FleetFact::throttled) > (std::isnan(throttled) ? 0 : throttled) + more_throttled;
    if (is_throttled) add("throttled", last_.throttle + hot);
    clock("clock", "SM clock", FleetFact::sm_clock_mhz, is_throttled ? "" : hot);
    clock("memory_clock", "memory clock", FleetFact::memory_clock_mhz, "");
  }

  void clock(const char* cause, const char* what, FleetFact fact, const std::string& more) {
    if (own(fact) < (1 - lower_clock) * usual(fact))
      add(cause, fmt::format("{} {:.0f} MHz, and others have {:.0f} MHz{}", what, own(fact), usual(fact), more));
  }

  const FleetFacts& facts_;
  const FleetGpu& last_;
  const UsualFacts& usual_;
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
  }
  return usual;
}

bool is_less(const FleetMember& member, const UsualFacts& usual, FleetFact fact) {
  const Usual& of_group = usual[static_cast<std::size_t>(fact)];
  return of_group.is_clear && fact_of(member.facts, fact) < of_group.value;
}

std::vector<FleetCause> causes_of(const FleetMember& member, const FleetGpu& last, const UsualFacts& usual,
                                  const std::vector<FleetFinding>& findings) {
  return Causes(member, last, usual, findings).find();
}

}  // namespace npgpu::model

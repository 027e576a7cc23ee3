#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "netpipe/model/fleet/suspects.hpp"

namespace npgpu::model {

namespace {

using CaseName = std::pair<std::string, std::string>;  // kind, title

bool has_figure(const FleetCurve& curve) {
  return std::ranges::any_of(curve.us, [](double us) { return std::isfinite(us); });
}

// Who followed a plan, and who of them has which case.
struct Followers {
  std::set<std::size_t> members;
  std::map<CaseName, std::set<std::size_t>> have;
};

}  // namespace

std::vector<std::vector<MissingFigure>> missing_of(const std::vector<Sightings>& members, std::size_t least_gpus) {
  std::map<std::string, Followers> plans;
  std::vector<std::map<CaseName, std::string>> why(members.size());  // that are there, and have no valid figure
  std::vector<std::set<CaseName>> have(members.size());
  for (std::size_t m = 0; m < members.size(); ++m)
    for (const Sighting& seen : members[m]) {
      Followers* const plan = seen.run->plan.empty() ? nullptr : &plans[seen.run->plan];
      if (plan) plan->members.insert(m);
      for (const FleetCurve& curve : seen.gpu->curves) {
        const CaseName name{curve.question->kind, curve.question->title};
        if (!has_figure(curve)) {
          why[m].emplace(name, curve.why);
          continue;
        }
        have[m].insert(name);
        if (plan) plan->have[name].insert(m);
      }
    }
  std::vector<std::vector<MissingFigure>> missing(members.size());
  for (std::size_t m = 0; m < members.size(); ++m)
    for (const auto& [name, because] : why[m])
      if (!have[m].contains(name)) missing[m].push_back({name.second, because});
  for (const auto& [plan, followers] : plans) {
    const std::size_t all = followers.members.size();
    if (all < least_gpus) continue;
    for (const auto& [name, owners] : followers.have) {
      if (owners.size() == all || owners.size() + std::max<std::size_t>(all / 10, 1) < all) continue;
      for (const std::size_t m : followers.members) {
        if (have[m].contains(name) || why[m].contains(name)) continue;
        const bool is_cut = std::ranges::any_of(
            members[m], [&](const Sighting& seen) { return seen.run->plan == plan && !seen.run->complete; });
        missing[m].push_back({name.second, is_cut ? "its run did not reach its end" : "it is not in its trace"});
      }
    }
  }
  return missing;
}

}  // namespace npgpu::model

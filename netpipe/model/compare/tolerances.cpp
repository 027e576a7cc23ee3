#include "netpipe/model/compare/tolerances.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace npgpu::model {

namespace {

// By class, in its order, and by third. From 32 runs of characterize, 4 to 10 in a row on each of five H200s in virtual
// machines with neighbours: of the changes between two runs of one GPU that were significant, all but a few were
// smaller. Latencies and what the host's processor does differ from run to run by several percent, as its clock did;
// rates of the device by 0.1 to 1 %. Small copies in both directions at once took one of two times, 16 % apart, through
// all of a run: it is the process that chooses.
constexpr std::array<std::array<double, names_of<Third>.size()>, names_of<TimeClass>.size()> default_changes{{
    {0.18, 0.07, 0.025, 0.03},  // device-copies
    {0.09, 0.07, 0.035, 0.05},  // host-copies
    {0.15, 0.15, 0.20, 0.15},   // pageable-copies
    {0.03, 0.01, 0.01, 0.01},   // kernels
    {0.20, 0.20, 0.20, 0.20},   // host-probes
    {0.10, 0.15, 0.16, 0.16},   // calls
    {0.08, 0.08, 0.08, 0.03},   // jobs
    {0.08, 0.08, 0.08, 0.03},   // gated-jobs
}};

constexpr double least_learned = 0.005, beyond_seen = 1.5;

// What a part adds to what is known of its side's runs.
void learn(Tolerance& of_class, const CaseCurve& curve, const Part& part, std::size_t side, std::size_t runs) {
  const std::vector<double> numbers = numbers_of(curve, part.points, Scale::time)[side];
  if (numbers.size() != runs) return;
  const double middle = median(numbers);
  double& share = of_class.share[static_cast<std::size_t>(part.third)];
  for (const double number : numbers)
    share = std::max({share, least_learned, beyond_seen * std::expm1(std::abs(number - middle))});
}

void learn(Tolerances& all, const std::vector<CaseCurve>& curves, std::size_t side, std::size_t runs) {
  Tolerances learned;
  for (const CaseCurve& curve : curves) {
    Tolerance& of_class = learned[static_cast<std::size_t>(curve.time_class)];
    for (const Part& part : thirds_of(curve)) learn(of_class, curve, part, side, runs);
    for (const FigureChoice& figure : curve.figures)
      if (const Part part = part_of_figure(curve, figure.among); !part.points.empty())
        learn(of_class, curve, part, side, runs);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool also_of_a = all[i].source.starts_with("learned");
    bool any = false;
    for (std::size_t third = 0; third < learned[i].share.size(); ++third) {
      const double share = learned[i].share[third];
      if (share == 0) continue;
      all[i].share[third] = also_of_a ? std::max(all[i].share[third], share) : share;
      any = true;
    }
    if (!any) continue;
    const std::string source = fmt::format("{} runs of {}", runs, side ? "B" : "A");
    all[i].source = also_of_a ? all[i].source + " and " + source : "learned from " + source;
  }
}

}  // namespace

Tolerances usual_tolerances() {
  Tolerances all;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = {default_changes[i], "default"};
  return all;
}

Tolerances tolerances_of(const std::vector<CaseCurve>& curves, Runs a, Runs b, std::optional<double> given) {
  Tolerances all = usual_tolerances();
  if (given) {
    Tolerance same{.source = "--tolerance"};
    same.share.fill(*given);
    all.fill(same);
    return all;
  }
  if (a.size() >= enough_runs) learn(all, curves, 0, a.size());
  if (b.size() >= enough_runs) learn(all, curves, 1, b.size());
  return all;
}

}  // namespace npgpu::model

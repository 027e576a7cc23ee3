// Whether results were right, and what the figures rest on: others on the machine, unsteady points.
#include <algorithm>
#include <map>

#include "netpipe/judge/health/findings.hpp"
#include "netpipe/judge/matrix/links.hpp"
#include "npgpu/model/compare.hpp"

namespace npgpu::model {

namespace {

// In seven runs of characterize on H200s 1 to 4 % of the points were unsteady. Of the nine points of a short check, two
// are: small copies, whose times change by 5 % from visit to visit, and whose interval of three visits is wide.
constexpr double many_unsteady = 0.25;
// A few disturbed points say little of a node: those that figures rest on are named where the figure is judged.
constexpr double many_disturbed = 0.1;
// What chance does not explain of each share warns: see least_beyond_chance().

struct Counts {
  std::size_t compared = 0, wrong = 0, points = 0, disturbed = 0, unsteady = 0, without_figure = 0;
  std::size_t alone = 0;          // points that are of one device, and not between GPUs
  std::size_t steady_or_not = 0;  // points of which it can be said
  std::uint32_t causes = 0;
  std::set<std::string> by{};
  std::size_t failed = 0;  // series
  std::string first_wrong{}, first_without{}, first_error{};

  void add_error(const std::string& what) {
    if (failed++ == 0) first_error = what;
  }

  void add_without_figure(const std::string& which, const std::string& why) {
    if (without_figure++ == 0) first_without = which + ": " + why;
  }
};

template <class K> void count_results(const Series<K>& series, Counts& counts) {
  for (const auto& sample : series.samples) {
    counts.compared += sample.intact >= 0;
    counts.wrong += sample.intact == 0;
    if (sample.intact == 0 && counts.first_wrong.empty())
      counts.first_wrong = title(series.question) + (series.error.empty() ? "" : ": " + series.error);
  }
  // Those of a lost or defective device are that device's finding.
  const bool is_told =
      series.failure == Failure::wrong || series.failure == Failure::lost || series.failure == Failure::defect;
  if (!series.error.empty() && !is_told) counts.add_error(title(series.question) + ": " + series.error);
}

template <class K> void count_figures(const Series<K>& series, Counts& counts) {
  if (series.visits.empty() && series.error.empty()) {
    ++counts.points;
    counts.add_without_figure(title(series.question), "never visited");
  }
  std::map<typename K::Axes, std::size_t> visits;
  for (const auto& visit : series.visits) ++visits[visit.axes];
  std::set<typename K::Axes> judged, unsteady;  // lanes of a point are counted once
  for (const Result<K>& time : results(series)) {
    const bool is_wrong = std::ranges::any_of(series.samples, [](const auto& one) { return one.intact == 0; });
    const auto is_without = [&](const char* why) {
      counts.add_without_figure(title(series.question) + ", " + text_of(time.axes), why);
    };
    // What a kernel is for is its rate.
    const bool has_work = !std::is_same_v<K, Probes> || time.rate.value > 0;
    if (!is_wrong && (!time.is_timed || (time.usable() && !is_figure(time.time_us.value))))
      is_without("no trial has a valid time");
    else if (!time.is_wrong && !has_work) is_without("its work is not known, so that it has no rate");
    // What others did is no unsteadiness of the device.
    if (!time.usable() || (time.causes & ~own_causes) != 0) continue;
    if (visits[time.axes] < 2) continue;  // one visit shows nothing of the next
    judged.insert(time.axes);
    if (time.unsteady) unsteady.insert(time.axes);
  }
  counts.steady_or_not += judged.size();
  counts.unsteady += unsteady.size();
}

// What goes wrong between GPUs is judged by itself (matrix/findings.hpp): here it would be the fault of the one that it
// is listed under.
template <class K> bool is_judged_between_gpus(const Series<K>& series) {
  if constexpr (std::is_same_v<K, Transfers>) return is_of_several_gpus(series.question);
  return false;
}

template <class K> void count_points(const std::vector<const Series<K>*>& all, Counts& counts) {
  for (const Series<K>* series : all) {
    if (!is_judged_between_gpus(*series)) {
      count_results(*series, counts);
      count_figures(*series, counts);
      counts.alone += points_of(*series).size();
    }
    for (const Point<K>& point : points_of(*series)) {
      ++counts.points;
      if (const std::uint32_t others = point.disturbed() & ~own_causes) {
        ++counts.disturbed;
        counts.causes |= others;
        counts.by.merge(disturbers_of(point));
      }
    }
  }
}

// "h2d ...: the device is lost, seen at call 40 (copy), and 4 more cases".
std::string first_and_more(const std::vector<std::string>& all) {
  return all.front() +
         (all.size() > 1 ? fmt::format(", and {} more case{}", all.size() - 1, all.size() > 2 ? "s" : "") : "");
}

void judge_device(Findings& findings) {
  const DeviceRecord& of = findings.device;
  if (const auto loss = loss_of(of)) {
    findings.defect("device_lost", Health::fail, "the GPU is lost: " + *loss);
  } else if (!of.defects.empty()) {
    findings.defect("device_defect", Health::fail,
                    "the GPU reported a defect of its own: " + first_and_more(of.defects));
  }
}

double share_of(std::size_t some, std::size_t all) {
  return all ? static_cast<double>(some) / static_cast<double>(all) : 0;
}

constexpr const char* nothing_alone = "nothing was measured of this device alone";

void judge_neighbours(Findings& findings, const Counts& counts) {
  if (counts.points == 0) return findings.skip("neighbours", fmt::format("others: {}", nothing_alone));
  // Where most were disturbed, nearly all figures rest on that, however few they are.
  const std::size_t least = std::min(least_beyond_chance(counts.points, many_disturbed), counts.points / 2 + 1);
  HealthFinding& others =
      findings.add("neighbours", counts.disturbed >= least ? Health::warn : Health::pass,
                   counts.disturbed ? fmt::format("{} of {} points were disturbed: {}", counts.disturbed, counts.points,
                                                  disturbance_text(counts.causes, counts.by))
                                    : fmt::format("no disturbance was seen at any of the {} points", counts.points));
  with_value(others, share_of(counts.disturbed, counts.points), share_of(least - 1, counts.points), "share of points");
  if (counts.disturbed) findings.disturbed.push_back({"neighbours", disturbance_text(counts.causes, counts.by)});
}

void judge_steadiness(Findings& findings, const Counts& counts) {
  const std::size_t of = counts.steady_or_not, least = least_beyond_chance(of, many_unsteady);
  if (counts.alone == 0) return findings.skip("converged", fmt::format("steadiness: {}", nothing_alone));
  if (least > of)
    return findings.skip("converged",
                         counts.disturbed && 2 * of < counts.points
                             ? fmt::format("steadiness: cannot be said, as {} of {} points were disturbed",
                                           counts.disturbed, counts.points)
                         : of == 0 ? std::string("steadiness: no point has several visits")
                                   : fmt::format("steadiness: {} point{} cannot say it", of, of == 1 ? "" : "s"));
  std::string text = fmt::format("{} of {} points are steady from visit to visit", of - counts.unsteady, of);
  if (counts.unsteady < least && share_of(counts.unsteady, of) > many_unsteady)
    text += fmt::format("; so few of {} may be chance", of);
  HealthFinding& repeats =
      findings.add("converged", counts.unsteady >= least ? Health::warn : Health::pass, std::move(text));
  with_value(repeats, share_of(counts.unsteady, of), share_of(least - 1, of), "share of points that are not");
}

}  // namespace

std::optional<std::string> loss_of(const DeviceRecord& of) {
  if (!of.lost.empty()) return first_and_more(of.lost);
  constexpr double off_the_bus = 79;
  if (of.rise("xids") > 0 && number_fact(of.after, "xid_last") == off_the_bus)
    return "Xid 79, GPU has fallen off the bus, during this run";
  for (const Facts* facts : {&of.after, &of.before})
    if (const std::string why = text_fact(*facts, "unread_device"); !why.empty()) return "NVML: " + why;
  return std::nullopt;
}

void judge_runs(Findings& findings) {
  judge_device(findings);
  const DeviceRecord& of = findings.device;
  Counts counts;
  for_each_kind([&]<class K>() { count_points<K>(of.all<K>(), counts); });
  for_each_kind([&]<class K>() {
    for (const Series<K>* series : std::get<SeriesOf<K>>(of.beside))
      if (!is_judged_between_gpus(*series)) count_results(*series, counts);
  });

  if (counts.compared == 0) {
    findings.skip("results", fmt::format("results: {}", counts.alone ? "none was compared" : nothing_alone));
  } else {
    const bool is_wrong = counts.wrong > 0;
    HealthFinding& results = findings.defect(
        "results", is_wrong ? Health::fail : Health::pass,
        is_wrong
            ? fmt::format("{} of {} results compared were wrong: {}", counts.wrong, counts.compared, counts.first_wrong)
            : fmt::format("{} of {} results compared were right", counts.compared, counts.compared));
    with_value(results, static_cast<double>(counts.wrong), 0, "wrong results");
  }
  if (counts.failed > 0) {
    const std::string more = counts.failed > 1 ? fmt::format(" (and {} more failed)", counts.failed - 1) : "";
    HealthFinding& errors =
        findings.add("errors", Health::fail, "not all could be measured: " + counts.first_error + more);
    errors.if_failed = CheckVerdict::failed_to_run;
  }
  if (counts.without_figure > 0) {
    HealthFinding& without = findings.add("figures", Health::fail,
                                          fmt::format("{} of {} points have no valid figure: {}", counts.without_figure,
                                                      counts.points, counts.first_without));
    without.if_failed = CheckVerdict::failed_to_run;
    with_value(without, static_cast<double>(counts.without_figure), 0, "points");
  }
  judge_neighbours(findings, counts);
  judge_steadiness(findings, counts);
}

}  // namespace npgpu::model

// Rates and times of copies, by ranges of sizes, against what link and memory could do.
#include <algorithm>
#include <map>
#include <optional>

#include "netpipe/engine/saturated.hpp"
#include "netpipe/model/health/efficiency.hpp"
#include "netpipe/model/health/findings.hpp"
#include "npgpu/compare.hpp"

namespace npgpu::model {

namespace {

struct CopyPoint {
  std::uint64_t bytes = 0;
  Estimate us;
  std::string disturbed{};
  std::vector<double> by_visit{};  // times over the median
  double rate() const { return static_cast<double>(bytes) / us.value * 1e6; }
  std::vector<double> rates_of_visits() const { return rates_by_visit(by_visit, rate()); }
  std::vector<double> times_of_visits() const {
    std::vector<double> all = by_visit;
    for (double& one : all) one *= us.value;
    return all;
  }
  Estimate rates() const {
    const auto rate_of = [&](double time) { return static_cast<double>(bytes) / time * 1e6; };
    return {rate(), rate_of(us.high), rate_of(us.low), "B/s", us.method};
  }
};

// The usable points of a series, its own lane's, by size.
std::vector<CopyPoint> copy_points(const TransferSeries& series) {
  std::map<std::uint64_t, TransferPoint> points;
  for (const TransferPoint& point : points_of(series)) points.emplace(point.axes.bytes, point);
  std::vector<CopyPoint> all;
  for (const PointTime<Transfers>& point : estimates(series))
    if (point.lane == 0 && point.usable() && point.time_us.value > 0)
      all.push_back({point.axes.bytes, point.time_us, others_of(points.at(point.axes.bytes)),
                     times_by_visit(series, points.at(point.axes.bytes))});
  std::ranges::sort(all, {}, &CopyPoint::bytes);
  return all;
}

// The first of these that the device was asked for: one module's, aligned, of one lane.
const TransferSeries* copy_series(const DeviceRecord& of, Direction direction, Memory memory, bool by_host,
                                  bool is_async, Cache cache = Cache::warm) {
  for (const TransferSeries* series : of.transfers) {
    const TransferCase& c = series->question;
    if (c.direction == direction && c.memory == memory && (c.timing == Timing::host) == by_host &&
        c.async == is_async && c.pattern == Pattern::stream && c.cache == cache && c.more_lanes.empty() &&
        !c.source_offset && !c.target_offset && c.host_node < 0 && c.executor == Executor::copy_engine)
      return series;
  }
  return nullptr;
}

// Of those in the range the one whose rate is in the middle of what they reach of `limit`.
template <class LimitOf>
std::optional<CopyPoint> middle_copy_of(const std::vector<CopyPoint>& all, std::uint64_t from, std::uint64_t below,
                                        LimitOf limit_of) {
  std::vector<CopyPoint> range;
  for (const CopyPoint& copy : all)
    if (copy.bytes >= from && copy.bytes < below) range.push_back(copy);
  if (range.empty()) return std::nullopt;
  std::ranges::sort(range, {}, [&](const CopyPoint& copy) { return copy.rate() / limit_of(copy); });
  return range[(range.size() - 1) / 2];
}

void judge_direction(Findings& findings, Direction direction, const char* name) {
  const DeviceRecord& of = findings.of;
  const std::string prefix(npgpu::name(direction));
  const TransferSeries* series = copy_series(of, direction, Memory::pinned, false, true);
  if (!series) series = copy_series(of, direction, Memory::pinned, true, true);
  if (!series) {
    findings.skip(prefix + "_rate", fmt::format("{} pinned: not measured", name));
    return;
  }
  const std::vector<CopyPoint> all = copy_points(*series);
  const double link = series->limit.per_s;
  const bool is_old = of.fact("max_pcie_generation") <= 4;
  const double share = !copies_go_over_pcie(of) ? least_share_of_c2c
                       : is_old                 ? least_share_of_old_link
                                                : least_share_of_link;
  const auto floor = [&](const CopyPoint& copy) {
    return static_cast<double>(copy.bytes) /
           (most_copy_overhead.count() + static_cast<double>(copy.bytes) / (share * link));
  };
  const auto rate = [&](const std::string& metric, std::uint64_t from, std::uint64_t below, const std::string& basis) {
    const auto copy = middle_copy_of(all, from, below, floor);
    if (!copy) {
      findings.skip(metric, fmt::format("{} pinned from {}: not measured", name, size_text(from)));
      return;
    }
    judge(findings, {.metric = metric,
                     .name = fmt::format("{} pinned {}", name, size_text(copy->bytes)),
                     .estimate = copy->rates(),
                     .unit = "B/s",
                     .limit = link > 0 ? floor(*copy) : not_measured,
                     .basis = link > 0 ? basis : series->limit.source,
                     .tolerance = 0.05,
                     .disturbed = copy->disturbed,
                     .possible = link,
                     .of_case = title(series->question),
                     .of_point = text_of(TransferSize{copy->bytes}),
                     .by_visit = copy->rates_of_visits()});
  };
  const std::string link_text = fmt::format(
      "{}: {} * {:g}", series->limit.source.substr(0, series->limit.source.find(':')), figure_text(link, "B/s"), share);
  const std::string overhead = fmt::format(", and {:g} us", microseconds(most_copy_overhead));
  rate(prefix + "_rate", large_copy, UINT64_MAX, link_text + overhead);
  if (std::ranges::any_of(all, [](const CopyPoint& c) { return c.bytes >= middle_copy && c.bytes < large_copy; }))
    rate(prefix + "_rate_1mib", middle_copy, large_copy, link_text + overhead);
  if (const auto copy = middle_copy_of(all, 1, small_copy + 1, [](const CopyPoint& c) { return 1 / c.us.value; }))
    judge(findings, {.metric = prefix + "_time",
                     .name = fmt::format("{} pinned {}, in a row,", name, size_text(copy->bytes)),
                     .estimate = copy->us,
                     .unit = "us",
                     .allowed = Allowed::at_most,
                     .limit = microseconds(most_copy_overhead),
                     .basis = "1.7 to 2.6 us on an H200, with a margin",
                     .tolerance = 0.3,
                     .disturbed = copy->disturbed,
                     .of_case = title(series->question),
                     .of_point = text_of(TransferSize{copy->bytes}),
                     .by_visit = copy->times_of_visits()});
}

// A blocking copy of a few bytes: what the call itself costs.
void judge_blocking(Findings& findings) {
  const TransferSeries* const series = copy_series(findings.of, Direction::h2d, Memory::pinned, true, false);
  if (!series) return;
  const std::vector<CopyPoint> all = copy_points(*series);
  const auto copy = middle_copy_of(all, 1, 65, [](const CopyPoint& c) { return 1 / c.us.value; });
  if (!copy) return;
  judge(findings, {.metric = "copy_time",
                   .name = fmt::format("blocking copy of {}", size_text(copy->bytes)),
                   .estimate = copy->us,
                   .unit = "us",
                   .allowed = Allowed::at_most,
                   .limit = most_small_copy_us,
                   .basis = "5.6 to 6.5 us on an H200's host * 1.6",
                   .tolerance = 0.3,
                   .disturbed = copy->disturbed,
                   .of_case = title(series->question),
                   .of_point = text_of(TransferSize{copy->bytes}),
                   .by_visit = copy->times_of_visits()});
}

void judge_pageable(Findings& findings, Direction direction, const char* name) {
  const TransferSeries* const series = copy_series(findings.of, direction, Memory::pageable, true, false);
  const std::string metric = std::string(npgpu::name(direction)) + "_pageable_rate";
  if (!series) return;
  std::vector<CopyPoint> all = copy_points(*series);
  std::erase_if(all, [](const CopyPoint& copy) { return copy.bytes < middle_copy; });
  if (all.empty()) return;
  const CopyPoint& largest = all.back();
  const CopyPoint& best = *std::ranges::max_element(all, {}, &CopyPoint::rate);
  HealthFinding& finding =
      judge(findings, {.metric = metric,
                       .name = fmt::format("{} pageable {}", name, size_text(largest.bytes)),
                       .estimate = largest.rates(),
                       .unit = "B/s",
                       .limit = least_share_of_pageable * best.rate(),
                       .basis = fmt::format("its best, {} at {}, * {:g}", figure_text(best.rate(), "B/s"),
                                            size_text(best.bytes), least_share_of_pageable),
                       .tolerance = 0.3,
                       .disturbed = largest.disturbed,
                       .of_case = title(series->question),
                       .of_point = text_of(TransferSize{largest.bytes}),
                       .by_visit = largest.rates_of_visits()});
  // The host's memory and caches have their part in it: no defect of the device.
  if (finding.health == Health::fail || finding.health == Health::undecided) {
    finding.health = Health::warn;
    finding.text = fmt::format("{} pageable falls from {} at {} to {} at {}", name, figure_text(best.rate(), "B/s"),
                               size_text(best.bytes), figure_text(largest.rate(), "B/s"), size_text(largest.bytes));
  }
}

void judge_within(Findings& findings) {
  const DeviceRecord& of = findings.of;
  const TransferSeries* series = nullptr;
  for (const Cache cache : {Cache::cold, Cache::warm})
    if (!series) series = copy_series(of, Direction::d2d, Memory::device, false, true, cache);
  if (!series) return;
  const double l2 = of.fact("l2_bytes"), limit = series->limit.per_s;
  const auto from = saturated<std::uint64_t>(l2 > 0 ? 2 * l2 : 128e6);
  const auto copy = middle_copy_of(copy_points(*series), from, UINT64_MAX, [&](const CopyPoint&) { return limit; });
  if (!copy) return;
  judge(findings, {.metric = "d2d_rate",
                   .name = fmt::format("D2D {}", size_text(copy->bytes)),
                   .estimate = copy->rates(),
                   .unit = "B/s",
                   .limit = least_share_of_d2d * limit,
                   .basis = limit > 0 ? fmt::format("half of clock * width: {} * {:g}", figure_text(limit, "B/s"),
                                                    least_share_of_d2d)
                                      : series->limit.source,
                   .tolerance = 0.03,
                   .disturbed = copy->disturbed,
                   .possible = limit,
                   .is_needed = false,
                   .of_case = title(series->question),
                   .of_point = text_of(TransferSize{copy->bytes}),
                   .by_visit = copy->rates_of_visits()});
}

// To another GPU of the node. What it goes through decides how fast it can be; whether bytes arrive is among the
// results.
void judge_peers(Findings& findings) {
  for (const TransferSeries* series : findings.of.transfers) {
    const TransferCase& c = series->question;
    if (c.direction != Direction::peer || c.source != findings.of.id || c.pattern != Pattern::stream ||
        c.access == Access::staged || !c.more_lanes.empty() || c.executor != Executor::copy_engine)
      continue;
    // Over PCIe switches and sockets decide, and other pairs of the node are what a copy is held against.
    const double limit = series->limit.source.find("NVLink") == std::string::npos ? not_measured : series->limit.per_s;
    const auto copy =
        middle_copy_of(copy_points(*series), large_copy, UINT64_MAX, [&](const CopyPoint&) { return limit; });
    if (!copy) continue;
    judge(findings, {.metric = "peer_rate",
                     .name = fmt::format("copy to {} {}", c.target, size_text(copy->bytes)),
                     .estimate = copy->rates(),
                     .unit = "B/s",
                     .limit = least_share_of_peers * limit,
                     .basis = limit > 0 ? fmt::format("{}: {} * {:g}", series->limit.source, figure_text(limit, "B/s"),
                                                      least_share_of_peers)
                                        : series->limit.source,
                     .tolerance = 0.05,
                     .disturbed = copy->disturbed,
                     .possible = limit,
                     .is_needed = false,
                     .of_case = title(c),
                     .of_point = text_of(TransferSize{copy->bytes}),
                     .by_visit = copy->rates_of_visits()});
  }
}

}  // namespace

void judge_copies(Findings& findings) {
  judge_direction(findings, Direction::h2d, "H2D");
  judge_direction(findings, Direction::d2h, "D2H");
  judge_blocking(findings);
  judge_pageable(findings, Direction::h2d, "H2D");
  judge_pageable(findings, Direction::d2h, "D2H");
  judge_within(findings);
  judge_peers(findings);
}

}  // namespace npgpu::model

// Rates and times of copies, by ranges of sizes, against what link and memory could do.
#include <algorithm>
#include <optional>

#include "netpipe/engine/saturated.hpp"
#include "netpipe/model/health/efficiency.hpp"
#include "netpipe/model/health/findings.hpp"
#include "npgpu/catalogue.hpp"

namespace npgpu::model {

namespace {

// The usable points of a series, its own lane's, by size.
std::vector<TransferResult> copies_of(const TransferSeries& series) {
  std::vector<TransferResult> all = results(series);
  std::erase_if(all, [](const TransferResult& r) { return r.lane > 0 || !r.usable() || !(r.time_us.value > 0); });
  return all;
}

// The first series of these questions, in their order, that the device was asked.
const TransferSeries* copy_series(const DeviceRecord& of, std::initializer_list<CopyQuestion> questions) {
  for (const CopyQuestion question : questions)
    for (const TransferSeries* series : of.all<Transfers>())
      if (question_of(series->question) == question) return series;
  return nullptr;
}

struct MiddleCopy : TransferResult {
  std::vector<std::string> other_points{};  // next to it, which are in the middle when it is measured again
};

// Of those in the range the one whose rate is in the middle of what they reach of `limit`.
template <class LimitOf>
std::optional<MiddleCopy> middle_copy_of(const std::vector<TransferResult>& all, std::uint64_t from,
                                         std::uint64_t below, LimitOf limit_of) {
  std::vector<TransferResult> range;
  for (const TransferResult& copy : all)
    if (copy.axes.bytes >= from && copy.axes.bytes < below) range.push_back(copy);
  if (range.empty()) return std::nullopt;
  std::ranges::sort(range, {}, [&](const TransferResult& copy) { return copy.rate.value / limit_of(copy); });
  constexpr std::size_t neighbours = 2;  // on each side
  const std::size_t at = (range.size() - 1) / 2;
  MiddleCopy middle{range[at]};
  for (std::size_t i = at - std::min(at, neighbours); i < range.size() && i <= at + neighbours; ++i)
    if (i != at) middle.other_points.push_back(text_of(range[i].axes));
  return middle;
}

void judge_direction(Findings& findings, Direction direction, const char* name) {
  const DeviceRecord& of = findings.of;
  const std::string prefix(npgpu::name(direction));
  const bool is_to = direction == Direction::h2d;
  const TransferSeries* const series =
      copy_series(of, {is_to ? CopyQuestion::to_device : CopyQuestion::to_host,
                       is_to ? CopyQuestion::to_device_queued : CopyQuestion::to_host_queued});
  if (!series) {
    findings.skip(prefix + "_rate", fmt::format("{} pinned: not measured", name));
    return;
  }
  const std::vector<TransferResult> all = copies_of(*series);
  // Not more than GPU and slot can carry, whatever a simulated link's limit is.
  const double pcie = copies_go_over_pcie(of) ? best_pcie_rate(of) : not_measured;
  const bool is_by_slot = pcie < 0.99 * series->limit.per_s;
  const double link = is_by_slot ? pcie : series->limit.per_s;
  const std::string source = is_by_slot ? "what GPU and slot can carry" : series->limit.source;
  const bool is_old = of.fact("max_pcie_generation") <= 4;
  const double share = !copies_go_over_pcie(of) ? least_share_of_c2c
                       : is_old                 ? least_share_of_old_link
                                                : least_share_of_link;
  const auto floor = [&](const TransferResult& copy) {
    return static_cast<double>(copy.axes.bytes) /
           (most_copy_overhead.count() + static_cast<double>(copy.axes.bytes) / (share * link));
  };
  const auto rate = [&](const std::string& metric, std::uint64_t from, std::uint64_t below, const std::string& basis) {
    const auto copy = middle_copy_of(all, from, below, floor);
    if (!copy) {
      findings.skip(metric, fmt::format("{} pinned from {}: not measured", name, size_text(from)));
      return;
    }
    judge(findings, {.metric = metric,
                     .name = fmt::format("{} pinned {}", name, size_text(copy->axes.bytes)),
                     .seen = rate_of(*series, *copy),
                     .unit = "B/s",
                     .limit = link > 0 ? floor(*copy) : not_measured,
                     .basis = link > 0 ? basis : source,
                     .possible = link,
                     .other_points = copy->other_points});
  };
  const std::string link_text =
      fmt::format("{}: {} * {:g}", source.substr(0, source.find(':')), figure_text(link, "B/s"), share);
  const std::string overhead = fmt::format(", and {:g} us", microseconds(most_copy_overhead));
  rate(prefix + "_rate", large_copy, UINT64_MAX, link_text + overhead);
  if (std::ranges::any_of(
          all, [](const TransferResult& c) { return c.axes.bytes >= middle_copy && c.axes.bytes < large_copy; }))
    rate(prefix + "_rate_1mib", middle_copy, large_copy, link_text + overhead);
  if (const auto copy =
          middle_copy_of(all, 1, small_copy + 1, [](const TransferResult& c) { return 1 / c.time_us.value; }))
    judge(findings, {.metric = prefix + "_time",
                     .name = fmt::format("{} pinned {}, in a row,", name, size_text(copy->axes.bytes)),
                     .seen = time_of(*series, *copy),
                     .unit = "us",
                     .limit = microseconds(most_copy_overhead),
                     .basis = "1.7 to 2.6 us on an H200, with a margin",
                     .other_points = copy->other_points});
}

// A blocking copy of a few bytes: what the call itself costs.
void judge_blocking(Findings& findings) {
  const TransferSeries* const series = copy_series(findings.of, {CopyQuestion::to_device_blocking});
  if (!series) return;
  const std::vector<TransferResult> all = copies_of(*series);
  const auto copy = middle_copy_of(all, 1, 65, [](const TransferResult& c) { return 1 / c.time_us.value; });
  if (!copy) return;
  judge(findings, {.metric = "copy_time",
                   .name = fmt::format("blocking copy of {}", size_text(copy->axes.bytes)),
                   .seen = time_of(*series, *copy),
                   .unit = "us",
                   .limit = most_small_copy_us,
                   .basis = "5.6 to 6.5 us on an H200's host * 1.6",
                   .other_points = copy->other_points});
}

void judge_pageable(Findings& findings, Direction direction, const char* name) {
  const TransferSeries* const series = copy_series(
      findings.of, {direction == Direction::h2d ? CopyQuestion::to_device_pageable : CopyQuestion::to_host_pageable});
  const std::string metric = std::string(npgpu::name(direction)) + "_pageable_rate";
  if (!series) return;
  std::vector<TransferResult> all = copies_of(*series);
  std::erase_if(all, [](const TransferResult& copy) { return copy.axes.bytes < middle_copy; });
  if (all.empty()) return;
  const TransferResult& largest = all.back();
  const TransferResult& best =
      *std::ranges::max_element(all, {}, [](const TransferResult& one) { return one.rate.value; });
  HealthFinding& finding =
      judge(findings, {.metric = metric,
                       .name = fmt::format("{} pageable {}", name, size_text(largest.axes.bytes)),
                       .seen = rate_of(*series, largest),
                       .unit = "B/s",
                       .limit = least_share_of_pageable * best.rate.value,
                       .basis = fmt::format("its best, {} at {}, * {:g}", figure_text(best.rate.value, "B/s"),
                                            size_text(best.axes.bytes), least_share_of_pageable)});
  // The host's memory and caches have their part in it: no defect of the device.
  if (finding.health == Health::undecided) {
    finding.health = Health::skip;
    finding.text += ": not certain";
  }
  if (finding.health == Health::fail) {
    const bool falls = &best != &largest && !(finding.value >= finding.limit);
    finding.health = Health::warn;
    if (falls)
      finding.text = fmt::format("{} pageable falls from {} at {} to {} at {}", name,
                                 figure_text(best.rate.value, "B/s"), size_text(best.axes.bytes),
                                 figure_text(largest.rate.value, "B/s"), size_text(largest.axes.bytes));
  }
}

void judge_within(Findings& findings) {
  const DeviceRecord& of = findings.of;
  const TransferSeries* const series = copy_series(of, {CopyQuestion::within_device_cold, CopyQuestion::within_device});
  if (!series) return;
  const double l2 = of.fact("l2_bytes"), limit = series->limit.per_s;
  const auto from = saturated<std::uint64_t>(l2 > 0 ? 2 * l2 : 128e6);
  const auto copy = middle_copy_of(copies_of(*series), from, UINT64_MAX, [&](const TransferResult&) { return limit; });
  if (!copy) return;
  judge(findings, {.metric = "d2d_rate",
                   .name = fmt::format("D2D {}", size_text(copy->axes.bytes)),
                   .seen = rate_of(*series, *copy),
                   .unit = "B/s",
                   .limit = least_share_of_d2d * limit,
                   .basis = limit > 0 ? fmt::format("half of clock * width: {} * {:g}", figure_text(limit, "B/s"),
                                                    least_share_of_d2d)
                                      : series->limit.source,
                   .possible = limit,
                   .is_needed = false,
                   .other_points = copy->other_points});
}

// To another GPU of the node. What it goes through decides how fast it can be; whether bytes arrive is among the
// results.
void judge_peers(Findings& findings) {
  for (const TransferSeries* series : findings.of.all<Transfers>()) {
    const TransferCase& c = series->question;
    if (c.direction != Direction::peer || c.source != findings.of.id || c.pattern != Pattern::stream ||
        c.access == Access::staged || !c.more_lanes.empty() || c.executor != Executor::copy_engine)
      continue;
    // Over PCIe switches and sockets decide, and other pairs of the node are what a copy is compared with.
    const double limit = series->limit.source.find("NVLink") == std::string::npos ? not_measured : series->limit.per_s;
    const auto copy =
        middle_copy_of(copies_of(*series), large_copy, UINT64_MAX, [&](const TransferResult&) { return limit; });
    if (!copy) continue;
    judge(findings, {.metric = "peer_rate",
                     .name = fmt::format("copy to {} {}", c.target, size_text(copy->axes.bytes)),
                     .seen = rate_of(*series, *copy),
                     .unit = "B/s",
                     .limit = least_share_of_peers * limit,
                     .basis = limit > 0 ? fmt::format("{}: {} * {:g}", series->limit.source, figure_text(limit, "B/s"),
                                                      least_share_of_peers)
                                        : series->limit.source,
                     .possible = limit,
                     .is_needed = false,
                     .other_points = copy->other_points});
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

// Copies: what the PCIe link is trained to, against the most that GPU and slot can have together; rates and times by
// ranges of sizes, against what link and memory could do.
#include <algorithm>
#include <array>
#include <iterator>
#include <ranges>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/judge/health/findings.hpp"
#include "netpipe/judge/health/references.hpp"
#include "npgpu/model/compare.hpp"
#include "npgpu/vocabulary/questions.hpp"

namespace npgpu::model {

namespace {

std::string link_text(double generation, double lanes) { return fmt::format("PCIe Gen{:g} x{:g}", generation, lanes); }

// What the GPU or the slot could have beyond what they have together.
std::string more_of_one(const DeviceRecord& of, double generation, double lanes) {
  std::string text;
  if (of.fact("gpu_max_pcie_generation") > generation)
    text += fmt::format("; the GPU could have Gen{:g}", of.fact("gpu_max_pcie_generation"));
  if (usual_lanes(of) > lanes) text += fmt::format("; the GPU could have x{:g}", usual_lanes(of));
  if (of.fact("slot_pcie_generation") > generation)
    text += fmt::format("; the slot could have Gen{:g}", of.fact("slot_pcie_generation"));
  if (of.fact("slot_pcie_lanes") > lanes)
    text += fmt::format("; the slot could have x{:g}", of.fact("slot_pcie_lanes"));
  return text;
}

// Bytes per second of one direction, at most (PCI Express Base Specification).
double pcie_rate(double generation, double lanes) {
  constexpr double of_a_lane[] = {0.25e9, 0.5e9, 0.985e9, 1.970e9, 3.939e9, 7.563e9};
  const bool is_known = generation >= 1 && generation <= static_cast<double>(std::size(of_a_lane));
  return is_known ? of_a_lane[static_cast<std::size_t>(generation) - 1] * lanes : not_measured;
}

// The best that was measured of copies between host and GPU; 0 where none was.
double best_copy_rate(const DeviceRecord& of) {
  double best = 0;
  for (const TransferSeries* series : of.all<Transfers>()) {
    const Direction direction = series->question.direction;
    if (direction != Direction::h2d && direction != Direction::d2h) continue;
    for (const TransferResult& point : results(*series))
      if (point.lane == 0 && point.usable() && point.time_us.value > 0)
        best = std::max(best, static_cast<double>(point.axes.bytes) / point.time_us.value * 1e6);
  }
  return best;
}

constexpr double surely_beyond = 1.05;

}  // namespace

double pcie_transfers_per_s(double generation) {
  constexpr double of_a_lane[] = {2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
  const bool is_known = generation >= 1 && generation <= static_cast<double>(std::size(of_a_lane));
  return is_known ? of_a_lane[static_cast<std::size_t>(generation) - 1] : not_measured;
}

LinkRead trained_link(const DeviceRecord& of) {
  LinkRead link{number_fact(of.after, "pcie_generation_copying"), number_fact(of.after, "pcie_lanes_copying")};
  link.is_copying = link.generation > 0 && link.lanes > 0;
  if (!link.is_copying) link.generation = of.fact("pcie_generation_now"), link.lanes = of.fact("pcie_lanes_now");
  // Before the run an idle GPU may save power, which takes no lanes away.
  const bool counts = link.is_copying || link.lanes < of.fact("max_pcie_lanes");
  link.is_void =
      counts && copies_go_over_pcie(of) && best_copy_rate(of) > surely_beyond * pcie_rate(link.generation, link.lanes);
  return link;
}

// A GPU with a memory of its own has a clock of it.
bool has_one_memory(const DeviceRecord& of) {
  const bool shares_pages = of.fact("pageable_memory_access_uses_host_page_tables") > 0;
  const bool has_memory_clock = !std::isnan(of.fact("max_memory_clock_mhz"));
  return of.fact("integrated") > 0 || (shares_pages && !has_memory_clock && of.fact("max_sm_clock_mhz") > 0 &&
                                       !(of.counter("c2c_links_active") > 0));
}

bool is_reached_over_c2c(const DeviceRecord& of) {
  return of.counter("c2c_links_active") > 0 || of.fact("pageable_memory_access_uses_host_page_tables") > 0;
}

double best_pcie_rate(const DeviceRecord& of) {
  return pcie_rate(of.fact("max_pcie_generation"), of.fact("max_pcie_lanes"));
}

bool copies_go_over_pcie(const DeviceRecord& of) {
  return !is_reached_over_c2c(of) && !has_one_memory(of) && !(best_copy_rate(of) > surely_beyond * best_pcie_rate(of));
}

double usual_lanes(const DeviceRecord& of) {
  constexpr double of_all_with_a_reference = 16;
  return reference_of_model(of.name) && !is_part_of_gpu(of) ? of_all_with_a_reference : not_measured;
}

bool is_lesser_slot(const DeviceRecord& of) {
  return copies_go_over_pcie(of) && (of.fact("gpu_max_pcie_generation") > of.fact("max_pcie_generation") ||
                                     usual_lanes(of) > of.fact("max_pcie_lanes"));
}

void judge_link(Findings& findings) {
  const DeviceRecord& of = findings.device;
  constexpr auto metric = "pcie_link";
  const double max_generation = of.fact("max_pcie_generation"), max_lanes = of.fact("max_pcie_lanes");
  if (has_one_memory(of)) return findings.skip(metric, "PCIe link: host and GPU have one memory, and no link between");
  const auto [generation, lanes, is_copying, is_void] = trained_link(of);
  if (!(max_generation > 0 && max_lanes > 0 && generation > 0 && lanes > 0))
    return findings.skip(metric, "PCIe link: not in this trace");
  const std::string is = link_text(generation, lanes), most = link_text(max_generation, max_lanes);
  const bool is_narrow = lanes < max_lanes, is_slow = generation < max_generation;
  // Grace Hopper and its like have a PCIe port that nothing goes over: it is not judged.
  if (!copies_go_over_pcie(of) && (is_narrow || is_slow || !is_reached_over_c2c(of)))
    return findings.skip(
        metric,
        fmt::format("PCIe link: {}, over which copies do not go: {}", is,
                    is_reached_over_c2c(of) ? std::string("the host is reached over NVLink-C2C")
                                            : fmt::format("they reached {}, and {} carries at most {}",
                                                          figure_text(best_copy_rate(of), "B/s"), most,
                                                          figure_text(pcie_rate(max_generation, max_lanes), "B/s"))));
  const std::string when = is_copying ? "" : ", read before the run";
  if (is_void)
    return findings.skip(
        metric, fmt::format("PCIe link: {}{}, which cannot be: copies reached {}, and it carries at most "
                            "{}; GPU and slot support {}",
                            is, is_copying ? " was read while copying" : when, figure_text(best_copy_rate(of), "B/s"),
                            figure_text(pcie_rate(generation, lanes), "B/s"), most));
  if (!is_narrow && !is_slow) {
    findings.add(metric, is_lesser_slot(of) ? Health::warn : Health::pass,
                 fmt::format("{} (its maximum{}{})", is, when, more_of_one(of, max_generation, max_lanes)));
  } else if (!is_narrow && !is_copying) {
    findings.skip(metric, fmt::format("{}{}, where an idle GPU may save power; not read while copying", is, when));
  } else {
    HealthFinding& bad =
        findings.add(metric, Health::fail,
                     fmt::format("{}{}; GPU and slot support {}", is, is_copying ? " while copying" : when, most));
    with_value(bad, is_narrow ? lanes : generation, is_narrow ? max_lanes : max_generation,
               is_narrow ? "lanes" : "generation");
    bad.basis = "the widest and fastest link of GPU and slot that NVML reports";
  }
}

namespace {

// The usable points of one lane of a series, by size.
std::vector<TransferResult> copies_of(const TransferSeries& series, std::uint32_t lane = 0) {
  std::vector<TransferResult> all = results(series);
  std::erase_if(all, [&](const TransferResult& r) { return r.lane != lane || !r.usable() || !(r.time_us.value > 0); });
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

// The copy whose rate, over its `limit`, is in the middle of those in the range.
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

// What copies between host and device go over, and which share of it they reach at least.
struct HostLink {
  double per_s = not_measured;
  std::string source;
  double share = not_measured;

  // "82 % of 63.00 GB/s, PCIe Gen5 x16, and 4.5 us"
  std::string text() const {
    return fmt::format("{:.3g} % of {}, {}, and {:g} us", 100 * share, figure_text(per_s, "B/s"),
                       source.substr(0, source.find(':')), microseconds(most_copy_overhead));
  }
  // Bytes a second of a copy of so many.
  double floor(const TransferResult& copy) const {
    const auto bytes = static_cast<double>(copy.axes.bytes);
    if (!(per_s > 0)) return not_measured;
    return bytes / (most_copy_overhead.count() + bytes / (share * per_s));
  }
};

HostLink host_link(const DeviceRecord& of, const TransferSeries& series) {
  if (has_one_memory(of)) return {not_measured, "host and GPU have one memory, and no link between"};
  const bool is_over_pcie = copies_go_over_pcie(of), is_old = of.fact("max_pcie_generation") <= 4;
  const double share = !is_over_pcie ? least_share_of_c2c : is_old ? least_share_of_old_link : least_share_of_link;
  // Not more than GPU and slot can carry, whatever a simulated link's limit is.
  const double pcie = is_over_pcie ? best_pcie_rate(of) : not_measured;
  if (pcie < 0.99 * series.limit.per_s) return {pcie, "what GPU and slot can carry", share};
  return {series.limit.per_s, series.limit.source, share};
}

void judge_direction(Findings& findings, Direction direction, const char* name) {
  const DeviceRecord& of = findings.device;
  const std::string prefix(npgpu::name(direction));
  const bool is_to = direction == Direction::h2d;
  const TransferSeries* const series =
      copy_series(of, {is_to ? CopyQuestion::to_device : CopyQuestion::to_host,
                       is_to ? CopyQuestion::to_device_queued : CopyQuestion::to_host_queued});
  if (!series) return findings.skip(prefix + "_rate", fmt::format("{} pinned: not measured", name));
  const std::vector<TransferResult> all = copies_of(*series);
  const HostLink link = host_link(of, *series);
  const auto floor = [&](const TransferResult& copy) { return link.floor(copy); };
  const auto rate = [&](const std::string& metric, std::uint64_t from, std::uint64_t below) {
    const auto copy = middle_copy_of(all, from, below, floor);
    if (!copy) return findings.skip(metric, fmt::format("{} pinned from {}: not measured", name, size_text(from)));
    judge(findings, {.metric = metric,
                     .name = fmt::format("{} pinned {}", name, size_text(copy->axes.bytes)),
                     .seen = rate_of(*series, *copy),
                     .unit = "B/s",
                     .limit = floor(*copy),
                     .basis = link.per_s > 0 ? link.text() : link.source,
                     .possible = link.per_s,
                     .is_needed = !has_one_memory(of),
                     .other_points = copy->other_points});
  };
  rate(prefix + "_rate", large_copy, UINT64_MAX);
  if (std::ranges::any_of(
          all, [](const TransferResult& c) { return c.axes.bytes >= middle_copy && c.axes.bytes < large_copy; }))
    rate(prefix + "_rate_1mib", middle_copy, large_copy);
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

// The rate of a direction's copies while those the other way ran. The slower one goes on alone after the other's last:
// its whole time holds some of its rate alone.
Evidence beside_other_way(Evidence seen, double other, double alone) {
  // A direction that stands still has none, but for what the two rates are uncertain by.
  const auto beside = [&](double rate) {
    return rate < other ? std::fmax(other - (other / rate - 1) * alone, 0.01 * alone) : rate;
  };
  Estimate& e = seen.estimate;
  if (!(alone > 0)) return seen;
  e.value = beside(e.value), e.low = beside(e.low), e.high = beside(e.high);
  for (double& rate : seen.by_visit) rate = beside(rate);
  return seen;
}

void judge_both_ways(Findings& findings) {
  const DeviceRecord& of = findings.device;
  const TransferSeries* const series = copy_series(of, {CopyQuestion::both_ways});
  if (!series) return;
  const HostLink link = host_link(of, *series);
  const std::array lanes{copies_of(*series, 0), copies_of(*series, 1)};
  const bool takes_turns = of.fact("copy_engines") == 1;
  for (const auto& [lane, metric, name] : {std::tuple{0u, "h2d_rate", "H2D"}, {1u, "d2h_rate", "D2H"}}) {
    const auto copy =
        middle_copy_of(lanes[lane], large_copy, UINT64_MAX, [&](const TransferResult& one) { return link.floor(one); });
    if (!copy) continue;
    const auto other = std::ranges::find(lanes[1 - lane], copy->axes, &TransferResult::axes);
    const HealthFinding* const alone = findings.find(metric);
    const double limit = takes_turns ? not_measured : least_share_both_ways * link.floor(*copy);
    judge(findings, {.metric = std::string(metric) + "_duplex",
                     .name = fmt::format("{} pinned {}, both ways at once,", name, size_text(copy->axes.bytes)),
                     .seen = beside_other_way(rate_of(*series, *copy),
                                              other == lanes[1 - lane].end() ? not_measured : other->rate.value,
                                              alone ? alone->value : not_measured),
                     .unit = "B/s",
                     .limit = limit,
                     .basis = takes_turns ? "the GPU has one copy engine"
                              : limit > 0 ? fmt::format("{:g} % of the limit of one way: {}",
                                                        100 * least_share_both_ways, link.text())
                                          : link.source,
                     .possible = link.per_s,
                     .is_needed = false,
                     .other_points = copy->other_points});
  }
}

// A blocking copy of a few bytes: what the call itself costs.
void judge_blocking(Findings& findings) {
  const TransferSeries* const series = copy_series(findings.device, {CopyQuestion::to_device_blocking});
  if (!series) return;
  const std::vector<TransferResult> all = copies_of(*series);
  const auto copy = middle_copy_of(all, 1, 65, [](const TransferResult& c) { return 1 / c.time_us.value; });
  if (!copy) return;
  judge(findings, {.metric = "copy_time",
                   .name = fmt::format("blocking copy of {}", size_text(copy->axes.bytes)),
                   .seen = time_of(*series, *copy),
                   .unit = "us",
                   .limit = most_small_copy_us,
                   .basis = "1.6 times the 5.6 to 6.5 us of an H200's host",
                   .other_points = copy->other_points});
}

void judge_pageable(Findings& findings, Direction direction, const char* name) {
  const TransferSeries* const series =
      copy_series(findings.device,
                  {direction == Direction::h2d ? CopyQuestion::to_device_pageable : CopyQuestion::to_host_pageable});
  const std::string metric = std::string(npgpu::name(direction)) + "_pageable_rate";
  if (!series) return;
  std::vector<TransferResult> all = copies_of(*series);
  std::erase_if(all, [](const TransferResult& copy) { return copy.axes.bytes < middle_copy; });
  if (all.empty()) return;
  const TransferResult& largest = all.back();
  const TransferResult& best =
      *std::ranges::max_element(all, {}, [](const TransferResult& one) { return one.rate.value; });
  // Compared at one size, as far as it was measured. Without the user's limit or healthy ones it is only said that they
  // fall, as the host's memory and caches have their part in it.
  const bool is_compared = is_known_of_healthy(findings, metric);
  const auto usual = std::ranges::find_if(
      std::views::reverse(all), [](const TransferResult& one) { return one.axes.bytes <= compared_pageable; });
  const TransferResult& shown = usual == all.rend() ? largest : *usual;
  const double least = least_share_of_pageable * best.rate.value;
  HealthFinding& finding =
      judge(findings, {.metric = metric,
                       .name = fmt::format("{} pageable {}", name, size_text(shown.axes.bytes)),
                       .seen = rate_of(*series, shown),
                       .unit = "B/s",
                       .limit = least,
                       .basis = fmt::format("{:.3g} % of its best, {} at {}", 100 * least_share_of_pageable,
                                            figure_text(best.rate.value, "B/s"), size_text(best.axes.bytes))});
  const bool is_open = finding.health == Health::undecided && finding.value >= finding.limit;
  if (std::isnan(finding.value) || (is_compared && finding.health != Health::pass && !is_open)) return;
  if (!is_compared) finding.would_see = not_measured;
  const Evidence last = rate_of(*series, largest);
  const Ruling falls = rule(last.estimate, Allowed::at_least, least, last.by_visit);
  if (falls == Ruling::slow && last.disturbed.empty()) {
    finding.health = Health::warn;
    finding.text =
        fmt::format("{} pageable falls from {} at {} to {} at {}", name, figure_text(best.rate.value, "B/s"),
                    size_text(best.axes.bytes), figure_text(largest.rate.value, "B/s"), size_text(largest.axes.bytes));
  } else if (finding.health == Health::undecided || finding.health == Health::fail) {
    finding.health = Health::skip;
    finding.text += ": not certain";
  }
}

void judge_within(Findings& findings) {
  const DeviceRecord& of = findings.device;
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
                   .basis = limit > 0 ? fmt::format("{:.3g} % of {}, half of what clock and width give",
                                                    100 * least_share_of_d2d, figure_text(limit, "B/s"))
                                      : series->limit.source,
                   .possible = limit,
                   .is_needed = false,
                   .other_points = copy->other_points});
}

// To another GPU of the node. What it goes through decides how fast it can be; whether bytes arrive is among the
// results.
void judge_peers(Findings& findings) {
  for (const TransferSeries* series : findings.device.all<Transfers>()) {
    const TransferCase& c = series->question;
    if (c.direction != Direction::peer || c.source != findings.device.id || c.pattern != Pattern::stream ||
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
                     .basis = limit > 0 ? fmt::format("{:.3g} % of {}, {}", 100 * least_share_of_peers,
                                                      figure_text(limit, "B/s"), series->limit.source)
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
  judge_both_ways(findings);
  judge_blocking(findings);
  judge_pageable(findings, Direction::h2d, "H2D");
  judge_pageable(findings, Direction::d2h, "D2H");
  judge_within(findings);
  judge_peers(findings);
}

}  // namespace npgpu::model

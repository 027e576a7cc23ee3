// What the overview says of one device.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/overview/sections.hpp"

namespace npgpu {

// ---- copies: rates at sizes that are the same for all cases, so that no cache makes one of them look fast ----

namespace {

constexpr std::uint64_t time_at = 8;
constexpr std::array rates_at{4 * KiB, 64 * KiB, MiB};

// The size next to the wanted one, within a factor of two, that most curves have; 0 if none has one.
std::uint64_t size_near(std::uint64_t wanted, const std::vector<const CopyCurve*>& curves) {
  std::map<std::uint64_t, std::size_t> have;
  for (const CopyCurve* curve : curves)
    for (const TransferResult& p : curve->points)
      if (2 * p.axes.bytes >= wanted && p.axes.bytes <= 2 * wanted) ++have[p.axes.bytes];
  const auto distance = [&](std::uint64_t bytes) {
    return std::abs(std::log2(static_cast<double>(bytes) / static_cast<double>(wanted)));
  };
  std::uint64_t best = 0;
  for (const auto& [bytes, curves_with] : have) {
    const std::size_t now = best ? have.at(best) : 0;
    if (curves_with > now || (curves_with == now && distance(bytes) < distance(best))) best = bytes;
  }
  return best;
}

// "2.22* us": marks belong to the number.
std::string time_cell(const TransferResult* p) {
  if (!p) return "-";
  std::string text = short_time_text(p->time_us.value);
  return text.insert(std::min(text.find(' '), text.size()), marks_of(*p));
}
std::string rate_cell(const TransferResult* p) {
  return p ? digits_text(p->rate.value * 1e-9, screen_digits) + marks_of(*p) : "-";
}

// "63.02 GB/s each way (PCIe Gen5 x16)": the source in as many words as a screen has room for.
std::string peaks_of(const std::vector<const CopyCurve*>& curves, Extent extent) {
  std::vector<std::string> parts;
  std::set<std::string> said;
  for (const CopyCurve* curve : curves) {
    if (!(curve->limit.per_s > 0) || !said.insert(curve->limit.source).second) continue;
    const Direction d = curve->question.direction;
    const bool link = d == Direction::h2d || d == Direction::d2h, within = d == Direction::d2d || d == Direction::h2h;
    std::string source = limit_source_text(curve->limit.source);
    if (within && is_brief(extent)) source = "half of the memory's";
    parts.push_back(fmt::format("{} {} ({})", rate_text(curve->limit.per_s),
                                link                  ? "each way"
                                : d == Direction::d2d ? "D2D"
                                                      : "of a copy",
                                source));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

CopySizes sizes_of(const std::vector<const CopyCurve*>& curves) {
  CopySizes sizes{size_near(time_at, curves)};
  const auto is_everywhere_the_largest = [&](std::uint64_t bytes) {
    return std::ranges::all_of(curves,
                               [&](const CopyCurve* c) { return !c->largest() || c->largest()->axes.bytes == bytes; });
  };
  for (const std::uint64_t wanted : rates_at)
    if (const std::uint64_t bytes = size_near(wanted, curves); bytes && !is_everywhere_the_largest(bytes))
      sizes.rates.push_back(bytes);
  return sizes;
}

namespace {

Section copies_section(const DeviceOverview& device, Extent extent) {
  constexpr std::size_t few = 10;  // then variants are shown, too
  Section section;
  section.name = "COPIES";
  std::vector<const CopyCurve*> shown;
  const bool show_all = extent == Extent::page || device.copies.size() <= few, wide = extent != Extent::screen;
  for (const CopyCurve& curve : device.copies)
    if (show_all || curve.is_usual) shown.push_back(&curve);
  if (shown.empty()) return section;

  const auto [small, sizes] = sizes_of(shown);
  std::set<std::uint64_t> largest;
  for (const CopyCurve* curve : shown)
    if (const TransferResult* p = curve->largest()) largest.insert(p->axes.bytes);
  const bool one_end = largest.size() == 1;
  const auto any = [&](auto has) { return std::ranges::any_of(shown, has); };

  std::vector<Column> columns{left("COPIES (GB/s)"), right("time " + size_text(small), 0, small > 0)};
  constexpr std::array ranks{2, 1, 3};
  for (std::size_t i = 0; i < sizes.size(); ++i) columns.push_back(decimal(size_text(sizes[i]), ranks[i]));
  columns.insert(columns.end(),
                 {decimal(one_end ? size_text(*largest.begin()) : "largest"), right("at", 0, largest.size() > 1),
                  right("95 % interval", 6, wide), right("of peak", 0, any([](auto* c) { return c->limit.per_s > 0; })),
                  right("N1/2", 5, any([](auto* c) { return std::isfinite(c->half_bytes); })), right("points", 7, wide),
                  left("doubtful", 4, any([](auto* c) { return !marks_of(c->counts).empty() || !c->error.empty(); }))});
  Table table(std::move(columns));
  for (const CopyCurve* curve : shown) {
    const TransferResult* const end = curve->largest();
    const TransferResult* const first = small ? curve->at(small) : nullptr;
    std::vector<std::string> row{"  " + curve->name, time_cell(first)};
    for (const std::uint64_t bytes : sizes) row.push_back(rate_cell(curve->at(bytes)));
    const double percent = end ? end->percent_of_limit : not_measured;
    const std::string marks = marks_of(curve->counts) + (curve->error.empty() ? "" : " x");
    row.insert(row.end(), {rate_cell(end), end ? size_text(end->axes.bytes) : "-", end ? interval_text(end->rate) : "-",
                           std::isfinite(percent) ? percent_text(percent) + " %" : "-",
                           about_size_text(curve->half_bytes), std::to_string(curve->counts.points), marks});
    table.row(std::move(row));
  }
  section.table = std::move(table);
  const std::size_t left_out = device.copies.size() - shown.size();
  std::string note = peaks_of(shown, extent);
  if (!note.empty()) note = "peak: " + note;
  if (left_out) note += fmt::format("{}{} more cases", note.empty() ? "" : "; ", left_out);
  if (!note.empty()) section.notes.push_back(std::move(note));
  return section;
}

// ---- all but its copies ----

constexpr double worth_saying_of_peak = 0.5;  // percent of the peak, by the clock alone

std::string with_percent(const std::string& text, double percent) {
  return std::isfinite(percent) ? fmt::format("{} ({} %)", text, percent_text(percent)) : text;
}

// A value with its reasons not to be one: "fp16 not usable: results were wrong".
std::string item_of(const Figure& f, double scale) {
  if (!f.is_known()) return fmt::format("{} not usable{}", f.name, f.note.empty() ? "" : ": " + f.note);
  return with_percent(fmt::format("{} {}{}", f.name, digits_text(f.value.value * scale, screen_digits), marks_of(f)),
                      f.percent_of_peak);
}

std::string doubt_of(const Parameter& p) { return p.note.empty() ? "" : "?"; }

Section memory_section(const DeviceOverview& device, Extent extent) {
  Section section{"MEMORY"};
  if (!device.bandwidth.empty()) {
    Entry rates{"GB/s"};
    for (const Figure& f : device.bandwidth) rates.items.push_back(item_of(f, 1e-9));
    section.entries.push_back(std::move(rates));
  }
  // Constants and atomics are for the page.
  const auto is_plain = [&](const MemoryLevel& level) {
    return extent == Extent::page || (!level.name.starts_with("constant") && !level.name.ends_with("atomic"));
  };
  const bool has_l2 = std::ranges::find(device.levels, "L2", &MemoryLevel::name) != device.levels.end();
  Entry latency{"latency"}, sizes{"caches"};
  for (const MemoryLevel& level : device.levels) {
    if (!is_plain(level)) continue;
    if (level.latency)
      latency.items.push_back(fmt::format("{} {}{}", level.name, short_time_text(level.latency->estimate.value * 1e-3),
                                          doubt_of(*level.latency)));
    if (!level.size || !std::isfinite(level.size->estimate.value)) continue;
    if (level.name == "L2 far" && has_l2 && extent != Extent::page) continue;  // the same size, less well known
    std::string text =
        fmt::format("{} {}{}", level.name, about_size_text(level.size->estimate.value), doubt_of(*level.size));
    if (std::isfinite(level.size->reference))
      text += fmt::format(" (reported {})", about_size_text(level.size->reference));
    sizes.items.push_back(std::move(text));
  }
  for (Entry* entry : {&latency, &sizes})
    if (!entry->items.empty()) section.entries.push_back(std::move(*entry));
  return section;
}

void add_operations(const std::vector<Figure>& figures, std::string_view of, Section& section) {
  if (figures.empty()) return;
  double most = 0;
  for (const Figure& f : figures)
    if (f.value.value > most) most = f.value.value;
  const bool tera = most >= 1e12;
  Entry rates{of.empty() ? tera ? "TFLOP/s" : "GFLOP/s" : std::string(of)};
  std::string at_clock;
  for (Figure f : figures) {
    if (at_clock.empty() && f.percent_at_clock > f.percent_of_peak + worth_saying_of_peak)
      at_clock =
          fmt::format("at the run's {:.0f} MHz {} reaches {} %", f.clock_mhz, f.name, percent_text(f.percent_at_clock));
    if (f.value.unit == "OP/s") f.name += tera ? " TOP/s" : " GOP/s";
    rates.items.push_back(item_of(f, tera ? 1e-12 : 1e-9));
  }
  if (!at_clock.empty()) rates.items.push_back(at_clock);
  section.entries.push_back(std::move(rates));
}

Section compute_section(const DeviceOverview& device) {
  Section section{"COMPUTE"};
  add_operations(device.compute, "", section);
  add_operations(device.tensor, "tensor", section);
  return section;
}

Section energy_section(const DeviceOverview& device) {
  Section section{"ENERGY"};
  for (const auto& [unit, label] : {std::pair{"W", "W"}, {"pJ", "pJ each"}}) {
    Entry entry{label};
    for (const Figure& f : device.energy)
      if (f.value.unit == unit || (f.value.unit.empty() && unit == std::string_view("pJ")))
        entry.items.push_back(item_of(f, 1));
    if (!entry.items.empty()) section.entries.push_back(std::move(entry));
  }
  return section;
}

Section calls_section(const DeviceOverview& device, Extent extent) {
  Section section{"CALLS"};
  if (device.calls.empty()) return section;
  Entry times{"us"};
  constexpr std::size_t few = 4;
  for (const Figure& f : device.calls)
    if (!is_brief(extent) || times.items.size() < few) times.items.push_back(item_of(f, 1));
  section.entries.push_back(std::move(times));
  return section;
}

std::string job_text(const Job& job) {
  return fmt::format("{} in, {:g} ms kernel, {} out", size_text(job.in_bytes), job.kernel.count() * 1e3,
                     size_text(job.out_bytes));
}

std::vector<std::string> advice_items(const StreamAdvice& a) {
  std::vector<std::string> items{fmt::format("{}: {}", job_text(a.job), short_time_text(a.one_us))};
  if (a.enough_chunks > 1)
    items.push_back(fmt::format("{} in {} {}", counted(a.enough_chunks, "chunk"), counted(a.enough, "stream"),
                                short_time_text(a.enough_us)));
  else items.emplace_back("and streams do not help");
  return items;
}

Section streams_section(const DeviceOverview& device, Extent extent) {
  Section section{"STREAMS"};
  if (!device.stream_costs.empty()) {
    Entry costs{"us"};
    for (const Figure& f : device.stream_costs) {
      if (f.name != "copy engines") costs.items.push_back(item_of(f, 1));
      else costs.items.push_back(counted(saturated<std::size_t>(std::round(f.value.value)), "copy engine"));
    }
    section.entries.push_back(std::move(costs));
  }
  for (const StreamAdvice& advice : device.advice) {
    section.entries.push_back({"example", advice_items(advice)});
    if (extent != Extent::page) break;
  }
  if (device.best_job)
    section.entries.push_back({"measured",
                               {fmt::format("{}: {:.2f} times as fast as unsplit in one stream",
                                            text_of(device.best_job->axes), device.best_job->speed_up)}});
  if (!device.why_no_advice.empty()) section.entries.push_back({"no advice", {device.why_no_advice}});
  return section;
}

}  // namespace

std::string marks_of(const Figure& f) {
  const std::string marks = std::string(f.unsteady ? "*" : "") + (f.disturbed.empty() ? "" : "d");
  return marks.empty() && !f.note.empty() && f.is_known() ? "?" : marks;
}
std::string marks_of(const TransferResult& p) {
  const bool usable = std::isfinite(p.time_us.value);
  return std::string(usable ? "" : "!") + (p.unsteady ? "*" : "") + (p.disturbed.empty() ? "" : "d");
}
std::string marks_of(const PointCounts& counts) {
  std::vector<std::string> marks;
  if (counts.unsteady) marks.push_back(fmt::format("{}*", counts.unsteady));
  if (counts.disturbed) marks.push_back(fmt::format("{}d", counts.disturbed));
  if (counts.unusable) marks.push_back(fmt::format("{}!", counts.unusable));
  return fmt::format("{}", fmt::join(marks, " "));
}

std::vector<Section> sections_of(const DeviceOverview& device, Extent extent) {
  std::vector<Section> sections{copies_section(device, extent), memory_section(device, extent),
                                compute_section(device),        energy_section(device),
                                calls_section(device, extent),  streams_section(device, extent)};
  std::erase_if(sections, &Section::is_empty);
  return sections;
}

// The host of GPUs: its copies at the largest size, and where they were faster.
Section host_section(const DeviceOverview& host) {
  Section section{"HOST"};
  Entry entry;
  for (const CopyCurve& curve : host.copies) {
    const TransferResult* const end = curve.largest();
    if (!curve.is_usual || !end) continue;
    std::string text = fmt::format("{} {}{} GB/s at {}", curve.name, digits_text(end->rate.value * 1e-9, screen_digits),
                                   marks_of(*end), size_text(end->axes.bytes));
    const CurveFit fit = fit_curve(curve.points);
    if (fit.falls_by > 0.1)
      text += fmt::format(" ({} at {})", digits_text(fit.best_rate * 1e-9, screen_digits), size_text(fit.best_bytes));
    entry.items.push_back(std::move(text));
  }
  for (Figure f : host.bandwidth) {
    f.name += " GB/s";
    entry.items.push_back(item_of(f, 1e-9));
  }
  for (Figure f : host.compute) {
    f.name += f.name.starts_with("int") ? " GOP/s" : " GFLOP/s";
    entry.items.push_back(item_of(f, 1e-9));
  }
  if (!entry.items.empty()) section.entries.push_back(std::move(entry));
  return section;
}

}  // namespace npgpu

// The table of copies: rates at sizes that are the same for all cases, so that no cache makes one of them look fast.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "netpipe/report/format.hpp"
#include "netpipe/report/overview/sections.hpp"

namespace npgpu {

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
    std::string source = curve->limit.source;
    if (link) source.resize(std::min(source.find(':'), source.size()));
    else if (within && is_brief(extent)) source = "half of the memory's";
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

}  // namespace npgpu

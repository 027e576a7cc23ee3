// Copies of pieces: a row for each number and size, a column for each way, and which way is fastest.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "netpipe/report/foreign.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/html/html.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/series_text.hpp"
#include "npgpu/model/advice.hpp"

namespace npgpu {

namespace {

// "kernel", or of ways that are equally fast "batch/kernel"; if those are all, "cannot tell".
std::string fastest_text(const std::vector<WayTime>& ways) {
  std::vector<PieceWay> first;
  for (const WayTime& way : ways)
    if (way.is_as_fast) first.push_back(way.way);
  if (first.size() > 1 && first.size() == ways.size()) return "cannot tell";
  std::ranges::sort(first);
  std::string text;
  for (const PieceWay way : first) text += (text.empty() ? "" : "/") + std::string(name(way));
  return text;
}

// How many times as long another way takes: "1.23 (1.20..1.26)".
std::string times_text(const Estimate& over) {
  const auto times = [](double share) { return digits_text(1 + share, 3); };
  if (!std::isfinite(over.value)) return "-";
  return times(over.value) +
         (std::isfinite(over.low) ? fmt::format(" ({}..{})", times(over.low), times(over.high)) : "");
}
std::string next_text(const PieceRow& row) {
  for (const WayTime& way : row.ways)
    if (!way.is_as_fast) return times_text(way.over_fastest);
  return "-";
}

// "batch to 4 KiB; kernel from 16 KiB", of the rows with one number of pieces.
std::string ranges_text(const std::vector<const PieceRow*>& rows) {
  std::string text;
  for (std::size_t begin = 0; begin < rows.size();) {
    const std::string first = fastest_text(rows[begin]->ways);
    std::size_t end = begin;
    while (end + 1 < rows.size() && fastest_text(rows[end + 1]->ways) == first) ++end;
    const bool is_all = begin == 0 && end + 1 == rows.size();
    std::string where;
    if (is_all) where = rows.size() > 1 ? " at every size" : " at " + size_text(rows[begin]->piece_bytes);
    else if (begin == 0) where = " to " + size_text(rows[end]->piece_bytes);
    else if (end + 1 == rows.size()) where = " from " + size_text(rows[begin]->piece_bytes);
    else if (begin == end) where = " at " + size_text(rows[begin]->piece_bytes);
    else where = " from " + size_text(rows[begin]->piece_bytes) + " to " + size_text(rows[end]->piece_bytes);
    text += (text.empty() ? "" : "; ") + first + where;
    begin = end + 1;
  }
  return text;
}

std::string layouts_text(const PieceCase& c) {
  const std::string device(name(c.layout)), other(name(c.other_layout));
  if (c.direction == Direction::h2d) return other + " on the host to " + device + " on the device";
  if (c.direction == Direction::d2h) return device + " on the device to " + other + " on the host";
  return device + " to " + other + (c.target.empty() ? " within the device" : " on " + c.target);
}

// "64: kernel to 64 KiB; batch/kernel at 256 KiB": an entry for each number of pieces.
std::vector<Entry> fastest_by_number(const PieceTable& table) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < table.rows.size();) {
    const std::uint32_t pieces = table.rows[i].pieces;
    std::vector<const PieceRow*> rows;
    for (; i < table.rows.size() && table.rows[i].pieces == pieces; ++i)
      if (!table.rows[i].ways.empty()) rows.push_back(&table.rows[i]);
    if (!rows.empty()) entries.push_back({std::to_string(pieces), {ranges_text(rows)}});
  }
  return entries;
}

std::string unusable_text(const PieceRow& row) {
  std::string text;
  for (const std::string& why : row.unusable) text += (text.empty() ? "" : "; ") + why;
  return fmt::format("{} x {}: {}", row.pieces, size_text(row.piece_bytes), text);
}

Section pieces_section(const PieceTable& table) {
  Section section{"PIECES"};
  section.entries = fastest_by_number(table);
  if (!section.entries.empty())
    section.entries.insert(section.entries.begin(), {"", {"fastest way: " + layouts_text(table.question)}});
  return section;
}

Table piece_table(const PieceTable& table) {
  std::vector<Column> columns{right("pieces"), right("of")};
  const auto ways = table.ways();
  for (const PieceWay way : ways) columns.push_back(decimal(std::string(name(way)) + " us"));
  columns.insert(columns.end(), {decimal("GB/s", 2), left("fastest"), left("next takes times", 1), left("")});
  Table all(std::move(columns));
  for (const PieceRow& row : table.rows) {
    std::vector<std::string> cells{std::to_string(row.pieces), size_text(row.piece_bytes)};
    for (const PieceWay way : ways) {
      const WayTime* time = row.of(way);
      cells.push_back(time ? digits_text(time->time_us.value, 3) : "-");
    }
    const double us = row.ways.empty() ? not_measured : row.ways.front().time_us.value;
    cells.insert(cells.end(),
                 {digits_text(static_cast<double>(row.bytes()) / us * 1e-3, 3), fastest_text(row.ways), next_text(row),
                  std::string(row.unusable.empty() ? "" : "!") + (row.unsteady ? "*" : "") + (row.causes ? "d" : "")});
    all.row(std::move(cells));
  }
  return all;
}

// A figure for each number of pieces: time of each way over the size of a piece.
std::string pieces_charts(const PieceTable& table, const std::string& id) {
  const std::vector<PieceWay> ways = table.ways();
  std::map<std::uint32_t, html::Plot> plots;  // by the number of pieces
  for (const PieceRow& row : table.rows) {
    html::Plot& plot = plots[row.pieces];
    if (plot.curves.empty()) {
      plot.id = fmt::format("{}-{}", id, row.pieces);
      plot.title = fmt::format("{}: time of one copy of all over the size of a piece", counted(row.pieces, "piece"));
      plot.description = "Both axes are logarithmic. The table has the numbers.";
      plot.x = {"size of a piece", html::Unit::bytes, true};
      plot.y = {"time of all", html::Unit::seconds, true};
      for (const PieceWay way : ways) plot.curves.push_back({std::string(name(way)), {}});
    }
    for (std::size_t i = 0; i < ways.size(); ++i)
      if (const WayTime* time = row.of(ways[i]))
        plot.curves[i].points.push_back(
            {static_cast<double>(row.piece_bytes), time->time_us.value * 1e-6, time->time_us.low * 1e-6,
             time->time_us.high * 1e-6, row.causes != 0,
             fmt::format("{}, {}", size_text(row.piece_bytes), short_time_text(time->time_us.value))});
  }
  std::string figures;
  for (const auto& [pieces, plot] : plots) figures += html::figure_of(plot);
  return figures;
}

void table_text(Document& doc, const PieceTable& table, std::size_t number) {
  doc.gap();
  doc.title(fmt::format("pieces {}: {}", device_text(table.question.device, table.device_name),
                        name(table.question.direction)),
            table.simulated);
  doc.labelled("pieces", layouts_text(table.question));
  doc.labelled("times",
               table.question.async
                   ? "of one copy of all pieces; copies follow each other, and the end of the last is waited for"
                   : "of one copy of all pieces, from the first call until the host knows that it is done");
  if (!table.error.empty()) doc.labelled(table.rows.empty() ? "NOT RUN" : "STOPPED", table.error, true);
  if (table.rows.empty()) return;
  doc.gap();
  doc.draw(pieces_charts(table, fmt::format("pieces-{}-{}", number, name(table.question.direction))));
  doc.table(piece_table(table));
  doc.note(
      "fastest: several ways where the 95 % interval of their ratio, round by round, includes 1; next takes times: the "
      "time of the next way over that of the fastest; GB/s: each byte counted once");
  if (std::ranges::any_of(table.rows, [](const PieceRow& row) { return row.unsteady; }))
    doc.note("* the interval of a time is wide");
  if (std::ranges::any_of(table.rows, [](const PieceRow& row) { return row.causes != 0; }))
    doc.note("d others disturbed a time of this row", true);
  for (const PieceRow& row : table.rows)
    if (!row.unusable.empty()) doc.note("! " + unusable_text(row), true);
  doc.gap();
  doc.note("fastest by number of pieces, and by the size of a piece:");
  for (Entry& entry : fastest_by_number(table)) doc.add(std::move(entry));
}

void pieces_text(Document& doc, const TraceResults& of) {
  for (std::size_t i = 0; i < of.pieces.size(); ++i) table_text(doc, of.pieces[i], i);
}

std::vector<Section> piece_sections(const TraceResults& of) {
  std::vector<Section> all;
  for (const PieceTable& table : of.pieces) all.push_back(pieces_section(table));
  return all;
}

const Joined<KindReport> pieces_report({Pieces::name, pieces_text, true, piece_sections});

}  // namespace

NPGPU_FORM(WayTime, &T::way, &T::time_us, &T::host_us, &T::over_fastest, called<"as_fast", &T::is_as_fast>);
NPGPU_FORM(PieceRow, &T::pieces, &T::piece_bytes, &T::ways, &T::unusable,
           called<"disturbed", [](const T& row) { return row.causes != 0; }>, &T::unsteady);
struct PieceQuestion : PieceTable {};
template <auto At> inline constexpr auto of_question = within<&PieceQuestion::question, At>;
NPGPU_FORM(PieceQuestion, called<"title", [](const T& of) { return std::string(title(of.question)); }>,
           of_question<&PieceCase::device>, &T::device_name, &T::simulated, of_question<&PieceCase::direction>,
           of_question<&PieceCase::layout>, of_question<&PieceCase::other_layout>, of_question<&PieceCase::async>,
           known<of_question<&PieceCase::target>>);
NPGPU_DEFINE_FORM(PieceTable, in_place<[](const T& table) { return PieceQuestion{table}; }>, known<&T::error>,
                  &T::rows);
NPGPU_FORM(PieceForecast, in_place<[](const T& of) { return of.table ? PieceQuestion{*of.table} : PieceQuestion{}; }>,
           within<&T::advice, &PieceAdvice::pieces>, within<&T::advice, &PieceAdvice::piece_bytes>,
           within<&T::advice, &PieceAdvice::ways>, within<&T::advice, &PieceAdvice::notes>);

void piece_advice_text(std::ostream& out, const std::vector<PieceForecast>& all, const TextStyle& style) {
  Document doc;
  for (const auto& [table, advice] : all) {
    if (!doc.blocks.empty()) doc.gap();
    doc.title(fmt::format("pieces {}: {}, {} x {}", device_text(table->question.device, table->device_name),
                          name(table->question.direction), advice.pieces, size_text(advice.piece_bytes)),
              table->simulated);
    doc.labelled("pieces", layouts_text(table->question));
    if (!advice.ways.empty()) doc.labelled("fastest", fastest_text(advice.ways));
    Table ways({left("way"), decimal("time us"), right("95 % interval"), decimal("GB/s", 1), left("times as long")});
    const double bytes = static_cast<double>(advice.pieces) * static_cast<double>(advice.piece_bytes);
    for (const WayTime& way : advice.ways)
      ways.row({"  " + std::string(name(way.way)), digits_text(way.time_us.value), interval_text(way.time_us),
                digits_text(bytes / way.time_us.value * 1e-3),
                &way == &advice.ways.front() ? std::string("-") : times_text(way.over_fastest)});
    doc.gap();
    if (!advice.ways.empty()) doc.table(std::move(ways));
    for (const std::string& note : advice.notes) doc.note(note);
  }
  if (std::ranges::all_of(all, [](const PieceForecast& one) { return one.advice.is_measured; }))
    doc.note("measured at this number and size");
  else
    doc.note(
        "from times measured of other numbers and sizes, by straight lines between them; intervals hold what such "
        "lines miss");
  out << to_text(doc, style);
}

void piece_advice_json(std::ostream& out, const std::vector<PieceForecast>& all) {
  write_document(out, "npgpu-piece-advice", 1, Listed<"advice", PieceForecast>{all});
}

}  // namespace npgpu

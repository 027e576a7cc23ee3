// Text that lines up: columns, wrapped paragraphs, colours. Widths are those a terminal shows, so UTF-8 counts by
// the character.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/judge/health.hpp"
#include "npgpu/report/report.hpp"

namespace npgpu {

// Columns that the text takes on a terminal: no continuation bytes, no combining marks, two for East Asian wide.
std::size_t display_width(std::string_view);

// The text, or of a wider one what fits into so many columns, with "…" at its end.
std::string cut_to(std::string_view text, std::size_t columns);

// One paragraph, as one_line() has it, wrapped between words. The first line begins at `column`, the others are
// indented by `hanging`. A word longer than a line stays whole; a percent sign stays with its number.
std::string wrapped(std::string_view text, std::size_t width, std::size_t hanging = 0, std::size_t column = 0);

// "  name      text", the text wrapped behind its name. Ends with a newline.
std::string labelled(std::string_view name, std::string_view text, std::size_t width);

// Terminal colours, or nothing, around what is printable(), which may be several lines.
class Ink {
 public:
  explicit Ink(bool on) : on_(on) {}
  std::string bold(std::string_view text) const { return paint("1", text); }
  std::string dim(std::string_view text) const { return paint("2", text); }
  std::string alarm(std::string_view text) const { return paint("1;31", text); }

 private:
  std::string paint(std::string_view code, std::string_view text) const;
  bool on_;
};

enum class Align { left, right, point };  // point: decimal points below each other

// Marks without a header are not shown where no row has one. Where the table is too wide, columns stand below their
// row, each as "header cell": the highest rank first, and of one rank the last.
struct Column {
  std::string header;
  Align align;
  int rank;
  bool there;             // false: the table has nothing to say in it
  bool is_prose = false;  // on a page it wraps where it must
  std::vector<std::string> cells{};
};

inline Column left(std::string header, int rank = 0, bool there = true) {
  return {std::move(header), Align::left, rank, there};
}
inline Column right(std::string header, int rank = 0, bool there = true) {
  return {std::move(header), Align::right, rank, there};
}
inline Column prose(std::string header) { return {std::move(header), Align::left, 0, true, true}; }
inline Column decimal(std::string header, int rank = 0, bool there = true) {
  return {std::move(header), Align::point, rank, there};
}

class Table {
 public:
  explicit Table(std::vector<Column> columns);
  // Cells: one for each column, there or not.
  void row(std::vector<std::string> cells, std::optional<Health> judged = {});
  bool is_alarm(std::size_t row) const { return judged_[row] == Health::fail; }
  // The header and the rows, each indented by two and ended by a newline. A folded row has several lines.
  std::vector<std::string> lines(std::size_t width) const;
  // All columns and rows, as GitHub reads a table.
  std::string markdown() const;
  // The same for a browser: a caption, headers of columns and rows, all text escaped.
  std::string html(std::string_view caption) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::optional<Health>> judged_;
};

std::size_t text_width(const TextStyle&);   // 40 at least
std::size_t table_width(const TextStyle&);  // the same, or more than any table takes

}  // namespace npgpu

// Text that lines up: columns, wrapped paragraphs, colours. Widths are those a terminal shows, so UTF-8 counts by
// the character.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace npgpu {

// Columns that the text takes on a terminal: no continuation bytes, no combining marks, two for East Asian wide.
std::size_t display_width(std::string_view);

// Wraps between words. The first line begins at `column`, those after it are indented by `hanging`. A word longer than
// a line stays whole; a percent sign stays with its number.
std::string wrapped(std::string_view text, std::size_t width, std::size_t hanging, std::size_t column = 0);

// "  name      text", the text wrapped behind its name. Ends with a newline.
std::string labelled(std::string_view name, std::string_view text, std::size_t width);

// Terminal colours, or nothing.
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

class Table {
 public:
  // `rank` 0 always stays; of the others the highest rank is left out first where the table is too wide.
  void column(std::string header, Align align, int rank = 0);
  void row(std::vector<std::string> cells);  // one a column
  // The header and the rows, each indented by two and ended by a newline.
  std::vector<std::string> lines(std::size_t width);
  // Headers of the columns that the last lines() left out.
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  struct Column {
    std::string header;
    Align align;
    int rank;
    std::vector<std::string> cells;
  };
  std::vector<Column> columns_;
  std::vector<std::string> left_out_;
};

}  // namespace npgpu

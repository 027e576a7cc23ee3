// Text that npgpu did not write itself: names of hosts, devices and processes, UUIDs, references, paths, errors,
// variables of the environment. Whatever is in it, it goes through one of these functions, one a target, and is then
// one line of text there: no markup, no formula, no escape sequence, no line of its own. For a terminal that is
// one_line() (npgpu/report/report.hpp), which the parts of layout.hpp call; for JSON it is write_json().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "npgpu/report/report.hpp"

namespace npgpu {

// Elements and quoted attributes of HTML and of XML.
std::string html_text(std::string_view);

// Markdown as GitHub reads it, in paragraphs, lists and cells.
std::string markdown_text(std::string_view);

// A cell of CSV (RFC 4180). A text that a spreadsheet would take for a formula, as it begins with = + - or @, gets an
// apostrophe in front; numbers stay numbers.
std::string csv_text(std::string_view);

// A label's value between the quotes of OpenMetrics.
std::string openmetrics_text(std::string_view);

// A document of JSON in which every character that a terminal would act on is written as \uXXXX.
std::string json_text(std::string_view document);

// A character of UTF-8, or one byte that is not part of any.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool valid = true;
};
Character character_at(std::string_view, std::size_t);

// It may be written as it is: no control character, none that turns the direction of text, ends a line or cannot be
// seen.
bool is_plain(std::uint32_t code);

}  // namespace npgpu

// The terminal that the program writes to, and text laid out for it.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "npgpu/report.hpp"

namespace npgpu::cli {

// Columns of the terminal behind a file descriptor: COLUMNS if it is a number, else the terminal's own, else
// `otherwise`.
int terminal_width(int descriptor, int otherwise);
// True if escape sequences work there: a terminal that is not dumb.
bool takes_escapes(int descriptor);

// How standard output is laid out: its width (100 if it is no terminal), and colour if it takes escapes and NO_COLOR is
// not set.
TextStyle terminal_style();

// "npgpu: ..." to standard error: one line, whatever the text holds, and what a ListedError lists below it.
void complain(std::string_view);
void complain(const std::exception&);

// The first `columns` characters of a UTF-8 text; no character is cut.
std::string cut_to(std::string_view text, std::size_t columns);

}  // namespace npgpu::cli

#pragma once

#include "npgpu/report.hpp"

namespace npgpu::cli {

// Standard output's width (COLUMNS, else the terminal's, else 100) and whether colour is wanted (a terminal,
// and no NO_COLOR).
TextStyle terminal_style();

}  // namespace npgpu::cli

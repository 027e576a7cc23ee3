// OpenMetrics text of gauges.
#pragma once

#include <fmt/format.h>

#include <ostream>
#include <string>
#include <string_view>

#include "npgpu/report.hpp"

namespace npgpu::openmetrics {

// A label's value as it stands between quotes.
inline std::string label(std::string_view text) {
  std::string safe;
  for (const char c : printable(text)) {
    if (c == '\\' || c == '"') safe += '\\';
    if (c == '\n') safe += "\\n";
    else safe += c;
  }
  return safe;
}

inline void family(std::ostream& out, const char* name, const char* help) {
  out << fmt::format("# TYPE {0} gauge\n# HELP {0} {1}\n", name, help);
}

}  // namespace npgpu::openmetrics

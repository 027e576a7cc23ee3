// OpenMetrics text of gauges.
#pragma once

#include <fmt/format.h>

#include <ostream>
#include <string>
#include <string_view>

#include "netpipe/report/foreign.hpp"

namespace npgpu::openmetrics {

// A label's value as it stands between quotes.
inline std::string label(std::string_view text) { return openmetrics_text(text); }

inline void family(std::ostream& out, const char* name, const char* help) {
  out << fmt::format("# TYPE {0} gauge\n# HELP {0} {1}\n", name, help);
}

}  // namespace npgpu::openmetrics

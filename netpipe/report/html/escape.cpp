#include "netpipe/report/html/escape.hpp"

#include "npgpu/report.hpp"

namespace npgpu {

std::string html_text(std::string_view raw) {
  std::string out;
  for (const char c : printable(raw)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace npgpu

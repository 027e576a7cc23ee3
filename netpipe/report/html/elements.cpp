#include "netpipe/report/html/elements.hpp"

#include <fmt/format.h>

#include "netpipe/report/foreign.hpp"

namespace npgpu::html {

std::string scrolling(const std::string& table, const std::string& label) {
  if (table.empty()) return {};
  return fmt::format("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n{}</div>\n",
                     html_text(label), table);
}

const char* class_of(Health health) {
  switch (health) {
    case Health::pass: return "pass";
    case Health::fail: return "fail";
    case Health::warn:
    case Health::undecided:
    case Health::unjudged: return "warn";
    case Health::skip: break;
  }
  return "skipped";
}

}  // namespace npgpu::html

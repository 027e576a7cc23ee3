#include "netpipe/report/html/elements.hpp"

#include <fmt/format.h>

#include "netpipe/report/foreign.hpp"
#include "netpipe/report/html/style.hpp"

namespace npgpu::html {

std::string page_head(const std::string& title, const std::string& skip) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n" +
         text_element("title", title) + "<style>\n" + std::string(style_sheet()) + "</style>\n</head>\n<body>\n" +
         fmt::format("<a class=\"skip\" href=\"#main\">{}</a>\n", html_text(skip));
}

std::string text_element(const char* element, const std::string& text) {
  return fmt::format("<{}>{}</{}>\n", element, html_text(text), element);
}

std::string scrolling(const std::string& table, const std::string& label) {
  if (table.empty()) return {};
  return fmt::format("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n{}</div>\n",
                     html_text(label), table);
}

std::string plain_part(const char* id, const char* heading, const std::string& body) {
  if (body.empty()) return {};
  return fmt::format("<section id=\"{}\" aria-labelledby=\"{}-h\">\n<h2 id=\"{}-h\">{}</h2>\n{}</section>\n", id, id,
                     id, heading, body);
}

std::string figures(const std::string& all) {
  return all.empty() ? all : "<div class=\"figures\">\n" + all + "</div>\n";
}

}  // namespace npgpu::html

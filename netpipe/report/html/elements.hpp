// What the pages are made of. Texts are escaped here.
#pragma once

#include <string>

namespace npgpu::html {

// Up to and with the begin of the body, and a link to #main. No script, no request: the page's policy forbids both.
std::string page_head(const std::string& title, const std::string& skip);
std::string text_element(const char* element, const std::string& text);
// A table may be wider than a phone: it scrolls by itself, with the keyboard too, and the page does not.
std::string scrolling(const std::string& table, const std::string& label);
// A section with a heading; nothing without a body.
std::string plain_part(const char* id, const char* heading, const std::string& body);
// Figures beside each other, as many as there is room for.
std::string figures(const std::string& all);

}  // namespace npgpu::html

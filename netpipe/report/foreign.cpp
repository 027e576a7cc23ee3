#include "netpipe/report/foreign.hpp"

#include <fmt/format.h>

#include <charconv>

namespace npgpu {

namespace {

std::string escaped_bytes(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return out;
}

enum class LineEnds { kept, escaped };

std::string plain(std::string_view text, LineEnds ends) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Character c = character_at(text, i);
    const std::string_view bytes = text.substr(i, c.bytes);
    i += c.bytes;
    const bool stays = c.valid && (is_plain(c.code) || (c.code == '\n' && ends == LineEnds::kept));
    out += stays ? std::string(bytes) : escaped_bytes(bytes);
  }
  return out;
}

// "-1.5", "+3", "-inf"; a sign alone is no formula either.
bool is_number(std::string_view text) {
  if (text == "-" || text == "+") return true;
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error != std::errc::invalid_argument && end == text.data() + text.size();
}

bool is_formula(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  // The last four are the same signs in full width, which some spreadsheets read as such.
  static constexpr std::array<std::string_view, 8> signs{
      "=", "+", "-", "@", "\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"};
  return std::ranges::any_of(signs, [&](std::string_view sign) { return text.starts_with(sign); }) && !is_number(text);
}

}  // namespace

Character character_at(std::string_view text, std::size_t i) {
  const auto lead = static_cast<unsigned char>(text[i]);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || length > text.size() - i) return {lead, 1, false};
  std::uint32_t code = lead & (0x7fU >> length);
  for (std::size_t at = 1; at < length; ++at) {
    const auto next = static_cast<unsigned char>(text[i + at]);
    if ((next & 0xc0) != 0x80) return {lead, 1, false};
    code = code << 6 | (next & 0x3f);
  }
  static constexpr std::array<std::uint32_t, 5> shortest{0, 0, 0x80, 0x800, 0x10000};  // what so many bytes begin with
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < shortest[length] || code > 0x10ffff || is_surrogate) return {lead, 1, false};
  return {code, length, true};
}

bool is_plain(std::uint32_t c) {
  static constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 12> others{{
      {0x0000, 0x001f},
      {0x007f, 0x009f},
      {0x00ad, 0x00ad},    // soft hyphen
      {0x061c, 0x061c},    // Arabic letter mark
      {0x200b, 0x200b},    // zero-width space
      {0x200e, 0x200f},    // marks of direction
      {0x2028, 0x202e},    // ends of lines and paragraphs, embeddings and overrides of direction
      {0x2060, 0x206f},    // invisible operators, isolates of direction
      {0xfdd0, 0xfdef},    // no characters
      {0xfeff, 0xfeff},    // byte order mark
      {0xfff9, 0xffff},    // annotations, replacement, no characters
      {0xe0000, 0xe0fff},  // tags
  }};
  if (c == 0xfffd) return true;
  return std::ranges::none_of(others, [&](const auto& range) { return c >= range.first && c <= range.second; }) &&
         (c & 0xfffe) != 0xfffe;
}

std::string printable(std::string_view text) { return plain(text, LineEnds::kept); }

std::string one_line(std::string_view text) { return plain(text, LineEnds::escaped); }

std::string html_text(std::string_view raw) {
  std::string out;
  for (const char c : one_line(raw)) {
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

std::string markdown_text(std::string_view raw) {
  std::string out;
  for (const char c : one_line(raw)) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (std::string_view("\\`*_[]|#~$").find(c) != std::string_view::npos) (out += '\\') += c;
    else out += c;
  }
  return out;
}

std::string csv_text(std::string_view raw) {
  std::string text = one_line(raw);
  if (is_formula(text)) text.insert(0, 1, '\'');
  if (text.find_first_of(",;\"") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string openmetrics_text(std::string_view raw) {
  std::string out;
  for (const char c : one_line(raw)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

std::string json_text(std::string_view document) {
  std::string out;
  out.reserve(document.size());
  for (std::size_t i = 0; i < document.size();) {
    const Character c = character_at(document, i);
    if (c.code < 0x7f || (c.valid && is_plain(c.code))) {
      out += document.substr(i, c.bytes);
    } else if (c.code < 0x10000) {
      out += fmt::format("\\u{:04x}", c.code);
    } else {
      const std::uint32_t rest = c.code - 0x10000;
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
    }
    i += c.bytes;
  }
  return out;
}

}  // namespace npgpu

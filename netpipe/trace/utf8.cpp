#include "netpipe/trace/utf8.hpp"

#include <cstddef>

namespace npgpu::trace {

namespace {

// Length of the well-formed sequence that `text` begins with; 0 if it begins with none.
std::size_t sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto between = [&](std::size_t i, unsigned low, unsigned high) { return byte(i) >= low && byte(i) <= high; };
  const unsigned first = byte(0);
  if (first >= 0x01 && first <= 0x7f) return 1;
  if (first >= 0xc2 && first <= 0xdf) return between(1, 0x80, 0xbf) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const unsigned low = first == 0xe0 ? 0xa0 : 0x80;   // not overlong
    const unsigned high = first == 0xed ? 0x9f : 0xbf;  // no surrogates
    return between(1, low, high) && between(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const unsigned low = first == 0xf0 ? 0x90 : 0x80;
    const unsigned high = first == 0xf4 ? 0x8f : 0xbf;  // up to U+10FFFF
    return between(1, low, high) && between(2, 0x80, 0xbf) && between(3, 0x80, 0xbf) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = sequence(bytes);
    if (length == 0)
      text += "\xef\xbf\xbd";
    else
      text += bytes.substr(0, length);
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

}  // namespace npgpu::trace

#include "netpipe/cli/plain_streams.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "netpipe/report/foreign.hpp"

namespace npgpu::cli {

namespace {

constexpr std::array<std::string_view, 5> own_sequences{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[1;31m", "\r\x1b[K"};

// Bytes of ASCII that need no look.
bool is_usual(char c) { return (c >= ' ' && c <= '~') || c == '\n'; }

std::size_t length_of(unsigned char lead) {
  return lead < 0xc2 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 1;
}

}  // namespace

bool PlainBuffer::pass(bool end) {
  std::string out;
  std::string_view rest = held_;
  while (!rest.empty()) {
    const std::size_t usual = static_cast<std::size_t>(std::ranges::find_if_not(rest, is_usual) - rest.begin());
    out += rest.substr(0, usual);
    rest.remove_prefix(usual);
    if (rest.empty()) break;
    const auto own = std::ranges::find_if(own_sequences, [&](std::string_view one) { return rest.starts_with(one); });
    if (own != own_sequences.end()) {
      out += *own;
      rest.remove_prefix(own->size());
      continue;
    }
    const bool may_become_own =
        std::ranges::any_of(own_sequences, [&](std::string_view one) { return one.starts_with(rest); });
    const std::size_t length = length_of(static_cast<unsigned char>(rest.front()));
    if (!end && (may_become_own || rest.size() < length)) break;
    const std::size_t bytes = character_at(rest, 0).bytes;
    out += one_line(rest.substr(0, bytes));
    rest.remove_prefix(bytes);
  }
  held_.erase(0, held_.size() - rest.size());
  const auto count = static_cast<std::streamsize>(out.size());
  return to_->sputn(out.data(), count) == count;
}

PlainBuffer::int_type PlainBuffer::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const std::lock_guard lock(one_);
  held_ += traits_type::to_char_type(c);
  return pass(false) ? c : traits_type::eof();
}

std::streamsize PlainBuffer::xsputn(const char* text, std::streamsize count) {
  const std::lock_guard lock(one_);
  held_.append(text, static_cast<std::size_t>(count));
  return pass(false) ? count : 0;
}

int PlainBuffer::sync() {
  const std::lock_guard lock(one_);
  const bool passed = pass(true);
  return to_->pubsync() == 0 && passed ? 0 : -1;
}

PlainStream::~PlainStream() {
  stream_.flush();
  stream_.rdbuf(before_);
}

}  // namespace npgpu::cli

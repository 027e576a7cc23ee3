#include "netpipe/cli/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "netpipe/engine/algorithms.hpp"

namespace npgpu::cli {

namespace {

[[noreturn]] void refuse(std::string_view option, std::string_view text, std::string_view what) {
  throw Error(ErrorKind::usage, "--" + std::string(option) + ": '" + std::string(text) + "' is " + std::string(what));
}

// The number in front and the unit behind it.
struct Number {
  double value;
  bool whole;             // written without a fraction or exponent
  std::uint64_t integer;  // if whole
  std::string_view unit;
  bool fits;
};

std::optional<Number> number(std::string_view text) {
  if (text.empty() || !(text[0] >= '0' && text[0] <= '9')) return std::nullopt;
  Number n{};
  const char* end = text.data() + text.size();
  const auto real = std::from_chars(text.data(), end, n.value, std::chars_format::fixed);
  if (real.ec == std::errc::invalid_argument) return std::nullopt;
  n.fits = real.ec == std::errc{};
  const auto whole = std::from_chars(text.data(), end, n.integer);
  n.whole = whole.ptr == real.ptr;
  if (n.whole && whole.ec != std::errc{}) n.fits = false;
  n.unit = std::string_view(real.ptr, static_cast<std::size_t>(end - real.ptr));
  return n;
}

}  // namespace

std::uint64_t parse_size(std::string_view option, std::string_view text, std::uint64_t min) {
  constexpr std::string_view advice = "no size; write bytes, or 4KiB, 1.5MiB, 2GiB";
  const auto n = number(text);
  if (!n) refuse(option, text, advice);
  struct Unit {
    std::string_view name;
    std::uint64_t bytes;
  };
  static constexpr Unit units[] = {
      {"", 1},         {"B", 1},           {"K", KiB},        {"KiB", KiB},        {"M", MiB},
      {"MiB", MiB},    {"G", GiB},         {"GiB", GiB},      {"KB", 1000},        {"kB", 1000},
      {"MB", 1000000}, {"GB", 1000000000}, {"T", 1024 * GiB}, {"TiB", 1024 * GiB}, {"TB", 1000000000000}};
  const auto unit = std::find_if(std::begin(units), std::end(units), [&](const Unit& u) { return u.name == n->unit; });
  if (unit == std::end(units)) refuse(option, text, advice);
  if (!n->fits) refuse(option, text, "past the largest size there is, 16 EiB");
  std::uint64_t bytes = 0;
  if (n->whole) {
    if (n->integer > UINT64_MAX / unit->bytes) refuse(option, text, "past the largest size there is, 16 EiB");
    bytes = n->integer * unit->bytes;
  } else {
    const double exact = n->value * static_cast<double>(unit->bytes);
    if (exact >= 1.8e19) refuse(option, text, "past the largest size there is, 16 EiB");
    if (exact != std::floor(exact)) refuse(option, text, "not a whole number of bytes");
    bytes = static_cast<std::uint64_t>(exact);
  }
  if (bytes < min) refuse(option, text, "too small: at least " + std::to_string(min));
  return bytes;
}

std::vector<std::uint64_t> parse_sizes(std::string_view option, std::string_view text) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& word : split_words(option, text)) sizes.push_back(parse_size(option, word, 1));
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

std::uint64_t parse_count(std::string_view option, std::string_view text, std::uint64_t min, std::uint64_t max) {
  const auto n = number(text);
  if (!n || !n->whole || !n->unit.empty()) refuse(option, text, "no whole number");
  if (!n->fits || n->integer > max) refuse(option, text, "too large: at most " + std::to_string(max));
  if (n->integer < min) refuse(option, text, "too small: at least " + std::to_string(min));
  return n->integer;
}

std::vector<std::uint64_t> parse_counts(std::string_view option, std::string_view text, std::uint64_t min,
                                        std::uint64_t max) {
  constexpr std::uint64_t longest = 4096;
  const auto one = [&](std::string_view word) {
    double value = 0;
    const auto end = word.data() + word.size();
    const auto read = std::from_chars(word.data(), end, value);
    const bool plain = !word.empty() && word[0] >= '0' && word[0] <= '9';
    if (!plain || read.ec != std::errc{} || read.ptr != end || value != std::floor(value))
      refuse(option, word, "no whole number; write 1000, 1e6, 2.5e6");
    if (value > static_cast<double>(max)) refuse(option, word, "too large: at most " + std::to_string(max));
    if (value < static_cast<double>(min)) refuse(option, word, "too small: at least " + std::to_string(min));
    return saturated<std::uint64_t>(value);
  };
  std::vector<std::uint64_t> all;
  for (const std::string& word : split_words(option, text)) {
    const std::string_view view = word;
    const std::size_t dots = view.find(".."), colon = dots == view.npos ? view.npos : view.find(':', dots);
    const std::uint64_t first = one(view.substr(0, dots));
    const std::uint64_t last = dots == view.npos ? first : one(view.substr(dots + 2, colon - dots - 2));
    const std::uint64_t step = colon == view.npos ? 1 : one(view.substr(colon + 1));
    if (last < first || step == 0 || (last - first) / step >= longest)
      refuse(option, word,
             "no range; write the smaller number first, and at most " + std::to_string(longest) + " of them");
    for (std::uint64_t n = first; n <= last; n += step) all.push_back(n);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Seconds parse_duration(std::string_view option, std::string_view text, Seconds min) {
  constexpr std::string_view advice = "no duration; write seconds, or 250ms, 10us, 10min, 1h";
  const auto n = number(text);
  if (!n || !n->fits) refuse(option, text, advice);
  double scale = 1;
  if (n->unit == "ms") scale = 1e-3;
  else if (n->unit == "us") scale = 1e-6;
  else if (n->unit == "min") scale = 60;
  else if (n->unit == "h") scale = 3600;
  else if (!n->unit.empty() && n->unit != "s") refuse(option, text, advice);
  if (n->value * scale < min.count())
    refuse(option, text,
           n->value > 0 ? fmt::format("too small: at least {:g} s", min.count()) : "too small: it must be positive");
  if (n->value * scale > 86400) refuse(option, text, "more than a day");
  return Seconds{n->value * scale};
}

double parse_fraction(std::string_view option, std::string_view text) {
  const auto n = number(text);
  if (!n || !n->fits || (!n->unit.empty() && n->unit != "%")) refuse(option, text, "no fraction; write 0.05 or 5%");
  const double value = n->unit == "%" ? n->value / 100 : n->value;
  if (n->unit.empty() && value > 1)
    refuse(option, text, fmt::format("not clear: write {0}% for {0} percent, or a fraction such as 0.05", text));
  if (value > 10) refuse(option, text, "too large: at most 1000%");
  return value;
}

double parse_operations(std::string_view option, std::string_view text) {
  constexpr std::string_view advice = "no number of operations; write 2e12, 2TFLOP, 1.5G";
  constexpr double most = 1e30;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc{} || text[0] == '-' || !(value <= most)) refuse(option, text, advice);
  std::string_view unit(read.ptr, static_cast<std::size_t>(end - read.ptr));
  for (const std::string_view word : {"FLOPs", "FLOP", "OP"})
    if (unit.ends_with(word)) {
      unit.remove_suffix(word.size());
      break;
    }
  constexpr std::string_view prefixes = "kMGTP";
  if (unit.empty()) return value;
  const std::size_t power = unit == "K" ? 0 : prefixes.find(unit);
  if (unit.size() != 1 || power == std::string_view::npos) refuse(option, text, advice);
  return value * std::pow(1000.0, static_cast<double>(power + 1));
}

double parse_number(std::string_view option, std::string_view text, double min, double max) {
  const auto n = number(text);
  if (!n || !n->unit.empty()) refuse(option, text, "no number; write it as 0.25 or 20");
  if (!n->fits || n->value > max) refuse(option, text, fmt::format("too large: at most {:g}", max));
  if (n->value < min) refuse(option, text, fmt::format("too small: at least {:g}", min));
  return n->value;
}

std::vector<std::string> split_words(std::string_view option, std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin) refuse(option, text, "a list with an empty place");
    words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::vector<std::string> split_names(std::string_view option, std::string_view text) {
  std::vector<std::string> names;
  for (std::string& word : split_words(option, text))
    if (std::ranges::find(names, word) == names.end()) names.push_back(std::move(word));
  return names;
}

CountedWords parse_counted(const std::string& text, std::size_t words, std::string_view form) {
  const std::size_t equals = text.rfind('=');
  auto all = equals == std::string::npos || equals == 0 ? std::vector<std::string>{}
                                                        : split_words("counts", text.substr(equals + 1));
  if (all.size() < 1 + words || all.size() > 2 + words)
    throw Error(ErrorKind::usage, fmt::format("--counts: '{}' is no kernel; write {}", text, form));
  CountedWords counted{text.substr(0, equals),
                       parse_operations("counts", all[0]),
                       static_cast<double>(parse_size("counts", all[1])),
                       {all.begin() + 2, all.end()}};
  if (!(counted.flops > 0) && !(counted.bytes > 0))
    throw Error(ErrorKind::usage, fmt::format("--counts: '{}' does no operation and moves no byte", text));
  return counted;
}

}  // namespace npgpu::cli

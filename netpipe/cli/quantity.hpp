// Quantities as a user types them. Every error names the option.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "netpipe/cli/options.hpp"
#include "npgpu/vocabulary/field.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

// "4096", "4KiB", "1.5MiB", "192M" (K, M, G are binary, as in NetPIPE; KB, MB, GB decimal). A whole number of
// bytes, at least `min`. Throws Error(usage): "--end: '-5' is no size; write bytes or 4KiB, 192MiB".
std::uint64_t parse_size(std::string_view option, std::string_view text, std::uint64_t min = 0);
// "1,3,4KiB"; ascending and each once in the result. Throws if empty.
std::vector<std::uint64_t> parse_sizes(std::string_view option, std::string_view text);
std::uint64_t parse_count(std::string_view option, std::string_view text, std::uint64_t min,
                          std::uint64_t max = UINT64_MAX);
// "1000,1e6,2.5e6", "1..32", "64..512:8": whole numbers; a range has both of its ends, or goes on by a step. Ascending
// and each once in the result.
std::vector<std::uint64_t> parse_counts(std::string_view option, std::string_view text, std::uint64_t min,
                                        std::uint64_t max);
// "0.25", "250ms", "2s", "10us", "10min", "1h": plain numbers are seconds. Positive, or at least `min`.
Seconds parse_duration(std::string_view option, std::string_view text, Seconds min = Seconds{1e-9});
// "5%", "0.05": a fraction. More than 1 only with a percent sign: "10" may be meant as 10 %.
double parse_fraction(std::string_view option, std::string_view text);
// "2e12", "2TFLOP", "1.5G": a number of operations, with a decimal prefix.
double parse_operations(std::string_view option, std::string_view text);
// "0.5", "12": a plain number without a unit, from `min` to `max`.
double parse_number(std::string_view option, std::string_view text, double min, double max);
// Words split at commas; empty words refused.
std::vector<std::string> split_words(std::string_view option, std::string_view text);

// The same, each once: nothing is measured twice because it is named twice.
std::vector<std::string> split_names(std::string_view option, std::string_view text);

// A kernel that --counts describes: NAME=FLOP,BYTES and `words` more, of which the last may be left out.
struct CountedWords {
  std::string name;
  double flops = 0, bytes = 0;
  std::vector<std::string> more;
};
// `form`: what to write, for the error.
CountedWords parse_counted(const std::string& text, std::size_t words, std::string_view form);

// An enumerator by its name, and a list of them.
template <class E> E parse_name(std::string_view option, std::string_view text) {
  if (const auto value = named<E>(text)) return *value;
  refuse_word(option, text, {names_of<E>.begin(), names_of<E>.end()});
}
template <class E> std::vector<E> parse_names(std::string_view option, std::string_view text) {
  std::vector<E> all;
  for (const std::string& word : split_names(option, text)) all.push_back(parse_name<E>(option, word));
  return all;
}

}  // namespace npgpu::cli

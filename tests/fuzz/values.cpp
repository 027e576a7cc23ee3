#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>

#include "fuzz.hpp"

namespace npgpu::fuzz {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

double odd_number(Random& random) {
  using Limits = std::numeric_limits<double>;
  static constexpr std::array numbers{Limits::quiet_NaN(),
                                      Limits::infinity(),
                                      -Limits::infinity(),
                                      0.0,
                                      -0.0,
                                      -1.0,
                                      5e-324,
                                      -5e-324,
                                      1e-300,
                                      1e300,
                                      Limits::max(),
                                      -Limits::max(),
                                      1.8446744073709552e19,
                                      9.3e18,
                                      4294967296.0,
                                      1e12,
                                      1e6,
                                      0.5,
                                      1.0,
                                      3.7,
                                      1e-9};
  return one_of(random, numbers);
}

std::int64_t odd_integer(Random& random) {
  static constexpr std::array<std::int64_t, 18> numbers{0,
                                                        1,
                                                        -1,
                                                        2,
                                                        3,
                                                        31,
                                                        64,
                                                        4096,
                                                        1000000,
                                                        INT32_MAX,
                                                        INT32_MIN,
                                                        UINT32_MAX,
                                                        std::int64_t{1} << 40,
                                                        INT64_MAX,
                                                        INT64_MIN,
                                                        INT64_MAX - 1,
                                                        255,
                                                        65536};
  return one_in(random, 4) ? static_cast<std::int64_t>(random()) : one_of(random, numbers);
}

std::string odd_text(Random& random) {
  static const std::vector<std::string> texts{
      "",
      "\x1b[31m\x1b]0;evil\x07<evil>",
      "node7\nOK  every GPU is as it should be <evil>\n",
      "\rOK\x08\x7f\xc2\x9b"
      "31m<evil>",
      "a|b|<evil>`c`*d*_e_[f](g)#",
      "=cmd|' /C calc'!A0<evil>",
      "+1+1",
      "-2+3+cmd",
      "@SUM(1)",
      "-1.5",
      "\t=1",
      "\"quoted\",'single';\\n\\x1b<evil>",
      "\xff\xfe\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80<evil>",
      "\xe2\x80\xae"
      "evil\xe2\x81\xa6\xe2\x80\xa8\xef\xbb\xbf\xef\xbf\xbf<evil>",
      "</script><evil onload=\"x\">&amp;",
      "%s%n%x{}{0}{:d}",
      std::string(70000, 'x'),
      std::string(3000, '\n'),
      "cuda:0",
      "cuda:18446744073709551616",
      "cuda:-1",
      "host",
      "sim:h200",
      "cuda:0>cuda:1",
      "../../evil",
      "nan",
      "inf",
      "-inf",
      "1e999",
      "0x10",
      "1,2,,3",
      "8,,",
      "1:2:3",
      ":",
      ",",
      " ",
      "99999999999999999999",
      "\xe6\x97\xa5\xe6\x9c\xac",
      "GPU-00000000-0000-0000-0000-000000000000",
      "2026-11-21T06:19:25Z",
      "9999-99-99T99:99:99Z",
      "python3 (4711)",
      "NVIDIA H200",
      "true",
      "null",
  };
  return one_of(random, texts);
}

std::string damaged(std::string bytes, Random& random) {
  if (bytes.empty() || one_in(random, 20)) return bytes.substr(0, below(random, bytes.size() + 1));
  for (auto wounds = 1 + below(random, 4); wounds > 0; --wounds) {
    // Most of a trace's structure stands near its beginning.
    const std::size_t at =
        one_in(random, 2) ? below(random, bytes.size()) : below(random, std::min<std::size_t>(bytes.size(), 8192));
    const std::size_t length = std::min<std::size_t>(1 + below(random, 16), bytes.size() - at);
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(random, 5)) {
      case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(random, 8))); break;
      case 1: bytes[at] = static_cast<char>(random()); break;
      case 2: std::fill_n(place, length, '\0'); break;
      case 3: std::fill_n(place, length, '\xff'); break;
      case 4: std::memmove(bytes.data() + at, bytes.data() + below(random, bytes.size() - length + 1), length); break;
    }
  }
  return bytes;
}

std::string damaged_lines(const std::string& text, Random& random) {
  if (one_in(random, 8)) return damaged(text, random);
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  for (auto wounds = 1 + below(random, 3); wounds > 0 && !lines.empty(); --wounds) {
    const std::size_t at = below(random, lines.size());
    std::string& line = lines[at];
    const std::size_t cut = line.find_first_of("=,", below(random, line.size() + 1));
    const std::size_t from = cut == std::string::npos ? 0 : cut + 1;
    const std::size_t to = std::min(line.find_first_of("=,", from), line.size());
    switch (below(random, 7)) {
      case 0: line.replace(from, to - from, odd_text(random)); break;
      case 1: line.replace(from, to - from, std::to_string(odd_number(random))); break;
      case 2: line.replace(from, to - from, std::to_string(odd_integer(random))); break;
      case 3: line = odd_text(random); break;
      case 4: lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at)); break;
      case 5: lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), one_of(random, lines)); break;
      case 6: line += one_of(random, std::array{",", "=", "\"", ",,,,", "[", "]", "#", "\\"}); break;
    }
  }
  std::string all;
  for (const std::string& line : lines) all += line + '\n';
  return all;
}

}  // namespace npgpu::fuzz

// Inputs that chance damages, each given to the program in this process: every answer but a crash, a hang, gigabytes of
// memory or an output that lets foreign text through is fine.
//
//   npgpu_fuzz KIND ROUNDS [SEED [ROUND]]
//
// Works in the current folder, which must be empty or one that it has used. Each round follows from its seed and number
// alone, so that one round can be repeated by itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "netpipe/cli/commands.hpp"

namespace npgpu::fuzz {

using cli::Arguments;
using Random = std::mt19937_64;

inline std::size_t below(Random& random, std::size_t n) { return n ? random() % n : 0; }
inline bool one_in(Random& random, std::size_t n) { return below(random, n) == 0; }
inline bool has(const Arguments& words, std::string_view word) { return std::ranges::find(words, word) != words.end(); }
template <class All> const auto& one_of(Random& random, const All& all) { return all[below(random, std::size(all))]; }

std::string read(const std::filesystem::path&);
void write(const std::filesystem::path&, const std::string&);

// ---- what is put in place of something else ----

double odd_number(Random&);
std::int64_t odd_integer(Random&);
// Escapes, line ends, markup, formulas, broken UTF-8, words of the program; each with "<evil>" in it or without.
std::string odd_text(Random&);
// Bits, bytes and ranges flipped, zeroed, copied, cut.
std::string damaged(std::string bytes, Random&);
// One to four places of a JSON text: values, keys, types, copies of other parts, nesting; or its bytes.
std::string damaged_json(const std::string& text, Random&);
// The same for text of lines: keys and values of an INI file, cells of CSV.
std::string damaged_lines(const std::string& text, Random&);
// A trace that HDF5 finds sound: attributes, columns, rows, types and links are not what they were.
std::string damaged_trace(const std::string& bytes, Random&);
// One number of it is what no device says: a fact, or a column of one series, as a whole or in some rows. What was
// changed is added to `what`.
std::string poisoned_trace(const std::string& bytes, Random&, std::string& what);

// ---- what is run ----

struct Answer {
  int code = 0;
  std::string out, err;
};

struct Kind {
  std::string_view name;
  std::string_view what;
  // Makes in the current folder what rounds begin with, if it is not there yet.
  void (*make_seeds)();
  // Writes the inputs of a round, and says what is to be run.
  std::vector<Arguments> (*round)(Random&);
  // What is wrong with an answer beside what flaw_of() finds.
  std::optional<std::string> (*judge)(const Arguments&, const Answer&) = nullptr;
};
const std::vector<Kind>& kinds();
// The program as it would run in a process of its own.
Answer answer_to(const Arguments&);
// What is wrong with an answer, and with the files that it wrote; nothing if it is as it should be.
std::optional<std::string> flaw_of(const Arguments&, const Answer&);

// ---- poison.cpp ----

void make_poison_seeds();
std::vector<Arguments> poisons(Random&);
std::optional<std::string> flaw_beside_sound(const Arguments&, const Answer&);
// The program's answer makes `path`, or it is copied from ../seeds.
void make(const char* path, Arguments);
void make_traces();

}  // namespace npgpu::fuzz

#include "netpipe/model/health/models.hpp"

#include <algorithm>
#include <cctype>

namespace npgpu::model {

namespace {

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

// Cuts the first word off; empty where there is none.
std::string_view take_word(std::string_view& text) {
  const auto* const begin = std::ranges::find_if(text, is_of_word);
  const auto* const end = std::find_if_not(begin, text.end(), is_of_word);
  text = {end, text.end()};
  return {begin, end};
}

struct Published {
  std::string_view name;
  int multiprocessors;
};
// Of the datasheets of NVIDIA the CUDA cores, over those of a multiprocessor (64 of Volta, Turing, GP100 and GA100, 128
// of the others), and the architectures' white papers: Pascal, Volta V1.1, Turing, Ampere GA100 and GA102, Ada, Hopper,
// RTX Blackwell. Of B100, B200, B300 and the GB200 and GB300, whose papers give only the whole chip, what all of them
// have that were reported: 148 (they may have more). The first whose words the name has counts, so longer names stand
// first.
constexpr Published published[] = {
    // Blackwell
    {"GB300", 148},
    {"GB200", 148},
    {"B300", 148},
    {"B200", 148},
    {"B100", 148},
    {"GB10", 48},
    {"RTX PRO 6000 Blackwell", 188},
    {"RTX 5090", 170},
    {"RTX 5080", 84},
    // Hopper
    {"GH200", 132},
    {"H200", 132},
    {"H100 NVL", 132},
    {"H100 PCIe", 114},
    {"H100 80GB HBM3", 132},
    {"H100 96GB HBM3", 132},
    {"H800 PCIe", 114},
    {"H800", 132},
    {"H20", 78},
    // Ada
    {"L40S", 142},
    {"L40", 142},
    {"L20", 92},
    {"L4", 58},
    {"RTX 6000 Ada", 142},
    {"RTX 5000 Ada", 100},
    {"RTX 4090 D", 114},
    {"RTX 4090", 128},
    // Ampere
    {"A100", 108},
    {"A800", 108},
    {"A30", 56},
    {"A40", 84},
    {"A10G", 80},
    {"A10", 72},
    {"A16", 10},
    {"A2", 10},
    {"RTX A6000", 84},
    {"RTX A5000", 64},
    {"RTX A4000", 48},
    {"RTX 3090 Ti", 84},
    {"RTX 3090", 82},
    // Turing, Volta, Pascal
    {"T4", 40},
    {"Quadro RTX 8000", 72},
    {"Quadro RTX 6000", 72},
    {"TITAN RTX", 72},
    {"RTX 2080 Ti", 68},
    {"V100", 80},
    {"TITAN V", 80},
    {"P100", 56},
    {"P40", 30},
    {"P4", 20}};

}  // namespace

bool has_words(std::string_view name, std::string_view wanted) {
  std::string_view word = take_word(wanted);
  if (word.empty()) return false;
  for (std::string_view found = take_word(name); !found.empty(); found = take_word(name)) {
    if (!std::ranges::equal(found, word, same_letter)) continue;
    word = take_word(wanted);
    if (word.empty()) return true;
  }
  return false;
}

bool names_part_of_gpu(std::string_view name) {
  if (has_words(name, "MIG")) return true;
  // Of a virtual GPU the parts and GB stand at the end: "-3-20C".
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const std::size_t last = name.rfind('-');
  if (last == std::string_view::npos || last < 2 || !is_digit(name[last - 1]) || name[last - 2] != '-') return false;
  const std::string_view end = name.substr(last + 1);
  return end.size() > 1 && is_digit(end.front()) && std::isupper(static_cast<unsigned char>(end.back())) != 0;
}

int published_multiprocessors(std::string_view name) {
  // A laptop's GPU shares a name with a larger one.
  if (names_part_of_gpu(name) || has_words(name, "Laptop")) return 0;
  for (const Published& one : published)
    if (has_words(name, one.name)) return one.multiprocessors;
  return 0;
}

}  // namespace npgpu::model

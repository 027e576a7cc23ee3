#include "netpipe/model/health/models.hpp"

namespace npgpu::model {

namespace {

// From NVIDIA's architecture white papers (Volta V1.1, Turing, Ampere GA100 and GA102, Ada, Hopper). The first that the
// name holds counts.
struct Published {
  std::string_view name;
  int multiprocessors;
};
constexpr Published published[] = {
    {"H200 NVL", 132}, {"H200", 132}, {"H100 NVL", 132}, {"H100 PCIe", 114}, {"H100 80GB HBM3", 132},
    {"A100", 108},     {"A40", 84},   {"A10G", 80},      {"A10", 72},        {"A30", 56},
    {"L40S", 142},     {"L40", 142},  {"V100", 80},      {"Tesla T4", 40}};

// "NVIDIA A100-SXM4-80GB" holds "A100", and "NVIDIA A1000" does not.
bool holds(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return false;
  const auto joins = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); };
  const std::size_t end = at + word.size();
  return (at == 0 || !joins(text[at - 1])) && (end == text.size() || !joins(text[end]));
}

}  // namespace

int published_multiprocessors(std::string_view name) {
  for (const Published& one : published)
    if (holds(name, one.name)) return one.multiprocessors;
  return 0;
}

}  // namespace npgpu::model

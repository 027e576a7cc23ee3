#include "netpipe/devices/host/rapl.hpp"

#include <fstream>
#include <optional>

namespace npgpu::host {

namespace {

std::optional<std::uint64_t> number_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  if (in >> number) return number;
  return std::nullopt;
}

std::string line_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace

Rapl::Rapl(const std::filesystem::path& root, std::string& why) {
  std::error_code none;
  bool is_there = false;
  for (const auto& zone : std::filesystem::directory_iterator(root, none)) {
    // "intel-rapl:0" is a package; "intel-rapl:0:0" is a part of it. AMD's processors have the same names.
    const std::string name = zone.path().filename();
    if (!line_in(zone.path() / "name").starts_with("package") || name.find(':') != name.rfind(':')) continue;
    is_there = true;
    const auto now = number_in(zone.path() / "energy_uj"), range = number_in(zone.path() / "max_energy_range_uj");
    if (now && range) packages_.push_back({zone.path() / "energy_uj", *range, *now});
  }
  if (is_there && packages_.empty()) why = "the processors' energy (RAPL) is for root alone to read here";
  if (!is_there) why = "this system shows no energy of its processors (no package under " + root.string() + ")";
}

double Rapl::joules() {
  for (Package& one : packages_) {
    const auto now = number_in(one.counter);
    if (!now) continue;
    sum_uj_ += static_cast<double>(*now >= one.last_uj ? *now - one.last_uj : one.range_uj - one.last_uj + *now);
    one.last_uj = *now;
  }
  return sum_uj_ * 1e-6;
}

}  // namespace npgpu::host

#include "netpipe/devices/host/cpu_name.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace npgpu::host {

namespace {

// The fields Implementer and PartNum of the register MIDR_EL1 (Arm Architecture Reference Manual), which the kernel
// prints. The numbers are those of the implementers' reference manuals, which arch/arm64/include/asm/cputype.h of Linux
// collects.
constexpr unsigned arm = 0x41, broadcom = 0x42, cavium = 0x43, fujitsu = 0x46, hisilicon = 0x48, nvidia = 0x4e,
                   apm = 0x50, qualcomm = 0x51, samsung = 0x53, marvell = 0x56, apple = 0x61, microsoft = 0x6d,
                   phytium = 0x70, ampere = 0xc0;

struct ArmImplementer {
  unsigned number;
  std::string_view name;
};
constexpr ArmImplementer implementers[] = {{arm, "Arm"},         {broadcom, "Broadcom"},   {cavium, "Cavium"},
                                           {fujitsu, "Fujitsu"}, {hisilicon, "HiSilicon"}, {nvidia, "NVIDIA"},
                                           {apm, "APM"},         {qualcomm, "Qualcomm"},   {samsung, "Samsung"},
                                           {marvell, "Marvell"}, {apple, "Apple"},         {microsoft, "Microsoft"},
                                           {phytium, "Phytium"}, {ampere, "Ampere"}};

struct ArmPart {
  unsigned implementer, number;
  std::string_view name;
};
constexpr ArmPart parts[] = {
    // Ampere Altra and AWS Graviton2 are N1, Graviton3 is V1, NVIDIA Grace and Graviton4 are V2.
    {arm, 0xd0c, "Neoverse-N1"},
    {arm, 0xd49, "Neoverse-N2"},
    {arm, 0xd8e, "Neoverse-N3"},
    {arm, 0xd4a, "Neoverse-E1"},
    {arm, 0xd40, "Neoverse-V1"},
    {arm, 0xd4f, "Neoverse-V2"},
    {arm, 0xd84, "Neoverse-V3"},
    {arm, 0xd83, "Neoverse-V3AE"},
    {arm, 0xd01, "Cortex-A32"},
    {arm, 0xd02, "Cortex-A34"},
    {arm, 0xd04, "Cortex-A35"},
    {arm, 0xd03, "Cortex-A53"},
    {arm, 0xd05, "Cortex-A55"},
    {arm, 0xd07, "Cortex-A57"},
    {arm, 0xd06, "Cortex-A65"},
    {arm, 0xd43, "Cortex-A65AE"},
    {arm, 0xd08, "Cortex-A72"},
    {arm, 0xd09, "Cortex-A73"},
    {arm, 0xd0a, "Cortex-A75"},
    {arm, 0xd0b, "Cortex-A76"},
    {arm, 0xd0e, "Cortex-A76AE"},
    {arm, 0xd0d, "Cortex-A77"},
    {arm, 0xd41, "Cortex-A78"},
    {arm, 0xd42, "Cortex-A78AE"},
    {arm, 0xd4b, "Cortex-A78C"},
    {arm, 0xd46, "Cortex-A510"},
    {arm, 0xd80, "Cortex-A520"},
    {arm, 0xd47, "Cortex-A710"},
    {arm, 0xd4d, "Cortex-A715"},
    {arm, 0xd81, "Cortex-A720"},
    {arm, 0xd87, "Cortex-A725"},
    {arm, 0xd44, "Cortex-X1"},
    {arm, 0xd4c, "Cortex-X1C"},
    {arm, 0xd48, "Cortex-X2"},
    {arm, 0xd4e, "Cortex-X3"},
    {arm, 0xd82, "Cortex-X4"},
    {arm, 0xd85, "Cortex-X925"},
    {broadcom, 0x100, "Brahma-B53"},
    {broadcom, 0x516, "ThunderX2"},
    {cavium, 0x0a1, "ThunderX"},
    {cavium, 0x0a2, "ThunderX 81XX"},
    {cavium, 0x0a3, "ThunderX 83XX"},
    {cavium, 0x0af, "ThunderX2"},
    {cavium, 0x0b8, "ThunderX3"},
    {fujitsu, 0x001, "A64FX"},
    {hisilicon, 0xd01, "TaiShan v110 (Kunpeng 920)"},
    {nvidia, 0x000, "Denver"},
    {nvidia, 0x003, "Denver 2"},
    {nvidia, 0x004, "Carmel"},
    {nvidia, 0x010, "Olympus"},
    {apm, 0x000, "X-Gene"},
    {qualcomm, 0x001, "Oryon"},
    {qualcomm, 0xc00, "Falkor"},
    {qualcomm, 0xc01, "Saphira"},
    {apple, 0x022, "Icestorm (M1)"},
    {apple, 0x023, "Firestorm (M1)"},
    {apple, 0x024, "Icestorm (M1 Pro)"},
    {apple, 0x025, "Firestorm (M1 Pro)"},
    {apple, 0x028, "Icestorm (M1 Max)"},
    {apple, 0x029, "Firestorm (M1 Max)"},
    {apple, 0x032, "Blizzard (M2)"},
    {apple, 0x033, "Avalanche (M2)"},
    {apple, 0x034, "Blizzard (M2 Pro)"},
    {apple, 0x035, "Avalanche (M2 Pro)"},
    {apple, 0x038, "Blizzard (M2 Max)"},
    {apple, 0x039, "Avalanche (M2 Max)"},
    {microsoft, 0xd49, "Azure Cobalt 100"},
    {phytium, 0x660, "FTC660"},
    {phytium, 0x661, "FTC661"},
    {phytium, 0x662, "FTC662"},
    {phytium, 0x663, "FTC663"},
    {ampere, 0xac3, "Ampere-1"},
    {ampere, 0xac4, "Ampere-1A"},
};

struct CpuLine {
  std::string key, value;
};

// "CPU part\t: 0xd4f"
std::optional<CpuLine> cpu_line(const std::string& line) {
  constexpr const char* blanks = " \t\r";
  const std::size_t colon = line.find(':');
  if (colon == line.npos || colon == 0) return std::nullopt;
  const std::size_t key_end = line.find_last_not_of(blanks, colon - 1);
  const std::size_t begin = line.find_first_not_of(blanks, colon + 1);
  if (key_end == line.npos || begin == line.npos) return std::nullopt;
  return CpuLine{line.substr(0, key_end + 1), line.substr(begin, line.find_last_not_of(blanks) + 1 - begin)};
}

std::optional<unsigned> hexadecimal(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string part_name(unsigned implementer, unsigned part) {
  const auto* const who = std::ranges::find(implementers, implementer, &ArmImplementer::number);
  if (who == std::end(implementers)) return fmt::format("implementer {:#04x}, part {:#05x}", implementer, part);
  const auto* const found = std::ranges::find_if(
      parts, [&](const ArmPart& one) { return one.implementer == implementer && one.number == part; });
  if (found == std::end(parts)) return fmt::format("{} part {:#05x}", who->name, part);
  return found->name.starts_with(who->name) ? std::string(found->name) : fmt::format("{} {}", who->name, found->name);
}

}  // namespace

std::string cpu_name(std::istream& cpuinfo) {
  std::vector<std::string> names;  // of the parts, in their order
  std::optional<unsigned> implementer;
  std::string other;
  for (std::string text; std::getline(cpuinfo, text);) {
    const auto line = cpu_line(text);
    if (!line) continue;
    if (line->key == "model name") return line->value;
    if (line->key == "CPU implementer") implementer = hexadecimal(line->value);
    const std::optional<unsigned> part = line->key == "CPU part" ? hexadecimal(line->value) : std::nullopt;
    if (implementer && part)
      if (std::string name = part_name(*implementer, *part); std::ranges::find(names, name) == names.end())
        names.push_back(std::move(name));
    if (other.empty() && (line->key == "cpu" || line->key == "uarch")) other = line->value;  // POWER, RISC-V
  }
  if (!names.empty()) return fmt::format("{}", fmt::join(names, " and "));
  return other.empty() ? "unknown cpu" : other;
}

}  // namespace npgpu::host

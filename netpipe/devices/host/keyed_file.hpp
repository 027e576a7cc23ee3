// Files of the system with a line "key value" for each number (memory.stat, cpu.stat, meminfo).
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace npgpu::host {

// The number behind `key`; nothing where the file or the key is not there.
inline std::optional<std::uint64_t> number_after(const std::filesystem::path& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    std::uint64_t value = 0;
    if (words >> word >> value && word == key) return value;
  }
  return std::nullopt;
}

}  // namespace npgpu::host

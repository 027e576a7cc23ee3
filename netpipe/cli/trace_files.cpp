#include "netpipe/cli/trace_files.hpp"

#include <algorithm>
#include <filesystem>

#include "npgpu/error.hpp"

namespace npgpu::cli {

std::vector<std::string> trace_files(const std::vector<std::string>& words) {
  std::vector<std::string> files;
  for (const std::string& word : words) {
    if (!std::filesystem::is_directory(word)) {
      files.push_back(word);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(word))
      if (entry.path().extension() == ".h5") found.push_back(entry.path().string());
    if (found.empty()) throw Error(ErrorKind::usage, "'" + word + "' is a folder without traces (*.h5)");
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace npgpu::cli

#include "netpipe/files/folder.hpp"

#include <algorithm>

namespace npgpu::files {

std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder, std::error_code& error) {
  std::vector<std::filesystem::path> all;
  std::filesystem::directory_iterator at(folder, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) all.push_back(at->path());
  std::ranges::sort(all);
  return all;
}

}  // namespace npgpu::files

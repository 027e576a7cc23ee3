#include "netpipe/cli/trace_files.hpp"

#include <filesystem>
#include <system_error>

#include "netpipe/files/folder.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

std::vector<std::string> trace_files(const std::vector<std::string>& words) {
  std::vector<std::string> files;
  for (const std::string& word : words) {
    std::error_code error;
    if (!std::filesystem::is_directory(word, error)) {
      files.push_back(word);
      continue;
    }
    const std::size_t before = files.size();
    for (const auto& path : files::entries_of(word, error))
      if (path.extension() == ".h5") files.push_back(path.string());
    if (error) throw Error(ErrorKind::usage, "'" + word + "' cannot be listed: " + error.message());
    if (files.size() == before) throw Error(ErrorKind::usage, "'" + word + "' is a folder without traces (*.h5)");
  }
  return files;
}

}  // namespace npgpu::cli

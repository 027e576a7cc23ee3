#include "netpipe/cli/output_file.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "npgpu/error.hpp"

namespace npgpu::cli {

void write_file(const std::string& option, const std::string& path, bool force,
                const std::function<void(std::ostream&)>& write) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto status = fs::status(path, error);
  if (fs::exists(status) && !force)
    throw Error(ErrorKind::usage, "--" + option + ": '" + path + "' exists; --force replaces it");
  // A pipe or a device cannot be replaced, and a name beside it would not reach its reader.
  const bool in_place = fs::exists(status) && !fs::is_regular_file(status);
  const fs::path target = fs::is_symlink(path) ? fs::weakly_canonical(path, error) : fs::path(path);
  const fs::path written = in_place ? target : fs::path(target.string() + "." + std::to_string(getpid()) + ".tmp");
  std::ofstream file(written);
  write(file);
  file.close();
  const bool whole = static_cast<bool>(file);
  if (whole && !in_place) fs::rename(written, target, error);
  if (whole && !error) return;
  std::error_code ignored;
  if (!in_place) fs::remove(written, ignored);
  throw Error(ErrorKind::failed, "--" + option + ": cannot write '" + path + "'");
}

}  // namespace npgpu::cli

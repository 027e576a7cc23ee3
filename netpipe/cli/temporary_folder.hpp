// A folder for what nobody is to keep.
#pragma once

#include <filesystem>
#include <string>

#include "netpipe/process/descriptor.hpp"

namespace npgpu::cli {

// In TMPDIR, called npgpu-<purpose>-XXXXXX; gone with the object. What is put into it is called <purpose>.*. Making one
// also removes those that killed processes of this user left: whoever uses a folder holds its lock (flock), which ends
// with the process.
class TemporaryFolder {
 public:
  // Throws Error(failed) naming TMPDIR's folder.
  explicit TemporaryFolder(const std::string& purpose);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  process::Descriptor lock_;
};

}  // namespace npgpu::cli

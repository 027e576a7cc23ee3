// Files that a command writes in addition to what it prints, and a folder for what nobody is to keep.
#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <streambuf>
#include <string>
#include <vector>

#include "netpipe/cli/options.hpp"
#include "netpipe/process/descriptor.hpp"

namespace npgpu::cli {

// Writes what `write` prints to the file that an option names, as traces are written: it appears whole or not at all,
// keeps its permissions where it is replaced (`force`), and stays as it was if anything fails. A pipe, a terminal or
// another device is written to where it is; so is /dev/stdout, and what the shell made of >(command). Throws Error.
void write_file(const std::string& option, const std::string& path, bool force,
                const std::function<void(std::ostream&)>& write);

// write_file() where the option is given, for what comes with a verdict, which a full disk must not cost: an Error is
// printed to standard error. False then.
bool write_if_asked(const Options&, const std::string& option, bool force,
                    const std::function<void(std::ostream&)>& write);

// Throws what write_file() would throw about the path: before a run of minutes, whose results it is to hold.
void check_output(const std::string& option, const std::string& path, bool force);

// "-", /dev/stdout, /dev/fd/1
bool is_standard_output(const std::string& path);

// One thing goes to standard output. As long as this lives, std::cout leads to standard error, and files whose name
// stands for standard output are written there alone.
class TextToErrors {
 public:
  TextToErrors();
  ~TextToErrors();
  TextToErrors(const TextToErrors&) = delete;
  TextToErrors& operator=(const TextToErrors&) = delete;

 private:
  std::streambuf* before_;
};

// A trace is written in many places of its file: throws Error(usage) for a name that stands for an open descriptor.
void check_trace_output(const std::string& path);

// A folder for what nobody is to keep: in TMPDIR, called npgpu-<purpose>-XXXXXX; gone with the object. What is put into
// it is called <purpose>.*. Making one also removes those that killed processes of this user left: whoever uses a
// folder holds its lock (flock), which ends with the process.
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

// A folder stands for its traces (*.h5), by name. Throws Error(usage) if it has none.
std::vector<std::string> trace_files(const std::vector<std::string>& words);

}  // namespace npgpu::cli

#include "netpipe/cli/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <iostream>
#include <optional>
#include <span>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "netpipe/cli/terminal.hpp"
#include "netpipe/files/input.hpp"
#include "netpipe/files/output.hpp"
#include "netpipe/trace/files.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

namespace fs = std::filesystem;

std::streambuf* standard_output = nullptr;  // where std::cout does not lead there

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// The open descriptor that "-", /dev/stdout, /dev/fd/63 or /proc/self/fd/63 stands for. Its name leads to a file, but
// what opens that file anew begins at its first byte, and what replaces it leaves the descriptor without a name.
std::optional<int> descriptor_named(const std::string& path) {
  if (path == "-" || path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    int number = -1;
    const char* const end = path.data() + path.size();
    const auto [rest, error] = std::from_chars(path.data() + folder.size(), end, number);
    if (error == std::errc() && rest == end && number >= 0) return number;
  }
  return std::nullopt;
}

// A pipe's reader may come later, but not never.
process::Descriptor opened_in_place(const std::string& path) {
  constexpr std::chrono::milliseconds between_tries{50};
  constexpr int tries = 60'000 / 50;
  for (int i = 0; i < tries; ++i) {
    process::Descriptor fd(
        process::retried([&] { return ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK); }));
    if (fd.open() || errno != ENXIO) {
      if (fd.open()) ::fcntl(fd.get(), F_SETFL, 0);
      return fd;
    }
    std::this_thread::sleep_for(between_tries);
  }
  throw Error(ErrorKind::failed, "no process reads from this pipe");
}

void write_all(int fd, const std::string& text) {
  if (const int error = process::write_all(fd, bytes_of(text)))
    throw Error(ErrorKind::failed, process::system_text(error));
}

// Where the file is to lie. Nothing: what is there is written to in place.
std::optional<fs::path> place_to_replace(const std::string& path, bool force) {
  struct stat is {};
  const bool exists = ::stat(path.c_str(), &is) == 0;
  if (exists && (S_ISFIFO(is.st_mode) || S_ISCHR(is.st_mode))) return std::nullopt;
  if (exists && !S_ISREG(is.st_mode) && !S_ISDIR(is.st_mode))
    throw Error(ErrorKind::usage,
                fmt::format("{}: is {}, and no place for a file", path, files::kind_text(is.st_mode)));
  const fs::path place = files::place_of(path);
  // A name that was meant for the input, or completed to it, must not cost what was measured.
  if (trace::is_hdf5(place))
    throw Error(ErrorKind::usage,
                fmt::format("'{}' is a trace, and no report takes its place: name another file", path));
  if (exists && !force) throw Error(ErrorKind::usage, fmt::format("'{}' exists; --force replaces it", path));
  files::refuse_protected(place);
  const std::string folder = files::folder_of(place).string();
  if (::stat(folder.c_str(), &is) != 0 && errno == ENOENT)
    throw Error(ErrorKind::usage, fmt::format("{}: the folder {} does not exist", path, folder));
  if (::stat(folder.c_str(), &is) != 0 || !S_ISDIR(is.st_mode))
    throw Error(ErrorKind::usage, fmt::format("{}: {} is not a folder that can be written to", path, folder));
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw Error(ErrorKind::usage,
                fmt::format("{}: no file can be created in {}: {}", path, folder, process::system_text(errno)));
  return place;
}

void write_in_place(const std::string& path, const std::string& text) {
  try {
    write_all(opened_in_place(path).get(), text);
  } catch (const Error& e) {
    throw Error(ErrorKind::failed, fmt::format("cannot write '{}': {}", path, e.what()));
  }
}

template <class Work> void named_by(const std::string& option, Work work) {
  try {
    work();
  } catch (const Error& e) {
    throw Error(e.kind(), fmt::format("--{}: {}", option, e.what()));
  }
}

}  // namespace

bool is_standard_output(const std::string& path) { return descriptor_named(path) == STDOUT_FILENO; }

TextToErrors::TextToErrors() : before_(std::cout.rdbuf(std::cerr.rdbuf())) { standard_output = before_; }

TextToErrors::~TextToErrors() {
  const std::ios::iostate state = std::cout.rdstate();
  std::cout.rdbuf(before_);  // forgets it
  std::cout.setstate(state);
  standard_output = nullptr;
}

void check_output(const std::string& option, const std::string& path, bool force) {
  if (descriptor_named(path)) return;
  if (path.empty()) throw Error(ErrorKind::usage, "--" + option + ": needs a file name");
  named_by(option, [&] { place_to_replace(path, force); });
}

void write_file(const std::string& option, const std::string& path, bool force,
                const std::function<void(std::ostream&)>& write) {
  const auto descriptor = descriptor_named(path);
  check_output(option, path, force);
  std::ostringstream out;  // whole before anything is touched
  write(out);
  const std::string text = std::move(out).str();
  if (descriptor == STDOUT_FILENO) {
    // How that went is said at the end.
    std::ostream to(standard_output ? standard_output : std::cout.rdbuf());
    if (!(to << text << std::flush)) std::cout.setstate(std::ios::badbit);
    return;
  }
  named_by(option, [&] {
    if (descriptor) return write_all(*descriptor, text);
    if (const auto place = place_to_replace(path, force))
      files::replace_file(*place, bytes_of(text), fmt::format("tmp-{}", ::getpid()));
    else write_in_place(path, text);
  });
}

bool write_if_asked(const Options& options, const std::string& option, bool force,
                    const std::function<void(std::ostream&)>& write) {
  try {
    if (const auto path = options.maybe(option)) write_file(option, *path, force, write);
    return true;
  } catch (const Error& e) {
    complain(e.what());
    return false;
  }
}

void check_trace_output(const std::string& path) {
  if (path.empty()) throw Error(ErrorKind::usage, "--output: the name is empty");
  if (descriptor_named(path))
    throw Error(ErrorKind::usage, fmt::format("'{}' cannot hold a trace: a trace is a file{}", path,
                                              path == "-" ? "; write ./- for one of that name" : ""));
}

namespace {

process::Descriptor open_folder(const fs::path& path) {
  return process::Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool is_still_at(const process::Descriptor& folder, const fs::path& path) {
  struct stat is {
  }, named{};
  return ::fstat(folder.get(), &is) == 0 && ::lstat(path.c_str(), &named) == 0 && named.st_dev == is.st_dev &&
         named.st_ino == is.st_ino;
}

// A folder of ours that nobody else can have put something into, and that its owner does not use any more: locked, so
// that nobody begins to. Closed otherwise, and where folders cannot be locked, as on NFS.
process::Descriptor lock_left(const fs::path& path) {
  process::Descriptor fd = open_folder(path);
  struct stat is {};
  const bool is_left = fd.open() && ::fstat(fd.get(), &is) == 0 && is.st_uid == ::geteuid() &&
                       (is.st_mode & 0077) == 0 && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 && is_still_at(fd, path);
  return is_left ? std::move(fd) : process::Descriptor();
}

// That we made it, and not somebody who likes such names: what is in it is called <purpose>.*, or hidden so.
bool is_made_here(const fs::path& path, const std::string& begins, const std::string& purpose) {
  constexpr std::size_t drawn = 6;
  const std::string name = path.filename().string();
  if (!name.starts_with(begins) || name.size() != begins.size() + drawn) return false;
  std::error_code error;
  for (const fs::path& one : files::entries_of(path, error)) {
    const std::string inside = one.filename().string();
    if (!inside.starts_with(purpose + ".") && !inside.starts_with("." + purpose + ".")) return false;
  }
  return !error;
}

void remove_left(const fs::path& in, const std::string& begins, const std::string& purpose) {
  std::error_code ignored;
  for (const fs::path& one : files::entries_of(in, ignored)) {
    if (!one.filename().string().starts_with(begins)) continue;
    const process::Descriptor lock = lock_left(one);  // held while it is removed
    if (lock.open() && is_made_here(one, begins, purpose)) fs::remove_all(one, ignored);
  }
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::string& purpose) {
  std::error_code error;
  const fs::path in = fs::temp_directory_path(error);
  if (error)
    throw Error(ErrorKind::failed,
                "no temporary folder: TMPDIR names no folder that can be used (" + error.message() + ")");
  const std::string begins = "npgpu-" + purpose + "-";
  remove_left(in, begins, purpose);
  constexpr int max_races = 100;
  for (int race = 0; race < max_races; ++race) {
    std::string name = (in / (begins + "XXXXXX")).string();
    if (!::mkdtemp(name.data()))
      throw Error(ErrorKind::failed, "no temporary folder in " + in.string() + ": " + process::system_text(errno));
    path_ = name;
    lock_ = open_folder(path_);
    // Before it is locked another process may take it for one that was left, and remove it.
    process::retried([&] { return ::flock(lock_.get(), LOCK_EX); });
    if (lock_.open() && is_still_at(lock_, path_)) return;
  }
  throw Error(ErrorKind::failed, "no temporary folder in " + in.string() + ": others remove it all the time");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

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

#include "netpipe/cli/temporary_folder.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "netpipe/files/folder.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace fs = std::filesystem;

namespace {

process::Descriptor open_folder(const fs::path& path) {
  return process::Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// A folder of ours that nobody else can have put something into, and that its owner does not use any more: locked, so
// that nobody begins to. Closed otherwise, and where folders cannot be locked, as on NFS.
process::Descriptor lock_left(const fs::path& path) {
  process::Descriptor fd = open_folder(path);
  struct stat is {
  }, named{};
  const bool is_left = fd.open() && ::fstat(fd.get(), &is) == 0 && is.st_uid == ::geteuid() &&
                       (is.st_mode & 0077) == 0 && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 &&
                       ::lstat(path.c_str(), &named) == 0 && named.st_dev == is.st_dev && named.st_ino == is.st_ino;
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
    struct stat is {
    }, named{};
    if (lock_.open() && ::fstat(lock_.get(), &is) == 0 && ::lstat(path_.c_str(), &named) == 0 &&
        named.st_dev == is.st_dev && named.st_ino == is.st_ino)
      return;
  }
  throw Error(ErrorKind::failed, "no temporary folder in " + in.string() + ": others remove it all the time");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace npgpu::cli

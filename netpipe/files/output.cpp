#include "netpipe/files/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "netpipe/process/descriptor.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::files {

std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder, std::error_code& error) {
  std::vector<std::filesystem::path> all;
  std::filesystem::directory_iterator at(folder, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) all.push_back(at->path());
  std::ranges::sort(all, {}, &std::filesystem::path::native);
  return all;
}

namespace fs = std::filesystem;
using process::Descriptor;
using process::retried;
using process::system_text;

namespace {

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", path.string(), why));
}

// A step of saving: its result, or an Error with the reason.
class Saving {
 public:
  Saving(const fs::path& path, std::size_t bytes) : path_(path), bytes_(bytes) {}
  template <class Result> Result step(Result result, const char* what) const {
    if (result < 0) fail(errno, what);
    return result;
  }
  [[noreturn]] void fail(int error, const char* what) const {
    throw Error(ErrorKind::failed,
                fmt::format("{}: cannot save {} bytes ({}): {}; {}", path_.string(), bytes_, what, system_text(error),
                            is_in_place ? "they are in their place, and may be lost if the machine stops now"
                                        : what_is_there(path_)));
  }

  bool is_in_place = false;  // the new file, and not what was there before

 private:
  const fs::path& path_;
  std::size_t bytes_;
};

// While it lives, what would end the program waits: it shall not leave half of a file.
class EndingSignalsHeld {
 public:
  EndingSignalsHeld() {
    sigset_t ending;
    ::sigemptyset(&ending);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&ending, number);
    ::pthread_sigmask(SIG_BLOCK, &ending, &before_);
  }
  ~EndingSignalsHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  EndingSignalsHeld(const EndingSignalsHeld&) = delete;
  EndingSignalsHeld& operator=(const EndingSignalsHeld&) = delete;

 private:
  sigset_t before_;
};

// A rename is durable when its folder is. Some file systems have no fsync for folders, and a folder that may be
// written but not read cannot be opened: both leave it to the system.
void sync_folder(const fs::path& folder, const Saving& saving) {
  const Descriptor fd(retried([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!fd.open() && errno == EACCES) return;
  saving.step(fd.get(), "open the folder");
  if (::fsync(fd.get()) != 0 && errno != EINVAL && errno != ENOTSUP) saving.fail(errno, "fsync the folder");
}

// The system follows no such link (fs.protected_symlinks); here links are followed one by one.
void refuse_planted(const fs::path& path, const fs::path& link) {
  struct stat is {
  }, folder{};
  if (::lstat(link.c_str(), &is) != 0 || ::stat(folder_of(link).c_str(), &folder) != 0) return;
  const bool all_write = (folder.st_mode & S_ISVTX) && (folder.st_mode & S_IWOTH);
  if (all_write && is.st_uid != ::geteuid() && is.st_uid != folder.st_uid)
    refuse(path, fmt::format("{} is a link that another user put into a folder which all may write", link.string()));
}

// As the file that it replaces. Its owner, too, where that may be given away: for root.
void take_permissions(int fd, const fs::path& path, const Saving& saving) {
  struct stat is {};
  if (::stat(path.c_str(), &is) != 0) return;
  const bool is_its_owner = ::geteuid() == is.st_uid || ::fchown(fd, is.st_uid, is.st_gid) == 0;
  saving.step(::fchmod(fd, is.st_mode & (is_its_owner ? 07777 : 0777)), "set its permissions");
}

}  // namespace

std::string what_is_there(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? "what was saved before is intact" : "nothing is saved there";
}

fs::path place_of(const fs::path& path, const std::string& needs) {
  if (path.empty()) throw Error(ErrorKind::usage, needs + " needs a file name");
  std::error_code ignored;  // what cannot be examined will be explained when it is written
  fs::path place = fs::absolute(path, ignored);
  if (place.empty()) place = path;  // this process's folder was removed
  constexpr int max_links = 40;
  for (int links = 0; fs::is_symlink(place, ignored); ++links) {
    if (links == max_links) refuse(path, "is a link to a link, without end");
    refuse_planted(path, place);
    place = place.parent_path() / fs::read_symlink(place, ignored);  // an absolute target replaces all before it
  }
  if (fs::is_directory(place, ignored) || !place.has_filename())
    refuse(path, fmt::format("is a folder; {} needs a file name", needs));
  return place;
}

void refuse_protected(const fs::path& path) {
  struct stat is {};
  if (::stat(path.c_str(), &is) != 0) return;
  // Root may write everything, and what nobody may write is not meant to be.
  if ((is.st_mode & 0222) == 0 || ::access(path.c_str(), W_OK) != 0) refuse(path, "is write-protected");
}

fs::path beside(const fs::path& path, const char* suffix) {
  fs::path other = path;
  other += suffix;
  return other;
}

fs::path hidden_beside(const fs::path& path, const std::string& what) {
  return path.parent_path() / fmt::format(".{}.{}", path.filename().string(), what);
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

fs::path scratch_of(const fs::path& path, const std::string& tmp) { return hidden_beside(path, "npgpu-" + tmp); }

Unfinished::~Unfinished() {
  if (!kept_ && !path_.empty()) ::unlink(path_.c_str());
}

void replace_file(const fs::path& path, std::span<const std::byte> bytes, const std::string& tmp) {
  Saving saving(path, bytes.size());
  const fs::path scratch = scratch_of(path, tmp), folder = folder_of(path);
  const EndingSignalsHeld held;
  if (::unlink(scratch.c_str()) != 0 && errno != ENOENT) saving.fail(errno, "remove an old temporary file");

  // A file without a name is gone with its process, whatever that dies of.
  Descriptor fd(retried([&] { return ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666); }));
  const bool has_no_name = fd.open();
  if (!has_no_name) {
    constexpr int how = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    fd = Descriptor(retried([&] { return ::open(scratch.c_str(), how, 0666); }));
    saving.step(fd.get(), "create a temporary file");
  }
  Unfinished unfinished(scratch);
  take_permissions(fd.get(), path, saving);

  if (const int error = process::write_all(fd.get(), bytes)) saving.fail(error, "write");
  saving.step(::fsync(fd.get()), "fsync");
  if (has_no_name) {
    const std::string now = fmt::format("/proc/self/fd/{}", fd.get());
    saving.step(::linkat(AT_FDCWD, now.c_str(), AT_FDCWD, scratch.c_str(), AT_SYMLINK_FOLLOW), "name it");
  }
  saving.step(::close(fd.release()), "close");  // NFS reports a full quota here
  saving.step(::rename(scratch.c_str(), path.c_str()), "rename");
  unfinished.keep();
  saving.is_in_place = true;
  sync_folder(folder, saving);
}

}  // namespace npgpu::files

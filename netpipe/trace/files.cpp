#include "netpipe/trace/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <new>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "netpipe/process/child.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::trace {

namespace fs = std::filesystem;

void refuse(const fs::path& path, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", path.string(), why));
}

fs::path place_of_trace(const fs::path& path) {
  const fs::path place = files::place_of(path, "the trace");
  std::error_code ignored;
  const fs::file_status status = fs::status(place, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status)) refuse(path, "is not a plain file");
  return place;
}

namespace {

// HDF5's signature stands at 0, or behind a user's block of 512 bytes or a power of two times that.
bool is_hdf5(int fd, std::uintmax_t size) {
  constexpr std::array<unsigned char, 8> signature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  std::array<unsigned char, 8> found{};
  for (std::uintmax_t at = 0; at + signature.size() <= size; at = at == 0 ? 512 : 2 * at)
    if (::pread(fd, found.data(), found.size(), static_cast<off_t>(at)) == static_cast<ssize_t>(found.size()) &&
        found == signature)
      return true;
  return false;
}

}  // namespace

bool is_hdf5(const fs::path& path) {
  const Descriptor fd(retried([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  struct stat status {};
  return fd.open() && ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         is_hdf5(fd.get(), static_cast<std::uintmax_t>(status.st_size));
}

std::vector<std::byte> read_file(const fs::path& path) {
  const auto refuse = [&](const std::string& why) { trace::refuse(path, why); };
  // Non-blocking: a named pipe must not make us wait for a writer.
  const Descriptor fd(retried([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  if (!fd.open()) refuse(errno == ENOENT ? "there is no such file" : "cannot be opened: " + system_text(errno));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) refuse("cannot be examined: " + system_text(errno));
  if (S_ISDIR(status.st_mode)) refuse("is a folder, not a trace");
  if (!S_ISREG(status.st_mode)) refuse("is not a plain file");
  if (status.st_size == 0) refuse("is empty");
  const auto size = static_cast<std::uintmax_t>(status.st_size);
  if (size > max_trace_bytes) refuse(fmt::format("has {} bytes, too many for a trace", size));
  constexpr std::uintmax_t large = 16 << 20;  // memory is taken for a trace, and not for whatever is called so
  if (size > large && !is_hdf5(fd.get(), size)) refuse("is not an HDF5 file");

  std::vector<std::byte> bytes;
  try {
    bytes.resize(size);
  } catch (const std::bad_alloc&) {
    refuse(fmt::format("has {} bytes, more than there is memory for", size));
  }
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = retried([&] { return ::read(fd.get(), bytes.data() + have, bytes.size() - have); });
    if (got < 0) refuse("cannot be read: " + system_text(errno));
    if (got == 0) break;  // it shrank meanwhile; what is missing will be noticed
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

void try_folder(const fs::path& path) {
  const fs::path scratch = files::scratch_of(path);
  const auto refuse = [&](const std::string& what) {
    const int error = errno;
    throw Error(ErrorKind::usage, fmt::format("{}: cannot {} in the folder {}: {}", path.string(), what,
                                              folder_of(path).string(), system_text(error)));
  };
  if (::unlink(scratch.c_str()) != 0 && errno != ENOENT) refuse("remove an old temporary file");
  const Descriptor fd(retried([&] { return ::open(scratch.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); }));
  if (!fd.open()) refuse("create a file");
  if (::unlink(scratch.c_str()) != 0) refuse("remove a file");
}

namespace {

// What a lock says: "npgpu process 4711 on node17 started 5e0c...:81234"
struct Holder {
  long pid = 0;
  std::string host;
  std::string start;

  static Holder self() { return {::getpid(), process::host_name(), process::start_of(::getpid())}; }
  static std::optional<Holder> named_in(int fd) {
    std::array<char, 1024> text{};
    if (::pread(fd, text.data(), text.size() - 1, 0) <= 0) return std::nullopt;
    std::array<char, 256> host{}, start{};
    long pid = 0;
    const auto form = "npgpu process %ld on %255s started %255s";
    if (std::sscanf(text.data(), form, &pid, host.data(), start.data()) != 3) return std::nullopt;
    return Holder{pid, host.data(), start.data()};
  }
  std::string signature() const {
    return fmt::format("npgpu {} started {}\n", text(), start.empty() ? "unknown" : start);
  }
  std::string text() const { return fmt::format("process {} on {}", pid, host); }
  bool is_here() const { return host == process::host_name(); }
  bool certainly_gone() const {
    if (!is_here()) return false;
    if (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) return true;
    const std::string now = process::start_of(pid);  // another process may have got its number
    return start != "unknown" && !now.empty() && now != start;
  }
};

enum class Outcome { locked, held, no_locks };
Outcome try_lock(int fd) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
#ifdef F_OFD_SETLK
  // By open file, not by process: two writers in one process exclude each other, and closing some other descriptor of
  // the file does not release it.
  const int command = F_OFD_SETLK;
#else
  const int command = F_SETLK;
#endif
  if (::fcntl(fd, command, &whole) == 0) return Outcome::locked;
  return errno == EAGAIN || errno == EACCES ? Outcome::held : Outcome::no_locks;
}

// False if the name meanwhile stands for another file, or none: its last holder removed it.
bool still_named(int fd, const fs::path& file) {
  struct stat opened {
  }, named{};
  return ::fstat(fd, &opened) == 0 && ::stat(file.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

}  // namespace

Lock::Lock(const fs::path& path) : path_(path), file_(beside(path, ".lock")) {
  constexpr int max_races = 1000;
  for (int race = 0; race < max_races; ++race) {
    if (create()) return;
    take_away();
  }
  refuse("cannot lock " + file_.string() + ": others take and leave it all the time");
}

bool Lock::create() {
  struct stat there {};
  if (::lstat(file_.c_str(), &there) == 0) return false;
  // Where a file needs a name from its beginning, it has one that nobody looks for.
  fs::path scratch;
  Descriptor fd(::open(folder_of(path_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666));
  if (!fd.open()) {
    scratch = hidden_beside(path_, fmt::format("npgpu-lock-{}", ::getpid()));
    fd = Descriptor(::open(scratch.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (!fd.open()) refuse(why_not_opened(errno));
  }
  const Unfinished unfinished(scratch);
  const std::string text = Holder::self().signature();
  if (const int error = process::write_all(fd.get(), std::as_bytes(std::span(text))))
    refuse(fmt::format("cannot write {}: {}", file_.string(), system_text(error)));
  try_lock(fd.get());  // nobody else knows the file; where there are no locks, its name will do
  const std::string now = scratch.empty() ? fmt::format("/proc/self/fd/{}", fd.get()) : scratch.string();
  if (::linkat(AT_FDCWD, now.c_str(), AT_FDCWD, file_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    if (errno == EEXIST) return false;
    // A file system without hard links.
    const int error = errno;
    if (scratch.empty() || ::renameat2(AT_FDCWD, now.c_str(), AT_FDCWD, file_.c_str(), RENAME_NOREPLACE) != 0) {
      if (errno == EEXIST) return false;
      refuse(why_not_opened(error));
    }
  }
  fd_ = std::move(fd);
  return true;
}

bool Lock::take_away() {
  // Non-blocking: a named pipe must not make us wait.
  const Descriptor fd(::open(file_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.open() && errno == ENOENT) return false;  // released in between
  if (!fd.open()) refuse(why_not_opened(errno));
  const std::optional<Holder> holder = Holder::named_in(fd.get());
  if (!holder)
    refuse(fmt::format("needs the name {} for its lock, and that file is not one; move it elsewhere", file_.string()));
  const Outcome outcome = try_lock(fd.get());
  if (outcome == Outcome::held) refuse("is being written by " + holder->text());
  if (outcome == Outcome::no_locks && !holder->certainly_gone())
    refuse(fmt::format("is being written by {}; this file system has no locks, so if that run is over, remove {}{}",
                       holder->text(), file_.string(), holder->is_here() ? "" : " on any node that sees it"));
  return still_named(fd.get(), file_) && ::unlink(file_.c_str()) == 0;
}

std::string Lock::why_not_opened(int error) const {
  const std::string folder = folder_of(path_).string();
  std::error_code ignored;
  if (error == ENOENT && fs::is_directory(folder, ignored))
    return "no file can be created in " + folder;  // as in /proc
  if (error == ENOENT) return "the folder " + folder + " does not exist";
  if (error == ENOTDIR) return folder + " is not a folder";
  if (error == EACCES || error == EROFS || error == EPERM)
    return fmt::format("no file can be created in {}: {}", folder, system_text(error));
  return fmt::format("cannot create {}: {}", file_.string(), system_text(error));
}

void Lock::refuse(const std::string& why) const {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", path_.string(), why));
}

Lock::~Lock() {
  // While it is still locked: whoever opened it meanwhile finds the name gone and tries again.
  if (still_named(fd_.get(), file_)) ::unlink(file_.c_str());
}

}  // namespace npgpu::trace

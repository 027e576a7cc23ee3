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
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include "npgpu/error.hpp"

namespace npgpu::trace {

namespace fs = std::filesystem;

namespace {

constexpr const char* scratch_name = "npgpu-tmp";

// Calls again what a signal interrupted.
template <class Call> auto retried(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
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
    throw Error(ErrorKind::failed, fmt::format("{}: cannot save {} bytes ({}): {}; {}", path_.string(), bytes_, what,
                                               system_text(error), what_is_there(path_)));
  }

 private:
  const fs::path& path_;
  std::size_t bytes_;
};

// A rename is durable when its folder is. Some file systems have no fsync for folders, and a folder that may be
// written but not read cannot be opened: both leave it to the system.
void sync_folder(const fs::path& folder, const Saving& saving) {
  const Descriptor fd(retried([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!fd.open() && errno == EACCES) return;
  saving.step(fd.get(), "open the folder");
  if (::fsync(fd.get()) != 0 && errno != EINVAL && errno != ENOTSUP) saving.fail(errno, "fsync the folder");
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

std::string what_is_there(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? "what was saved before is intact" : "nothing is saved there";
}

void refuse(const fs::path& path, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", path.string(), why));
}

fs::path place_of(const fs::path& path) {
  if (path.empty()) throw Error(ErrorKind::usage, "the trace needs a file name");
  std::error_code ignored;  // what cannot be examined will be explained by the lock
  fs::path place = fs::absolute(path);
  constexpr int max_links = 40;
  for (int links = 0; fs::is_symlink(place, ignored); ++links) {
    if (links == max_links) refuse(path, "is a link to a link, without end");
    place = place.parent_path() / fs::read_symlink(place, ignored);  // an absolute target replaces all before it
  }
  const fs::file_status status = fs::status(place, ignored);
  if (fs::is_directory(status) || !place.has_filename()) refuse(path, "is a folder; the trace needs a file name");
  if (fs::exists(status) && !fs::is_regular_file(status)) refuse(path, "is not a plain file");
  return place;
}

std::string system_text(int error) { return std::generic_category().message(error); }

fs::path beside(const fs::path& path, const char* suffix) {
  fs::path other = path;
  other += suffix;
  return other;
}

fs::path hidden_beside(const fs::path& path, const std::string& what) {
  return path.parent_path() / fmt::format(".{}.{}", path.filename().string(), what);
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

std::vector<std::byte> read_file(const fs::path& path) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::usage, fmt::format("{}: {}", path.string(), why));
  };
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

Unfinished::~Unfinished() {
  if (!kept_ && !path_.empty()) ::unlink(path_.c_str());
}

FileSizeSignalBlocked::FileSizeSignalBlocked() {
  ::sigemptyset(&signal_);
  ::sigaddset(&signal_, SIGXFSZ);
  ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
}

FileSizeSignalBlocked::~FileSizeSignalBlocked() {
  const int error = errno;
  if (::sigismember(&before_, SIGXFSZ) == 0) {
    const timespec at_once{};
    while (::sigtimedwait(&signal_, nullptr, &at_once) > 0) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

void replace_file(const fs::path& path, std::span<const std::byte> bytes) {
  const Saving saving(path, bytes.size());
  const fs::path scratch = hidden_beside(path, scratch_name);
  if (::unlink(scratch.c_str()) != 0 && errno != ENOENT) saving.fail(errno, "remove an old temporary file");

  constexpr int how = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  Descriptor fd(retried([&] { return ::open(scratch.c_str(), how, 0666); }));
  saving.step(fd.get(), "create a temporary file");
  Unfinished unfinished(scratch);
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0)
    saving.step(::fchmod(fd.get(), status.st_mode & 07777), "set its permissions");

  const FileSizeSignalBlocked blocked;
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t put = retried([&] { return ::write(fd.get(), bytes.data() + written, bytes.size() - written); });
    saving.step(put, "write");
    if (put == 0) saving.fail(EIO, "write");
    written += static_cast<std::size_t>(put);
  }
  saving.step(::fsync(fd.get()), "fsync");
  saving.step(::close(fd.release()), "close");  // NFS reports a full quota here
  saving.step(::rename(scratch.c_str(), path.c_str()), "rename");
  unfinished.keep();
  sync_folder(folder_of(path), saving);
}

void try_folder(const fs::path& path) {
  const fs::path scratch = hidden_beside(path, scratch_name);
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

std::string this_host() {
  std::array<char, 256> text{};
  if (::gethostname(text.data(), text.size() - 1) != 0) return "unknown";
  return text.data();
}

// The content of a small file that the kernel makes; empty if there is none.
std::string told_by_kernel(const std::string& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> text{};
  const ssize_t length = fd.open() ? ::read(fd.get(), text.data(), text.size()) : -1;
  return {text.data(), length < 0 ? 0 : static_cast<std::size_t>(length)};
}

// When a process began, as no other process of any boot of this machine did: "<boot id>:<ticks since boot>". Empty if
// there is no such process, or it cannot be asked.
std::string start_of(long pid) {
  const std::string stat = told_by_kernel(fmt::format("/proc/{}/stat", pid));
  const std::size_t name_ends = stat.rfind(')');
  std::string boot = told_by_kernel("/proc/sys/kernel/random/boot_id");
  if (name_ends == std::string::npos || boot.empty()) return {};
  std::istringstream fields(stat.substr(name_ends + 1));
  std::string field;
  for (int number = 3; number <= 22; ++number) fields >> field;
  boot.erase(boot.find_last_not_of('\n') + 1);
  return boot + ":" + field;
}

// What a lock says: "npgpu process 4711 on node17 started 5e0c...:81234"
struct Holder {
  long pid = 0;
  std::string host;
  std::string start;

  static Holder self() { return {::getpid(), this_host(), start_of(::getpid())}; }
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
  bool is_here() const { return host == this_host(); }
  bool certainly_gone() const {
    if (!is_here()) return false;
    if (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) return true;
    const std::string now = start_of(pid);  // another process may have got its number
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
  {
    const FileSizeSignalBlocked blocked;
    if (::pwrite(fd.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
      refuse(fmt::format("cannot write {}: {}", file_.string(), system_text(errno)));
  }
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
  if (error == ENOENT) return "the folder " + folder + " does not exist";
  if (error == ENOTDIR) return folder + " is not a folder";
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

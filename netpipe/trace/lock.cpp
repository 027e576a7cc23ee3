#include "netpipe/trace/lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

#include "npgpu/error.hpp"

namespace npgpu::trace {

namespace fs = std::filesystem;

namespace {

std::string this_host() {
  std::array<char, 256> text{};
  if (::gethostname(text.data(), text.size() - 1) != 0) return "unknown";
  return text.data();
}

// "process 4711 on node17"
struct Holder {
  long pid = 0;
  std::string host;

  static Holder self() { return {::getpid(), this_host()}; }
  static Holder named_in(int fd) {
    std::array<char, 512> text{};
    if (::pread(fd, text.data(), text.size() - 1, 0) <= 0) return {};
    std::array<char, 256> host{};
    Holder holder;
    if (std::sscanf(text.data(), "process %ld on %255s", &holder.pid, host.data()) != 2) return {};
    holder.host = host.data();
    return holder;
  }
  bool known() const { return pid > 0; }
  std::string text() const { return known() ? fmt::format("process {} on {}", pid, host) : "another process"; }
  bool certainly_dead() const {
    return known() && host == this_host() && ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
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

void sign(int fd) {
  const std::string text = Holder::self().text() + "\n";
  // Only for messages: a full disk is no reason to stop here.
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, text.data(), text.size(), 0) < 0) return;
}

}  // namespace

Lock::Lock(const fs::path& path) : path_(path), file_(beside(path, ".lock")) {
  constexpr int max_races = 1000;
  for (int race = 0; race < max_races; ++race)
    if (attempt()) return;
  refuse("cannot lock " + file_.string() + ": others take and leave it all the time");
}

bool Lock::attempt() {
  constexpr int how = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  bool created = true;
  Descriptor fd(::open(file_.c_str(), how | O_CREAT | O_EXCL, 0666));
  if (!fd.open() && errno == EEXIST) {
    created = false;
    fd = Descriptor(::open(file_.c_str(), how));
    if (!fd.open() && errno == ENOENT) return false;  // released in between
  }
  if (!fd.open()) refuse(why_not_opened(errno));

  const Outcome outcome = try_lock(fd.get());
  if (outcome == Outcome::held) refuse("is being written by " + Holder::named_in(fd.get()).text());
  if (outcome == Outcome::no_locks && !created) {
    const Holder holder = Holder::named_in(fd.get());
    if (!holder.certainly_dead())
      refuse(fmt::format("is being written by {}; if that run is over, remove {}", holder.text(), file_.string()));
    if (still_named(fd.get(), file_)) ::unlink(file_.c_str());
    return false;
  }
  if (!still_named(fd.get(), file_)) return false;
  sign(fd.get());
  fd_ = std::move(fd);
  return true;
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

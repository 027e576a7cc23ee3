#include "netpipe/trace/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include "npgpu/error.hpp"

namespace npgpu::trace {

namespace fs = std::filesystem;

namespace {

constexpr const char* scratch_name = "npgpu-tmp";

// Calls again what a signal interrupted.
template <class Call>
auto retried(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// A step of saving: its result, or an Error with the reason.
class Saving {
 public:
  Saving(const fs::path& path, std::size_t bytes) : path_(path), bytes_(bytes) {}
  template <class Result>
  Result step(Result result, const char* what) const {
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

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

std::string what_is_there(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? "what was saved before is intact" : "nothing is saved there";
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
  sigset_t signal;
  ::sigemptyset(&signal);
  ::sigaddset(&signal, SIGXFSZ);
  ::pthread_sigmask(SIG_BLOCK, &signal, &before_);
}

FileSizeSignalBlocked::~FileSizeSignalBlocked() {
  const int error = errno;
  if (::sigismember(&before_, SIGXFSZ) == 0) {
    sigset_t signal;
    ::sigemptyset(&signal);
    ::sigaddset(&signal, SIGXFSZ);
    const timespec at_once{};
    while (::sigtimedwait(&signal, nullptr, &at_once) > 0) {
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

}  // namespace npgpu::trace

// Many traces, read by several processes. Each takes the next file that nobody has taken, and says over its pipe which
// one it is on: a process that dies is known by the file that it died of.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <vector>

#include "netpipe/trace/decode.hpp"
#include "netpipe/trace/files.hpp"
#include "npgpu/error.hpp"

namespace npgpu::trace {

namespace {

using Paths = std::span<const std::filesystem::path>;

// The number of the next file, which all processes share.
class NextFile {
 public:
  NextFile() {
    void* const page = ::mmap(nullptr, sizeof(Counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw Error(ErrorKind::failed, "no memory to share: " + system_text(errno));
    counter_ = new (page) Counter(0);
  }
  ~NextFile() { ::munmap(counter_, sizeof(Counter)); }
  NextFile(const NextFile&) = delete;
  NextFile& operator=(const NextFile&) = delete;
  std::size_t take() { return counter_->fetch_add(1); }
  std::size_t taken() const { return counter_->load(); }

 private:
  using Counter = std::atomic<std::size_t>;
  static_assert(Counter::is_always_lock_free);
  Counter* counter_;
};

enum class Says : std::uint32_t { begins, made, failed };
struct Head {
  Says what = Says::begins;
  std::uint32_t file = 0;
  std::uint64_t bytes = 0;  // that follow
};

// ---- the child ----

void write_all(int pipe, const char* from, std::size_t count) {
  while (count) {
    const ssize_t put = ::write(pipe, from, count);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) ::_exit(1);  // nobody listens any more
    from += put;
    count -= static_cast<std::size_t>(put);
  }
}

void say(int pipe, Says what, std::size_t file, const std::string& text = {}) {
  const Head head{what, static_cast<std::uint32_t>(file), text.size()};
  std::array<char, sizeof head> raw{};
  std::memcpy(raw.data(), &head, sizeof head);
  write_all(pipe, raw.data(), raw.size());
  write_all(pipe, text.data(), text.size());
}

// Without the file's name in front, which the caller knows.
std::string without_name(std::string why, const std::filesystem::path& path) {
  const std::string front = path.string() + ": ";
  return why.starts_with(front) ? why.substr(front.size()) : why;
}

[[noreturn]] void read_files(int mouth, Paths paths, const Digest& digest, NextFile& next) {
  const int pipe = become_reader(mouth);
  for (std::size_t i = next.take(); i < paths.size(); i = next.take()) {
    say(pipe, Says::begins, i);
    try {
      const auto bytes = read_file(paths[i]);
      limit_reader(patience_for(bytes.size()));
      const Contents contents = decode(bytes, paths[i].string());
      if (contents.runs.size() != 1)
        throw Error(
            ErrorKind::usage,
            fmt::format("is a merged file of {} runs: name the traces that it was merged from", contents.count));
      say(pipe, Says::made, i, digest(contents.runs.front(), bytes));
    } catch (const std::exception& e) {
      say(pipe, Says::failed, i, without_name(e.what(), paths[i]));
    }
  }
  ::_exit(0);  // no destructors: what they would flush is the parent's
}

// ---- the parent ----

class Reader {
 public:
  Reader(Paths paths, const Digest& digest, NextFile& next, const std::vector<Reader>& others) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
    ear_ = Descriptor(ends[0]);
    const Descriptor mouth(ends[1]);  // closed here at once: its end is then the child's end
    child_ = ::fork();
    if (child_ == 0) {
      // Where few descriptors are allowed, the pipes of the others would leave none for a file.
      for (const Reader& other : others) ::close(other.ear());
      ::close(ear_.release());
      read_files(mouth.get(), paths, digest, next);
    }
    if (child_ < 0) ear_ = Descriptor();
  }
  bool is_there() const { return ear_.open(); }
  int ear() const { return ear_.get(); }

  // Takes what has come; false at the end.
  bool listen(std::vector<ReadDigest>& all, std::size_t& done) {
    std::array<char, 65536> some;
    const ssize_t got = ::read(ear_.get(), some.data(), some.size());
    if (got < 0 && errno == EINTR) return true;
    if (got <= 0) return false;
    heard_.append(some.data(), static_cast<std::size_t>(got));
    std::size_t at = 0;
    for (Head head; heard_.size() - at >= sizeof head;) {
      std::memcpy(&head, heard_.data() + at, sizeof head);
      if (heard_.size() - at - sizeof head < head.bytes) break;
      at += sizeof head;
      take(head, heard_.substr(at, head.bytes), all, done);
      at += head.bytes;
    }
    heard_.erase(0, at);
    return true;
  }

  // After its end: what it died of, if it did not come to its end.
  void bury(std::vector<ReadDigest>& all, std::size_t& done) {
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    if (!on_) return;
    const bool by_signal = WIFSIGNALED(status);
    const std::string how = !by_signal                    ? "it ends without a word"
                            : WTERMSIG(status) == SIGXCPU ? "it does not end"
                                                          : ::strsignal(WTERMSIG(status));
    all[*on_].error = "is damaged: HDF5 fails on it (" + how + ")";
    ++done;
  }

 private:
  void take(const Head& head, std::string text, std::vector<ReadDigest>& all, std::size_t& done) {
    if (head.what == Says::begins) {
      on_ = head.file;
      return;
    }
    (head.what == Says::made ? all[head.file].bytes : all[head.file].error) = std::move(text);
    on_.reset();
    ++done;
  }

  Descriptor ear_;
  pid_t child_ = -1;
  std::string heard_;
  std::optional<std::size_t> on_;  // the file that it is reading
};

}  // namespace

}  // namespace npgpu::trace

std::vector<npgpu::ReadDigest> npgpu::read_many(std::span<const std::filesystem::path> paths, const Digest& digest,
                                                unsigned processes, const std::function<void(std::size_t)>& done) {
  using namespace trace;
  std::vector<ReadDigest> all(paths.size());
  if (paths.empty()) return all;
  NextFile next;
  std::vector<Reader> readers;
  const auto add_reader = [&] {
    if (Reader one(paths, digest, next, readers); one.is_there()) readers.push_back(std::move(one));
  };
  for (unsigned i = 0; i < std::max(1u, processes) && i < paths.size(); ++i) add_reader();
  if (readers.empty())
    throw Error(ErrorKind::failed,
                "cannot start a process that reads traces: " + system_text(errno) + " (see ulimit -n and ulimit -u)");
  std::size_t count = 0, said = 0;
  while (!readers.empty()) {
    std::vector<pollfd> ears;
    for (const Reader& one : readers) ears.push_back({one.ear(), POLLIN, 0});
    if (::poll(ears.data(), ears.size(), -1) < 0 && errno != EINTR)
      throw Error(ErrorKind::failed, "cannot wait for the processes that read traces: " + system_text(errno));
    for (std::size_t i = ears.size(); i-- > 0;) {
      if (!(ears[i].revents & (POLLIN | POLLHUP | POLLERR))) continue;
      if (readers[i].listen(all, count)) continue;
      readers[i].bury(all, count);
      readers.erase(readers.begin() + static_cast<std::ptrdiff_t>(i));
      if (next.taken() < paths.size()) add_reader();
    }
    if (done && count != said) done(said = count);
  }
  for (ReadDigest& one : all)
    if (one.bytes.empty() && one.error.empty()) one.error = "was not read: the process that was to read it ended";
  return all;
}

// Many traces, read by several processes. Each takes the next file that nobody has taken, and says over its pipe which
// one it is on: a process that dies is known by the file that it died of.
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <exception>
#include <optional>
#include <vector>

#include "netpipe/process/pipe.hpp"
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

enum Says : std::uint32_t { file_begun, file_read, file_refused };  // of a message; its number is the file's

// ---- the child ----

// Without the file's name in front, which the caller knows.
std::string without_name(std::string why, const std::filesystem::path& path) {
  const std::string front = path.string() + ": ";
  return why.starts_with(front) ? why.substr(front.size()) : why;
}

process::Message read_one(std::uint32_t file, const std::filesystem::path& path, const Digest& digest) {
  try {
    const auto bytes = read_file(path);
    process::limit_this_process(limits_for(bytes.size()));
    const Contents contents = decode(bytes, path.string());
    if (contents.runs.size() != 1)
      throw Error(ErrorKind::usage,
                  fmt::format("is a merged file of {} runs: name the traces that it was merged from", contents.count));
    return {file_read, file, digest(contents.runs.front(), bytes)};
  } catch (const std::exception& e) {
    return {file_refused, file, without_name(e.what(), path)};
  }
}

void read_files(int pipe, Paths paths, const Digest& digest, NextFile& next) {
  for (std::size_t i = next.take(); i < paths.size(); i = next.take()) {
    const auto file = static_cast<std::uint32_t>(i);
    // Where one is not taken, nobody listens any more.
    if (!process::send(pipe, {file_begun, file}) || !process::send(pipe, read_one(file, paths[i], digest))) return;
  }
}

// ---- the parent ----

class Reader {
 public:
  Reader(Paths paths, const Digest& digest, NextFile& next, const std::vector<Reader>& others)
      : forked_([&](int pipe) {
          // Where few descriptors are allowed, the pipes of the others would leave none for a file.
          for (const Reader& one : others) ::close(one.descriptor());
          read_files(pipe, paths, digest, next);
        }),
        inbox_(std::move(forked_.read_end)) {}
  int descriptor() const { return inbox_.descriptor(); }

  // Takes what has come; false at the end.
  bool listen(std::vector<ReadDigest>& all, std::size_t& done) {
    if (!inbox_.read_some()) return false;
    while (auto message = inbox_.next()) {
      if (message->number >= all.size()) continue;  // HDF5 may have written over the child's memory
      on_ = message->number;
      if (message->kind == file_begun) continue;
      (message->kind == file_read ? all[*on_].bytes : all[*on_].error) = std::move(message->text);
      on_.reset();
      ++done;
    }
    return true;
  }

  // After its end: what it died of, if it did not come to its end.
  void reap(std::vector<ReadDigest>& all, std::size_t& done) {
    const process::Ending ending = forked_.child.wait();
    if (!on_) return;
    all[*on_].error = died_of(ending.text());
    ++done;
  }

 private:
  process::ForkedChild forked_;
  process::Inbox inbox_;
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
  std::string refused;
  const auto add_reader = [&] {
    try {
      readers.push_back(Reader(paths, digest, next, readers));
    } catch (const Error& e) {
      refused = e.what();
    }
  };
  for (unsigned i = 0; i < std::max(1u, processes) && i < paths.size(); ++i) add_reader();
  if (readers.empty())
    throw Error(ErrorKind::failed, "no process can read traces: " + refused + " (see ulimit -n and ulimit -u)");
  std::size_t count = 0, said = 0;
  while (!readers.empty()) {
    std::vector<pollfd> ends;
    for (const Reader& one : readers) ends.push_back({one.descriptor(), POLLIN, 0});
    if (::poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR)
      throw Error(ErrorKind::failed, "cannot wait for the processes that read traces: " + system_text(errno));
    for (std::size_t i = ends.size(); i-- > 0;) {
      if (!(ends[i].revents & (POLLIN | POLLHUP | POLLERR))) continue;
      if (readers[i].listen(all, count)) continue;
      readers[i].reap(all, count);
      readers.erase(readers.begin() + static_cast<std::ptrdiff_t>(i));
      if (next.taken() < paths.size()) add_reader();
    }
    if (done && count != said) done(said = count);
  }
  for (ReadDigest& one : all)
    if (one.bytes.empty() && one.error.empty()) one.error = "was not read: the process that was to read it ended";
  return all;
}

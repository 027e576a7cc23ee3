// Many traces, read by several processes. Each takes the next file that nobody has taken, and says over its pipe which
// one it is on: a process that dies is known by the file that it died of.
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "netpipe/process/descriptor.hpp"
#include "netpipe/trace/decode.hpp"
#include "netpipe/trace/files.hpp"
#include "netpipe/trace/hdf5.hpp"
#include "npgpu/model/result.hpp"
#include "npgpu/vocabulary/trace.hpp"
#include "npgpu/vocabulary/units.hpp"

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
    Contents contents = decode(bytes, path.string());
    for (Trace& run : contents.runs) set_doubts(run), set_drifts(run);  // intervals are those of read_trace()
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

namespace npgpu {

// Several traces in one file. Every input is read and checked before anything is written.

namespace fs = std::filesystem;

namespace {

class Merged {
  static constexpr std::size_t growth = 16 << 20;  // of a file that may have a gigabyte, at a time

 public:
  explicit Merged(const TraceRoot& by) : file_(trace::new_image(growth)) {
    trace::put(file_, "schema_name", std::string(trace::merged_name));
    trace::put(file_, "schema_version", fmt::format("{}.{}", trace::merged_version_major, trace::merged_version_minor));
    trace::put(file_, "tool_version", by.tool_version);
    trace::put(file_, "git_commit", by.git_commit);
    trace::put(file_, "argv", by.argv);
    runs_ = trace::create_group(file_, trace::runs_name);
  }

  // All runs of a file, whose bytes and contents these are. Tables keep their packing.
  void add(std::span<const std::byte> bytes, const trace::Contents& contents, const std::string& name) {
    const trace::Handle image = trace::open_image(bytes);
    for (std::size_t i = 0; i < contents.count; ++i)
      add_run(image, contents.is_merged ? fmt::format("/{}/{}", trace::runs_name, trace::group_name(i)) : "/", name);
  }

  trace::Bytes image() const {
    trace::Bytes bytes;
    trace::take_image(file_, bytes);
    return bytes;
  }
  std::uint64_t size() const { return trace::image_size(file_); }

 private:
  void add_run(hid_t image, const std::string& from, const std::string& name) {
    const std::string to = trace::group_name(count_++);
    trace::done(H5Ocopy(image, from.c_str(), runs_, to.c_str(), H5P_DEFAULT, H5P_DEFAULT), "copy " + from);
    const trace::Handle run = trace::open_group(runs_, "/runs", to);
    if (!trace::has(run, "merged_from")) trace::put(run, "merged_from", name);
  }

  trace::Handle file_, runs_;
  std::size_t count_ = 0;
};

class Merge {
 public:
  Merge(const TraceRoot& by, const MergeOptions& options) : by_(by), options_(options), merged_(by) {}

  // Throws Error(usage) and adds nothing if the file or one of its runs is refused.
  void add(const fs::path& path) {
    const trace::Bytes bytes = trace::read_file(path);
    const std::string file = path.string(), name = path.filename().string();
    const trace::DecodedFile handed = trace::in_child(bytes.size(), file, [&] {
      Merged alone(by_);
      alone.add(bytes, checked(bytes, path, Depth::whole), name);
      return trace::DecodedFile{checked(bytes, path, Depth::headers), alone.image()};
    });
    const trace::Contents& contents = handed.contents;
    merged_.add(handed.image, {{}, contents.count, true}, name);
    for (const Trace& run : contents.runs) known_.emplace(run.root.run_uuid, file);
  }

  trace::Bytes image(const fs::path& path) const {
    if (const auto size = merged_.size(); size > trace::max_trace_bytes)
      trace::refuse(path, fmt::format("would have {} bytes, more than npgpu reads: merge fewer traces", size));
    return merged_.image();
  }

 private:
  trace::Contents checked(std::span<const std::byte> bytes, const fs::path& path, Depth depth) const {
    trace::Contents contents = trace::decode(bytes, path.string(), {}, depth);
    std::set<std::string> here;
    for (const Trace& run : contents.runs) {
      const std::string& uuid = run.root.run_uuid;
      if (!run.root.complete && !options_.incomplete)
        trace::refuse(
            path,
            "is not complete: its run was stopped; --resume finishes it, and merge --incomplete takes what there is");
      if (const auto same = known_.find(uuid); same != known_.end())
        trace::refuse(path, fmt::format("holds the same run as {} (run_uuid {})", same->second, uuid));
      if (!here.insert(uuid).second) trace::refuse(path, fmt::format("holds run {} twice", uuid));
    }
    return contents;
  }

  const TraceRoot& by_;
  const MergeOptions options_;
  Merged merged_;
  std::map<std::string, std::string> known_;  // run_uuid and file
};

// The trace of one run. What nobody can read is none.
bool is_lone_trace(const fs::path& file) {
  if (!trace::is_hdf5(file)) return false;
  try {
    const trace::Bytes bytes = trace::read_file(file);
    const auto headers = [&] { return trace::DecodedFile{trace::decode(bytes, file.string(), {}, Depth::headers)}; };
    return !trace::in_child(bytes.size(), file.string(), headers).contents.is_merged;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

void merge_traces(const fs::path& path, std::span<const fs::path> traces, const TraceRoot& by, MergeOptions options) {
  const fs::path place = trace::place_of_trace(path);
  const trace::Lock lock(place);
  std::error_code ignored;
  if (is_lone_trace(place)) trace::refuse(path, "is a trace of one run, and is not replaced: name the new file first");
  if (fs::exists(place, ignored) && !options.replace) trace::refuse(path, "exists; --force replaces it");
  files::refuse_protected(place);
  trace::try_folder(place);
  std::vector<std::string> refused;
  try {
    Merge merge(by, options);
    for (const fs::path& one : traces) {
      try {
        merge.add(one);
      } catch (const Error& e) {
        if (e.kind() != ErrorKind::usage) throw;
        refused.emplace_back(e.what());
      }
    }
    if (refused.empty()) return files::replace_file(place, merge.image(path));
  } catch (const trace::FormatError& flaw) {
    throw Error(ErrorKind::failed, path.string() + ": " + flaw.what());
  }
  throw ListedError(ErrorKind::usage, refused.front(), {refused.begin() + 1, refused.end()});
}

}  // namespace npgpu

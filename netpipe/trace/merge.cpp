// Several traces in one file. Every input is read and checked before anything is written.
#include <fmt/format.h>

#include <map>
#include <set>
#include <string>

#include "netpipe/trace/decode.hpp"
#include "netpipe/trace/files.hpp"
#include "netpipe/trace/hdf5.hpp"
#include "npgpu/listed_error.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

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
        trace::refuse(path,
                      "is not complete: its run was stopped; --resume finishes it, and merge --incomplete takes "
                      "what there is");
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

// Order of the constructor: nothing is read before the lock is held, nothing written before everything was checked.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "netpipe/trace/checkpoint_policy.hpp"
#include "netpipe/trace/decode.hpp"
#include "netpipe/trace/document.hpp"
#include "netpipe/trace/files.hpp"
#include "netpipe/trace/lock.hpp"
#include "npgpu/clock.hpp"
#include "npgpu/error.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

namespace fs = std::filesystem;

namespace {

Seconds now() { return SteadyClock().now(); }

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", path.string(), why));
}

// Where the file really lies: absolute, because the program may change its folder; and behind a symbolic link, because
// the rename would replace the link.
fs::path place_of(const fs::path& path) {
  if (path.empty()) throw Error(ErrorKind::usage, "the trace needs a file name");
  std::error_code ignored;  // what cannot be examined will be explained by the lock
  const fs::path target = fs::is_symlink(path, ignored) ? fs::canonical(path, ignored) : fs::path();
  const fs::path place = target.empty() ? fs::absolute(path) : target;
  const fs::file_status status = fs::status(place, ignored);
  if (fs::is_directory(status) || !place.has_filename()) refuse(path, "is a folder; the trace needs a file name");
  if (fs::exists(status) && !fs::is_regular_file(status)) refuse(path, "is not a plain file");
  return place;
}

}  // namespace

struct TraceWriter::Impl {
  Impl(const fs::path& path, IfExists if_exists, const TraceRoot& root, const Provenance& provenance)
      : path_(place_of(path)), lock_(path_), policy_(now()) {
    std::error_code ignored;
    const bool exists = fs::exists(path_, ignored);
    if (exists && if_exists == IfExists::refuse) refuse(path, "exists; --force replaces it, --resume continues it");
    if (exists && ::access(path_.c_str(), W_OK) != 0) refuse(path, "is write-protected");
    trace::try_folder(path_);
    if (exists && if_exists == IfExists::resume) {
      const trace::Bytes bytes = trace::read_file(path_);
      const Trace loaded = trace::decode_guarded(bytes, path_.string());
      named([&] { document_.emplace(bytes, loaded, root, provenance); });
    } else {
      named([&] { document_.emplace(root, provenance); });
    }
  }

  // Everything that touches the document: its flaws get the file's name.
  template <class Change>
  void named(Change change) {
    try {
      change();
    } catch (const trace::FormatError& flaw) {
      throw Error(ErrorKind::failed, path_.string() + ": " + flaw.what());
    }
  }

  void save() {
    const Seconds begin = now();
    if (!document_->sound())
      throw Error(ErrorKind::failed,
                  path_.string() + ": is not saved, because adding to it failed; what was saved before is intact");
    named([&] { document_->take_image(image_); });
    trace::replace_file(path_, image_);
    policy_.saved(now() - begin, image_.size());
  }

  const fs::path path_;
  const trace::Lock lock_;
  std::optional<trace::Document> document_;  // always there once constructed
  trace::Bytes image_;                       // kept: its memory is needed again
  trace::CheckpointPolicy policy_;
};

TraceWriter::TraceWriter(fs::path path, IfExists if_exists, const TraceRoot& root, const Provenance& provenance)
    : impl_(std::make_unique<Impl>(path, if_exists, root, provenance)) {}

TraceWriter::~TraceWriter() = default;

template <class S>
std::size_t TraceWriter::begin(const S& header) {
  std::size_t index = 0;
  impl_->named([&] { index = impl_->document_->begin(header); });
  return index;
}

template <class S>
void TraceWriter::set_error(std::size_t index, const std::string& why) {
  impl_->named([&] { impl_->document_->set_error<S>(index, why); });
  impl_->policy_.added(now());
}

std::size_t TraceWriter::begin_sweep(const TransferSeries& header) { return begin(header); }
std::size_t TraceWriter::begin_probe(const ProbeSeries& header) { return begin(header); }
std::size_t TraceWriter::begin_streams(const JobSeries& header) { return begin(header); }

bool TraceWriter::has_point(std::size_t sweep, std::uint64_t bytes) const {
  bool has = false;
  impl_->named([&] { has = impl_->document_->has<TransferSeries>(sweep, bytes); });
  return has;
}

bool TraceWriter::has_shape(std::size_t probe, const Shape& shape) const {
  bool has = false;
  impl_->named([&] { has = impl_->document_->has<ProbeSeries>(probe, shape); });
  return has;
}

bool TraceWriter::has_job(std::size_t streams, const JobShape& job) const {
  bool has = false;
  impl_->named([&] { has = impl_->document_->has<JobSeries>(streams, job); });
  return has;
}

std::vector<JobShape> TraceWriter::jobs(std::size_t streams) const {
  std::vector<JobShape> all;
  impl_->named([&] {
    const auto& keys = impl_->document_->keys<JobSeries>(streams);
    all.assign(keys.begin(), keys.end());
  });
  return all;
}

void TraceWriter::add_point(std::size_t sweep, TransferPoint point, std::span<const TransferSample> samples) {
  impl_->named([&] { impl_->document_->add<TransferSeries>(sweep, point, samples); });
  impl_->policy_.added(now());
}

void TraceWriter::add_shape(std::size_t probe, ProbePoint point, std::span<const ProbeSample> samples) {
  impl_->named([&] { impl_->document_->add<ProbeSeries>(probe, point, samples); });
  impl_->policy_.added(now());
}

void TraceWriter::add_job(std::size_t streams, JobPoint point, std::span<const JobSample> samples) {
  impl_->named([&] { impl_->document_->add<JobSeries>(streams, point, samples); });
  impl_->policy_.added(now());
}

void TraceWriter::set_sweep_error(std::size_t sweep, const std::string& why) { set_error<TransferSeries>(sweep, why); }
void TraceWriter::set_probe_error(std::size_t probe, const std::string& why) { set_error<ProbeSeries>(probe, why); }
void TraceWriter::set_streams_error(std::size_t streams, const std::string& why) {
  set_error<JobSeries>(streams, why);
}

bool TraceWriter::checkpoint_if_due() {
  if (impl_->policy_.due(now(), impl_->document_->bytes())) impl_->save();
  return !impl_->policy_.unsaved();
}

void TraceWriter::checkpoint() { impl_->save(); }

void TraceWriter::finish() {
  impl_->named([&] { impl_->document_->set_complete(true); });
  impl_->save();
}

Seconds TraceWriter::time_saving() const { return impl_->policy_.spent(); }
std::uint64_t TraceWriter::checkpoints() const { return impl_->policy_.saves(); }

}  // namespace npgpu

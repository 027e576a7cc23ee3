#include "netpipe/trace/writer.hpp"

#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "netpipe/trace/decode.hpp"
#include "netpipe/trace/files.hpp"
#include "npgpu/vocabulary/device.hpp"

namespace npgpu::trace {

namespace {

void put_provenance(hid_t group, const Provenance& provenance) {
  for (const auto& [name, facts] : provenance) put(create_group(group, name), facts);
}

std::string version_text() { return fmt::format("{}.{}", version_major, version_minor); }

bool is_of_a_kind(const std::string& name) {
  bool found = false;
  for_each_kind([&]<class K>() { found = found || name == K::name; });
  return found;
}

// Everything in a group, also what only a later version knows. Tables of the groups that are series are packed anew.
enum class Level { root, kind, series };
void copy_group(hid_t from, hid_t to, Level level, Packing packing) {
  copy_attributes(from, to);
  for (const std::string& name : names_in(from)) {
    H5L_info_t link;
    done(H5Lget_info(from, name.c_str(), &link, H5P_DEFAULT), "look at '" + name + "'");
    if (link.type != H5L_TYPE_HARD)
      done(H5Lcopy(from, name.c_str(), to, name.c_str(), H5P_DEFAULT, H5P_DEFAULT), "copy link '" + name + "'");
    else if (level == Level::root && is_of_a_kind(name))
      copy_group(open_group(from, "/", name), create_group(to, name), Level::kind, packing);
    else if (level == Level::kind && name.find_first_not_of("0123456789") == std::string::npos)
      copy_group(open_group(from, "...", name), create_group(to, name), Level::series, packing);
    else if (level == Level::series && (name == "visits" || name == "samples")) copy_table(from, to, name, packing);
    else done(H5Ocopy(from, name.c_str(), to, name.c_str(), H5P_DEFAULT, H5P_DEFAULT), "copy '" + name + "'");
  }
}

Handle copied(hid_t from, Packing packing) {
  Handle copy = new_image();
  copy_group(made(H5Gopen2(from, "/", H5P_DEFAULT), "open /"), made(H5Gopen2(copy, "/", H5P_DEFAULT), "open /"),
             Level::root, packing);
  return copy;
}

// A file with the same in it, whose groups, tables and texts HDF5 wrote itself.
Bytes written_anew(std::span<const std::byte> bytes) {
  Bytes anew;
  take_image(copied(open_image(bytes), Packing::compressed), anew);
  return anew;
}

}  // namespace

Document::Document(const TraceRoot& root, const Provenance& provenance) : file_(new_image()) {
  put(file_, "schema_name", std::string(schema_name));
  put(file_, "schema_version", version_text());
  put(file_, "complete", false);
  put_header(file_, root);
  of_run_ = create_group(file_, "provenance");
  put_provenance(of_run_, provenance);
  for_each_kind([&]<class K>() { create_group(file_, std::string(K::name)); });
}

Document::Document(std::span<const std::byte> bytes, const Trace& loaded, const TraceRoot& root,
                   const Provenance& provenance)
    : file_(copied(open_image(bytes), Packing::plain)) {
  set_complete(false);
  if (loaded.version_minor < version_minor) trace::change(file_, "schema_version", version_text());
  for_each_kind([&]<class K>() {
    series<K>().load(loaded.of<K>());
    if (!has_link(file_, std::string(K::name))) create_group(file_, std::string(K::name));
  });
  const Handle group = open_group(file_, "/", "provenance");
  std::size_t number = 1;
  while (has_link(group, resume_name(number))) ++number;
  of_run_ = create_group(group, resume_name(number));
  put_header(of_run_, root);
  put_provenance(of_run_, provenance);
}

void Document::take_image(Bytes& to, Packing packing) const {
  packing == Packing::plain ? trace::take_image(file_, to) : trace::take_image(copied(file_, packing), to);
}

}  // namespace npgpu::trace

namespace npgpu {

// Order of the constructor: nothing is read before the lock is held, nothing written before everything was checked.

namespace fs = std::filesystem;

namespace {

Seconds now() { return SteadyClock().now(); }

using trace::refuse;

}  // namespace

struct TraceWriter::Impl {
  // A device of the trace that is continued.
  struct Origin {
    std::string device, uuid, name;
    bool simulated;
    bool operator==(const Origin&) const = default;
  };

  Impl(const fs::path& path, IfExists if_exists, const TraceRoot& root, const Provenance& provenance, Guard guard)
      : path_(trace::place_of_trace(path)), lock_(path_), plan_(root.plan), policy_(now()) {
    std::error_code ignored;
    const bool exists = fs::exists(path_, ignored);
    if (exists && if_exists == IfExists::refuse) refuse(path, "exists; --force replaces it, --resume continues it");
    files::refuse_protected(path_);
    trace::try_folder(path_);
    if (exists && if_exists != IfExists::replace) continue_trace(if_exists, root, provenance, guard);
    else named([&] { document_.emplace(root, provenance); });
  }

  void continue_trace(IfExists if_exists, const TraceRoot& root, const Provenance& provenance, Guard guard) {
    const trace::Bytes bytes = trace::read_file(path_);
    const auto load = [&] {
      trace::Contents contents = trace::decode(bytes, path_.string());
      if (contents.is_merged) refuse(path_, "is a merged file. Its runs have ended: write a new run to another file");
      refuse_another(contents.runs.front().root, root, if_exists);
      return contents;
    };
    const auto load_anew = [&] {
      trace::DecodedFile handed{load()};
      named([&] {
        handed.image = trace::written_anew(bytes);
        document_.emplace(handed.image, handed.contents.runs.front(), root, provenance);  // as below
      });
      return handed;
    };
    trace::DecodedFile handed =
        guard == Guard::none ? trace::DecodedFile{load()} : trace::in_child(bytes.size(), path_.string(), load_anew);
    Trace& loaded = handed.contents.runs.front();
    for_each_kind([&]<class K>() {
      for (const Series<K>& series : loaded.of<K>()) {
        Origin origin = origin_of(series);
        if (std::find(origins_.begin(), origins_.end(), origin) == origins_.end())
          origins_.push_back(std::move(origin));
      }
    });
    loaded_plan_ = loaded.root.plan;
    const trace::Bytes& sound = guard == Guard::none ? bytes : handed.image;
    named([&] { document_.emplace(sound, loaded, root, provenance); });
    continued_ = std::move(loaded);
  }

  void refuse_another(const TraceRoot& loaded, const TraceRoot& root, IfExists if_exists) const {
    if (loaded.hostname != root.hostname)
      refuse(path_, fmt::format("was measured on {}, and this is {}: another host needs a trace of its own",
                                loaded.hostname, root.hostname));
    if (if_exists == IfExists::resume && loaded.plan != root.plan)
      refuse(path_, fmt::format("was begun with another plan, by '{}': --resume continues that one only", loaded.argv));
  }

  template <class K> static Origin origin_of(const Series<K>& series) {
    return {device_of(series.question), series.device_uuid, series.device_name, series.simulated};
  }

  void refuse_another_device(const Origin& now) const {
    const auto text = [](const Origin& o) {
      return o.name + (o.uuid.empty() ? "" : " " + o.uuid) + (o.simulated ? ", simulated" : "");
    };
    for (const Origin& then : origins_)
      if (then.device == now.device && then != now)
        refuse(path_, fmt::format("holds measurements of {} ({}), and it now is another device ({})", now.device,
                                  text(then), text(now)));
    const bool planned = !plan_.empty() && plan_ == loaded_plan_;
    const auto alike = [&](const Origin& then) { return then.simulated == now.simulated; };
    if (!planned && !origins_.empty() && std::none_of(origins_.begin(), origins_.end(), alike))
      refuse(path_, now.simulated ? "holds measurements of hardware, and this run is simulated"
                                  : "holds what a simulated device gave, and this run measures hardware");
  }

  // Everything that touches the document: its flaws get the file's name.
  template <class Change> std::invoke_result_t<Change> named(Change change) const {
    try {
      return change();
    } catch (const trace::FormatError& flaw) {
      throw Error(ErrorKind::failed, path_.string() + ": " + flaw.what());
    }
  }

  void save(trace::Packing packing = trace::Packing::plain) {
    const Seconds begin = now();
    if (!document_->sound())
      throw Error(ErrorKind::failed,
                  path_.string() + ": is not saved, because adding to it failed; " + files::what_is_there(path_));
    named([&] { document_->take_image(image_, packing); });
    files::replace_file(path_, image_);
    policy_.saved(now() - begin, image_.size());
  }

  const fs::path path_;
  const trace::Lock lock_;
  const std::string plan_;
  std::string loaded_plan_;
  std::optional<Trace> continued_;
  std::vector<Origin> origins_;              // empty for a new trace
  std::optional<trace::Document> document_;  // always there once constructed
  trace::Bytes image_;                       // kept: its memory is needed again
  trace::CheckpointPolicy policy_;
};

TraceWriter::TraceWriter(fs::path path, IfExists if_exists, const TraceRoot& root, const Provenance& provenance,
                         Guard guard)
    : impl_(std::make_unique<Impl>(path, if_exists, root, provenance, guard)) {}

TraceWriter::~TraceWriter() = default;

std::optional<Trace> TraceWriter::take_continued() { return std::exchange(impl_->continued_, std::nullopt); }

template <class K> std::size_t TraceWriter::begin(const Series<K>& header) {
  impl_->refuse_another_device(Impl::origin_of(header));
  return impl_->named([&] { return impl_->document_->begin(header); });
}

template <class K> bool TraceWriter::has(std::size_t index, const typename K::Axes& axes, std::uint32_t round) const {
  return impl_->named([&] { return impl_->document_->visits<K>(index).contains({axes, round}); });
}

template <class K> std::vector<typename K::Axes> TraceWriter::axes(std::size_t index) const {
  return impl_->named([&] {
    std::vector<typename K::Axes> all;
    for (const auto& [axes, round] : impl_->document_->visits<K>(index))
      if (all.empty() || all.back() != axes) all.push_back(axes);
    return all;
  });
}

template <class K>
void TraceWriter::add(std::size_t index, const Visit<K>& visit, std::span<const typename K::Sample> samples) {
  impl_->named([&] { impl_->document_->add(index, visit, samples); });
  impl_->policy_.added(now());
}

template <class K> void TraceWriter::set_error(std::size_t index, const SeriesError& error) {
  impl_->named([&] { impl_->document_->set_error<K>(index, error); });
  impl_->policy_.added(now());
}

void TraceWriter::note(const std::string& group, const Facts& facts) {
  impl_->named([&] { impl_->document_->note(group, facts); });
  impl_->policy_.added(now());
}

bool TraceWriter::checkpoint_if_due() {
  if (impl_->policy_.due(now(), impl_->document_->bytes())) impl_->save();
  return !impl_->policy_.unsaved();
}

void TraceWriter::checkpoint() { impl_->save(); }

void TraceWriter::finish() {
  impl_->named([&] { impl_->document_->set_complete(true); });
  impl_->save(trace::Packing::compressed);
}

Seconds TraceWriter::time_saving() const { return impl_->policy_.spent(); }
std::uint64_t TraceWriter::checkpoints() const { return impl_->policy_.saves(); }

// The writer's templates for every kind: what has external linkage is emitted.
namespace trace {
template <class K>
using WriterOf =
    std::tuple<decltype(&TraceWriter::begin<K>), decltype(&TraceWriter::has<K>), decltype(&TraceWriter::axes<K>),
               decltype(&TraceWriter::add<K>), decltype(&TraceWriter::set_error<K>)>;
extern const Kinds::Tuple<WriterOf> writer_of_all_kinds;
const Kinds::Tuple<WriterOf> writer_of_all_kinds = []<class... Ks>(List<Ks...>) {
  return std::tuple{WriterOf<Ks>{&TraceWriter::begin<Ks>, &TraceWriter::has<Ks>, &TraceWriter::axes<Ks>,
                                 &TraceWriter::add<Ks>, &TraceWriter::set_error<Ks>}...};
}(Kinds{});
}  // namespace trace

}  // namespace npgpu

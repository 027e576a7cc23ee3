#include "netpipe/trace/decode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>
#include <variant>

#include "netpipe/trace/files.hpp"
#include "netpipe/trace/hdf5.hpp"
#include "netpipe/trace/series.hpp"
#include "npgpu/model/result.hpp"
#include "npgpu/vocabulary/field.hpp"
#include "npgpu/vocabulary/trace.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::trace {

namespace {

// HDF5's signature stands at 0, or behind a user's block of 512 bytes or a power of two times that.
bool signed_by_hdf5(std::span<const std::byte> bytes) {
  constexpr std::array<unsigned char, 8> signature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  for (std::size_t at = 0; at + signature.size() <= bytes.size(); at = at == 0 ? 512 : 2 * at)
    if (std::memcmp(bytes.data() + at, signature.data(), signature.size()) == 0) return true;
  return false;
}

struct Version {
  int major = 0, minor = 0;
};

// "2.0" -> 2, 0
Version version_of(hid_t group, const std::string& where) {
  const std::string text = get_text(group, where, "schema_version");
  Version version;
  const char* const end = text.data() + text.size();
  const auto [dot, major_error] = std::from_chars(text.data(), end, version.major);
  const bool has_major = major_error == std::errc() && dot != end && *dot == '.';
  const auto [rest, minor_error] = std::from_chars(has_major ? dot + 1 : end, end, version.minor);
  if (minor_error != std::errc() || rest != end || version.major < 1 || version.minor < 0)
    throw FormatError(fmt::format("attribute 'schema_version' of {} is '{}', no version", where, text));
  return version;
}

void check_version(const Version& version) {
  if (version.major > version_major)
    throw FormatError(fmt::format("has trace version {}.{}, and this program reads {}.x: a newer npgpu is needed",
                                  version.major, version.minor, version_major));
  if (version.major < version_major)
    throw FormatError(
        fmt::format("has trace version {}.{}, which only the npgpu that wrote it reads; this one reads {}.x, so it has "
                    "to be measured again",
                    version.major, version.minor, version_major));
}

void check_merged_version(const Version& version) {
  if (version.major != merged_version_major)
    throw FormatError(fmt::format("is a merged file of version {}.{}, and this program reads {}.x: {} npgpu is needed",
                                  version.major, version.minor, merged_version_major,
                                  version.major > merged_version_major ? "a newer" : "the"));
}

// A continued trace has groups in groups: resume_1 and resume_1/host.
void read_provenance(hid_t group, const std::string& where, const std::string& prefix, int depth, Provenance& all) {
  for (const std::string& name : names_in(group)) {
    const std::string path = where + "/" + name;
    const Handle one = open_group(group, where, name);
    all.emplace_back(prefix + name, get_facts(one, path));
    if (depth > 1) read_provenance(one, path, prefix + name + "/", depth - 1, all);
  }
}

// How many groups are named by numbers. Where they are read one by one, a gap is a FormatError.
std::size_t count_numbered(hid_t group) {
  const auto names = names_in(group);
  const auto is_number = [](const std::string& name) {
    return name.find_first_not_of("0123456789") == std::string::npos;
  };
  return static_cast<std::size_t>(std::count_if(names.begin(), names.end(), is_number));
}

// A kind that the trace is older than has no group. `place` is "/", or ends in "/".
template <class K>
void read_kind(hid_t root, const std::string& place, std::uint64_t image_bytes, Depth depth,
               std::vector<Series<K>>& all) {
  const std::string name(K::name), parent = place + name;
  if (!has_link(root, name)) return;
  const Handle groups = open_group(root, place, name);
  const std::size_t count = count_numbered(groups);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string where = parent + "/" + group_name(i);
    all.push_back(read_series<K>(open_group(groups, parent, group_name(i)), where, image_bytes, depth));
  }
}

// The trace in this group: the file's root, or a run of a merged file.
Trace read_run(hid_t root, const std::string& where, std::uint64_t image_bytes, Depth depth) {
  if (!has(root, "schema_name") || get_text(root, where, "schema_name") != schema_name)
    throw FormatError(where + " is no npgpu trace");
  Trace trace;
  const Version version = version_of(root, where);
  check_version(version);
  trace.version_major = version.major;
  trace.version_minor = version.minor;
  trace.root.complete = get_flag(root, where, "complete");
  get_header(root, where, trace.root);
  const std::string place = where == "/" ? where : where + "/";
  read_provenance(open_group(root, where, "provenance"), place + "provenance", "", 2, trace.provenance);
  for_each_kind([&]<class K>() { read_kind(root, place, image_bytes, depth, trace.of<K>()); });
  return trace;
}

void read_runs(hid_t file, std::optional<std::size_t> only, std::uint64_t image_bytes, Depth depth,
               Contents& contents) {
  check_merged_version(version_of(file, "/"));
  const Handle runs = open_group(file, "/", runs_name);
  contents.is_merged = true;
  contents.count = count_numbered(runs);
  const std::string where = std::string("/") + runs_name;
  for (std::size_t i = 0; i < contents.count; ++i)
    if (!only || *only == i)
      contents.runs.push_back(
          read_run(open_group(runs, where, group_name(i)), where + "/" + group_name(i), image_bytes, depth));
}

Contents read_image(std::span<const std::byte> bytes, std::optional<std::size_t> only, Depth depth) {
  if (!signed_by_hdf5(bytes)) throw FormatError("is not an HDF5 file");
  const Handle file = [&] {
    try {
      return open_image(bytes);
    } catch (const FormatError& flaw) {
      const std::string why = flaw.what();
      if (why.find("truncated") == std::string::npos) throw FormatError("is damaged: " + why);
      // HDF5 says in numbers of its own how long the file should be.
      const std::size_t whole = why.rfind("stored_eof = ");
      throw FormatError(
          whole == std::string::npos
              ? "is truncated: " + why
              : fmt::format("is truncated: {} of its {} bytes are there", bytes.size(),
                            std::string_view(why).substr(whole + std::string_view("stored_eof = ").size())));
    }
  }();
  if (!has(file, "schema_name"))
    throw FormatError("is an HDF5 file but not an npgpu trace: it has no attribute 'schema_name'");
  const std::string schema = get_text(file, "/", "schema_name");
  Contents contents;
  if (schema == merged_name) {
    read_runs(file, only, bytes.size(), depth, contents);
  } else if (schema == schema_name) {
    contents.count = 1;
    contents.runs.push_back(read_run(file, "/", bytes.size(), depth));
  } else {
    throw FormatError(fmt::format("is an HDF5 file but not an npgpu trace: its schema_name is '{}'", schema));
  }
  return contents;
}

}  // namespace

Contents decode(std::span<const std::byte> bytes, const std::string& file, std::optional<std::size_t> only,
                Depth depth) {
  try {
    return read_image(bytes, only, depth);
  } catch (const FormatError& flaw) {
    throw Error(ErrorKind::usage, file + ": " + flaw.what());
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::usage, file + ": is damaged: it takes more memory than a sound file of its size");
  }
}

process::Limits limits_for(std::size_t bytes) {
  // A megabyte takes some milliseconds, and its rows some tens of megabytes.
  return {Seconds{std::ceil(static_cast<double>(bytes) / 1e6)}, process::Limits{}.memory + 60 * bytes};
}

DecodedFile in_child(std::size_t bytes, const std::string& file, const std::function<DecodedFile()>& make) {
  using Outcome = process::Reply::Outcome;
  const process::Reply reply = process::reply_of_child(
      [&] {
        const std::string all = packed(make());
        H5garbage_collect();  // where HDF5 wrote past its buffers, freeing them may fail, and then the file is refused
        return all;
      },
      limits_for(bytes));
  if (reply.outcome == Outcome::not_started) return make();
  if (reply.outcome == Outcome::threw) throw Error(ErrorKind::usage, reply.text);
  if (reply.outcome == Outcome::no_memory)
    throw Error(ErrorKind::failed, file + ": there is not enough memory to read it");
  if (reply.outcome == Outcome::died) throw Error(ErrorKind::usage, file + ": " + died_of(reply.text));
  try {
    return unpacked(reply.text);
  } catch (const FormatError& flaw) {
    throw Error(ErrorKind::usage, file + ": " + flaw.what());
  }
}

std::string died_of(const std::string& how) { return fmt::format("is damaged: HDF5 fails on it ({})", how); }

}  // namespace npgpu::trace

namespace npgpu {

namespace fs = std::filesystem;

namespace {

// job.h5:3 is run 3 of job.h5, unless there is a file of that very name.
struct Address {
  fs::path file;
  std::optional<std::size_t> run{};
};
Address address_of(const fs::path& typed) {
  const std::string text = typed.string();
  const std::size_t colon = text.rfind(':');
  std::error_code ignored;
  if (colon == std::string::npos || fs::exists(typed, ignored)) return {typed};
  std::size_t run = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, run);
  if (error != std::errc() || rest != end) return {typed};
  return {text.substr(0, colon), run};
}

trace::Contents read(const Address& address, Guard guard, Depth depth = Depth::whole) {
  const auto bytes = trace::read_file(address.file);
  const std::string file = address.file.string();
  const auto read = [&] { return trace::decode(bytes, file, address.run, depth); };
  trace::Contents contents =
      guard == Guard::none ? read()
                           : trace::in_child(bytes.size(), file, [&] { return trace::DecodedFile{read()}; }).contents;
  if (address.run && *address.run >= contents.count)
    throw Error(ErrorKind::usage, fmt::format("{}: has {} run{}, counted from 0, and no run {}", address.file.string(),
                                              contents.count, contents.count == 1 ? "" : "s", *address.run));
  if (contents.runs.empty()) throw Error(ErrorKind::usage, address.file.string() + ": is a merged file without runs");
  for (Trace& run : contents.runs) set_doubts(run), set_drifts(run);
  return contents;
}

}  // namespace

std::vector<Trace> read_runs(const fs::path& path, Guard guard, Depth depth) {
  return read(address_of(path), guard, depth).runs;
}

Trace read_trace(const fs::path& path, Guard guard) {
  trace::Contents contents = read(address_of(path), guard);
  if (contents.runs.size() > 1)
    throw Error(ErrorKind::usage,
                fmt::format("{0}: holds {1} runs: name one of {0}:0 to {0}:{2} (npgpu report {0} lists them)",
                            path.string(), contents.count, contents.count - 1));
  return std::move(contents.runs.front());
}

}  // namespace npgpu

namespace npgpu::trace {

namespace {

class Packer {
 public:
  void raw(const void* from, std::size_t count) { bytes_.append(static_cast<const char*>(from), count); }
  std::size_t count(std::size_t count) {
    const std::uint64_t number = count;
    raw(&number, sizeof number);
    return count;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : left_(bytes) {}
  void raw(void* to, std::size_t count) {
    if (count > left_.size()) garbled();
    if (count > 0) std::memcpy(to, left_.data(), count);
    left_.remove_prefix(count);
  }
  // How many things come, which have a byte or more each.
  std::size_t count(std::size_t) {
    std::uint64_t number = 0;
    raw(&number, sizeof number);
    if (number > left_.size()) garbled();
    return static_cast<std::size_t>(number);
  }
  bool ended() const { return left_.empty(); }
  [[noreturn]] static void garbled() { throw FormatError("is damaged: what HDF5 makes of it is garbled"); }

 private:
  std::string_view left_;
};

template <class T> inline constexpr bool is_list = false;
template <class T> inline constexpr bool is_list<std::vector<T>> = true;

// One description of what is sent serves both ways: values are const where they are packed.
template <class Way> constexpr bool unpacks = std::is_same_v<Way, Unpacker>;

template <class Way, class Text> void pass_text(Way& way, Text& text) {
  const std::size_t count = way.count(text.size());
  if constexpr (unpacks<Way>) text.resize(count);
  way.raw(text.data(), count);
}

template <class Way, class T> void pass_enum(Way& way, T& value) {
  using Plain = std::remove_const_t<T>;
  auto code = static_cast<std::int32_t>(value);
  way.raw(&code, sizeof code);
  if constexpr (unpacks<Way>) {
    if (code < 0 || static_cast<std::size_t>(code) >= names_of<Plain>.size()) Unpacker::garbled();
    value = static_cast<Plain>(code);
  }
}

template <class Way, class T> void pass(Way& way, T& value) {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Plain, std::string> || std::is_same_v<Plain, Bytes>) {
    pass_text(way, value);
  } else if constexpr (is_list<Plain>) {
    const std::size_t count = way.count(value.size());
    if constexpr (unpacks<Way>) value.resize(count);
    for (auto& one : value) pass(way, one);
  } else if constexpr (Described<Plain>) {
    visit_fields(value, [&](const FieldInfo&, auto& member) { pass(way, member); });
  } else if constexpr (std::is_same_v<Plain, Lane>) {
    pass(way, value.direction);
    pass(way, value.source);
    pass(way, value.target);
    pass(way, value.executor);
    pass(way, value.measured);
  } else if constexpr (std::is_same_v<Plain, ShortText>) {
    auto text = value.raw();
    way.raw(text.data(), text.size());
    if constexpr (unpacks<Way>) value = ShortText(text);
  } else if constexpr (std::is_same_v<Plain, bool>) {
    std::uint8_t flag = value;
    way.raw(&flag, sizeof flag);
    if constexpr (unpacks<Way>) value = flag != 0;
  } else if constexpr (std::is_enum_v<Plain>) {
    pass_enum(way, value);
  } else {
    static_assert(std::is_arithmetic_v<Plain>);
    way.raw(&value, sizeof value);
  }
}

template <class Way, class AnyFact> void pass_fact(Way& way, AnyFact& fact) {
  std::uint8_t kind = static_cast<std::uint8_t>(fact.index());
  way.raw(&kind, sizeof kind);
  if constexpr (unpacks<Way>) {
    switch (kind) {
      case 0: fact.template emplace<0>(); break;
      case 1: fact.template emplace<1>(); break;
      case 2: fact.template emplace<2>(); break;
      default: Unpacker::garbled();
    }
  }
  std::visit([&](auto& value) { pass(way, value); }, fact);
}

template <class Way, class AnyTrace> void pass_trace(Way& way, AnyTrace& trace) {
  pass(way, trace.version_major);
  pass(way, trace.version_minor);
  pass(way, trace.root);
  pass(way, trace.root.complete);
  const std::size_t groups = way.count(trace.provenance.size());
  if constexpr (unpacks<Way>) trace.provenance.resize(groups);
  for (auto& [group, facts] : trace.provenance) {
    pass(way, group);
    const std::size_t count = way.count(facts.size());
    if constexpr (unpacks<Way>) facts.resize(count);
    for (auto& [name, fact] : facts) {
      pass(way, name);
      pass_fact(way, fact);
    }
  }
  for_each_kind([&]<class K>() {
    auto& all = trace.template of<K>();
    const std::size_t count = way.count(all.size());
    if constexpr (unpacks<Way>) all.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      auto& series = all[i];
      pass(way, series);
      pass(way, series.visits);
      pass(way, series.samples);
      if constexpr (unpacks<Way>) check_rows(series, "/" + std::string(K::name) + "/" + group_name(i));
    }
  });
}

template <class Way, class AnyHanded> void pass_handed(Way& way, AnyHanded& handed) {
  auto& contents = handed.contents;
  const std::size_t runs = way.count(contents.runs.size());
  if constexpr (unpacks<Way>) contents.runs.resize(runs);
  for (auto& run : contents.runs) pass_trace(way, run);
  pass(way, contents.count);
  pass(way, contents.is_merged);
  pass(way, handed.image);
}

}  // namespace

std::string packed(const DecodedFile& handed) {
  Packer packer;
  pass_handed(packer, handed);
  return packer.take();
}

DecodedFile unpacked(std::string_view bytes) {
  Unpacker unpacker(bytes);
  DecodedFile handed;
  pass_handed(unpacker, handed);
  if (!unpacker.ended()) Unpacker::garbled();
  return handed;
}

}  // namespace npgpu::trace

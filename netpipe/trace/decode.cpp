#include "netpipe/trace/decode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <new>

#include "netpipe/trace/attributes.hpp"
#include "netpipe/trace/image.hpp"
#include "netpipe/trace/layout.hpp"
#include "netpipe/trace/rehearsal.hpp"
#include "netpipe/trace/tables.hpp"
#include "npgpu/error.hpp"

namespace npgpu::trace {

namespace {

// HDF5's signature stands at 0, or behind a user's block of 512 bytes or a power of two times that.
bool signed_by_hdf5(std::span<const std::byte> bytes) {
  constexpr std::array<unsigned char, 8> signature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  for (std::size_t at = 0; at + signature.size() <= bytes.size(); at = at == 0 ? 512 : 2 * at)
    if (std::memcmp(bytes.data() + at, signature.data(), signature.size()) == 0) return true;
  return false;
}

// "1.0" -> 1, 0
void read_version(const std::string& text, Trace& trace) {
  const char* const end = text.data() + text.size();
  const auto [dot, major_error] = std::from_chars(text.data(), end, trace.version_major);
  if (major_error == std::errc() && dot != end && *dot == '.') {
    const auto [rest, minor_error] = std::from_chars(dot + 1, end, trace.version_minor);
    if (minor_error == std::errc() && rest == end && trace.version_major >= 1 && trace.version_minor >= 0) {
      if (trace.version_major > version_major)
        throw Flaw(fmt::format("has trace version {}, and this program reads up to {}.x: a newer npgpu is needed", text,
                               version_major));
      return;
    }
  }
  throw Flaw("attribute 'schema_version' of / is '" + text + "', no version");
}

void read_root(hid_t file, Trace& trace) {
  if (!has(file, "schema_name"))
    throw Flaw("is an HDF5 file but not an npgpu trace: it has no attribute 'schema_name'");
  const std::string schema = get_text(file, "/", "schema_name");
  if (schema != schema_name)
    throw Flaw(fmt::format("is an HDF5 file but not an npgpu trace: its schema_name is '{}'", schema));
  read_version(get_text(file, "/", "schema_version"), trace);
  TraceRoot& root = trace.root;
  root.complete = get_flag(file, "/", "complete");
  root.run_uuid = get_text(file, "/", "run_uuid");
  root.tool_version = get_text(file, "/", "tool_version");
  root.git_commit = get_text(file, "/", "git_commit");
  root.argv = get_text(file, "/", "argv");
  root.start_time_utc = get_text(file, "/", "start_time_utc");
  root.hostname = get_text(file, "/", "hostname");
}

// A continued trace has groups in groups: resume_1 and resume_1/host.
void read_provenance(hid_t group, const std::string& where, const std::string& prefix, int depth, Provenance& all) {
  for (const std::string& name : groups_in(group)) {
    const Handle one = open_group(group, where, name);
    const std::string path = where + "/" + name;
    all.emplace_back(prefix + name, get_facts(one, path));
    if (depth > 1) read_provenance(one, path, prefix + name + "/", depth - 1, all);
  }
}

template <class Enum>
Enum get_word(hid_t group, const std::string& where, const char* attribute) {
  const std::string word = get_text(group, where, attribute);
  if (const auto value = named<Enum>(word)) return *value;
  throw Flaw(fmt::format("attribute '{}' of {} is '{}', none of {}", attribute, where, word, choices<Enum>()));
}

Case read_case(hid_t group, const std::string& where) {
  Case c;
  c.module = get_text(group, where, "module");
  c.device = get_text(group, where, "device");
  c.pattern = get_word<Pattern>(group, where, "pattern");
  c.direction = get_word<Direction>(group, where, "direction");
  c.memory = get_word<Memory>(group, where, "memory");
  c.async = get_flag(group, where, "async");
  c.timing = get_word<Timing>(group, where, "timing");
  c.cache = get_word<Cache>(group, where, "cache");
  c.source_offset = get_count(group, where, "source_offset_bytes");
  c.target_offset = get_count(group, where, "target_offset_bytes");
  c.bind = get_flag(group, where, "bind");
  return c;
}

void check_rows(const Sweep& sweep, const std::string& where) {
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const Point& point = sweep.points[i];
    const auto flaw = [&](const std::string& what) {
      throw Flaw(fmt::format("row {} of {}/points {}", i, where, what));
    };
    const auto stop = static_cast<int>(point.stop);
    if (stop < 0 || stop >= static_cast<int>(names_of<Stop>.size()))
      flaw(fmt::format("has the unknown stop code {}", stop));
    if (point.bytes == 0) flaw("has 0 bytes");
    if (point.samples > sweep.samples.size() || point.first_sample > sweep.samples.size() - point.samples)
      flaw(fmt::format("has samples {} + {}, and there are {}", point.first_sample, point.samples,
                       sweep.samples.size()));
    for (std::uint64_t s = point.first_sample; s < point.first_sample + point.samples; ++s)
      if (sweep.samples[s].point != i)
        flaw(fmt::format("has sample {}, which says that it is of point {}", s, sweep.samples[s].point));
  }
  for (std::size_t i = 0; i < sweep.samples.size(); ++i) {
    const Sample& sample = sweep.samples[i];
    const auto flaw = [&](const std::string& what) {
      throw Flaw(fmt::format("row {} of {}/samples {}", i, where, what));
    };
    if (sample.point >= sweep.points.size())
      flaw(fmt::format("is of point {}, and there are {}", sample.point, sweep.points.size()));
    if (sample.repeats == 0) flaw("has 0 repeats");
    if (sample.intact < -1 || sample.intact > 1) flaw(fmt::format("has the unknown intact code {}", sample.intact));
    if (sample.lane > 1) flaw(fmt::format("is of lane {}", sample.lane));
  }
}

Sweep read_sweep(hid_t group, const std::string& where, std::uint64_t image_bytes) {
  Sweep sweep;
  sweep.question = read_case(group, where);
  sweep.schedule = get_text(group, where, "schedule");
  sweep.device_uuid = get_text(group, where, "device_uuid");
  sweep.device_name = get_text(group, where, "device_name");
  sweep.simulated = get_flag(group, where, "simulated");
  sweep.limit.bytes_per_s = get_real(group, where, "limit_bytes_per_s");
  sweep.limit.source = get_text(group, where, "limit_source");
  sweep.binding = get_text(group, where, "binding");
  sweep.error = get_text(group, where, "error");
  sweep.points = Table<Point>::open(group, where, image_bytes).read();
  sweep.samples = Table<Sample>::open(group, where, image_bytes).read();
  check_rows(sweep, where);
  return sweep;
}

bool is_number(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Trace read_image(std::span<const std::byte> bytes) {
  if (!signed_by_hdf5(bytes)) throw Flaw("is not an HDF5 file");
  const Handle file = [&] {
    try {
      return open_image(bytes, Access::read);
    } catch (const Flaw& flaw) {
      const std::string why = flaw.what();
      throw Flaw((why.find("truncated") != std::string::npos ? "is truncated: " : "is damaged: ") + why);
    }
  }();
  Trace trace;
  read_root(file, trace);
  read_provenance(open_group(file, "/", "provenance"), "/provenance", "", 2, trace.provenance);

  const Handle sweeps = open_group(file, "/", "sweeps");
  const auto names = groups_in(sweeps);
  const auto count = static_cast<std::size_t>(std::count_if(names.begin(), names.end(), is_number));
  for (std::size_t i = 0; i < count; ++i) {
    const Handle group = open_group(sweeps, "/sweeps", sweep_name(i));  // says so if the numbering has a gap
    trace.sweeps.push_back(read_sweep(group, "/sweeps/" + sweep_name(i), bytes.size()));
  }
  return trace;
}

}  // namespace

Trace decode(std::span<const std::byte> bytes, const std::string& file) {
  try {
    return read_image(bytes);
  } catch (const Flaw& flaw) {
    throw Error(ErrorKind::usage, file + ": " + flaw.what());
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::usage, file + ": needs more memory than there is");
  }
}

Trace decode_guarded(std::span<const std::byte> bytes, const std::string& file) {
  // A megabyte takes some milliseconds.
  const Seconds enough{std::ceil(static_cast<double>(bytes.size()) / 1e6)};
  const Rehearsal rehearsal = rehearse([&] { decode(bytes, file); }, enough);
  switch (rehearsal.outcome) {
    case Rehearsal::Outcome::threw:
      throw Error(ErrorKind::usage, rehearsal.text);
    case Rehearsal::Outcome::died:
      throw Error(ErrorKind::usage, fmt::format("{}: is damaged: HDF5 fails on it ({})", file, rehearsal.text));
    case Rehearsal::Outcome::well:
      break;
  }
  return decode(bytes, file);
}

}  // namespace npgpu::trace

#include "netpipe/trace/document.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "netpipe/trace/attributes.hpp"
#include "netpipe/trace/layout.hpp"

namespace npgpu::trace {

namespace {

void put_run(hid_t object, const TraceRoot& root) {
  put(object, "run_uuid", root.run_uuid);
  put(object, "tool_version", root.tool_version);
  put(object, "git_commit", root.git_commit);
  put(object, "argv", root.argv);
  put(object, "start_time_utc", root.start_time_utc);
  put(object, "hostname", root.hostname);
}

void put_provenance(hid_t group, const Provenance& provenance) {
  for (const auto& [name, facts] : provenance) put(create_group(group, name), facts);
}

template <class Enum>
void put_word(hid_t group, const char* attribute, Enum value) {
  put(group, attribute, std::string(name(value)));
}

void put_header(hid_t group, const Sweep& sweep) {
  const Case& c = sweep.question;
  put(group, "module", c.module);
  put(group, "device", c.device);
  put_word(group, "pattern", c.pattern);
  put_word(group, "direction", c.direction);
  put_word(group, "memory", c.memory);
  put(group, "async", c.async);
  put_word(group, "timing", c.timing);
  put_word(group, "cache", c.cache);
  put(group, "source_offset_bytes", c.source_offset);
  put(group, "target_offset_bytes", c.target_offset);
  put(group, "bind", c.bind);
  put(group, "schedule", sweep.schedule);
  put(group, "device_uuid", sweep.device_uuid);
  put(group, "device_name", sweep.device_name);
  put(group, "simulated", sweep.simulated);
  put(group, "limit_bytes_per_s", sweep.limit.bytes_per_s);
  put(group, "limit_source", sweep.limit.source);
  put(group, "binding", sweep.binding);
  put(group, "error", sweep.error);
}

bool same_question(const Sweep& a, const Sweep& b) {
  return a.question == b.question && a.schedule == b.schedule && a.device_uuid == b.device_uuid;
}

Sweep without_rows(const Sweep& sweep) {
  Sweep header = sweep;
  header.points.clear();
  header.samples.clear();
  return header;
}

// The file would be refused by every reader.
void check(const Point& point, std::span<const Sample> samples) {
  if (point.bytes == 0) throw Flaw("a point of 0 bytes was to be added");
  for (const Sample& sample : samples)
    if (sample.repeats == 0) throw Flaw("a sample of 0 repeats was to be added");
}

}  // namespace

Document::Document(const TraceRoot& root, const Provenance& provenance) : file_(new_image()) {
  put(file_, "schema_name", std::string(schema_name));
  put(file_, "schema_version", fmt::format("{}.{}", version_major, version_minor));
  put(file_, "complete", false);
  put_run(file_, root);
  put_provenance(create_group(file_, "provenance"), provenance);
  create_group(file_, "sweeps");
}

Document::Document(std::span<const std::byte> bytes, const Trace& loaded, const TraceRoot& root,
                   const Provenance& provenance)
    : file_(open_image(bytes, Access::write)) {
  for (const Sweep& sweep : loaded.sweeps) {
    SweepState state{without_rows(sweep), {}};
    for (const Point& point : sweep.points) state.sizes.insert(point.bytes);
    sweeps_.push_back(std::move(state));
  }
  set_complete(false);
  const Handle group = open_group(file_, "/", "provenance");
  std::size_t number = 1;
  while (done(H5Lexists(group, resume_name(number).c_str(), H5P_DEFAULT), "look for earlier resumes") > 0) ++number;
  const Handle resume = create_group(group, resume_name(number));
  put_run(resume, root);
  put_provenance(resume, provenance);
}

std::size_t Document::begin_sweep(const Sweep& header) {
  const auto found = std::find_if(sweeps_.begin(), sweeps_.end(), [&](const SweepState& known) {
    return !known.begun && same_question(known.header, header);
  });
  if (found != sweeps_.end()) {
    const auto index = static_cast<std::size_t>(found - sweeps_.begin());
    found->begun = true;
    if (!found->header.error.empty()) set_error(index, "");
    return index;
  }
  change([&] {
    const Handle all = open_group(file_, "/", "sweeps");
    Handle group = create_group(all, sweep_name(sweeps_.size()));
    put_header(group, header);
    auto points = Table<Point>::create(group);
    auto samples = Table<Sample>::create(group);
    open_ = OpenSweep{sweeps_.size(), std::move(group), std::move(points), std::move(samples)};
    sweeps_.push_back({without_rows(header), {}, true});
  });
  return sweeps_.size() - 1;
}

bool Document::has_point(std::size_t sweep, std::uint64_t bytes) const { return state(sweep).sizes.count(bytes) > 0; }

void Document::add_point(std::size_t sweep, Point point, std::span<const Sample> samples) {
  state(sweep);
  check(point, samples);
  change([&] {
    OpenSweep& now = open(sweep);
    point.first_sample = now.samples.rows();
    point.samples = static_cast<std::uint32_t>(samples.size());
    std::vector<Sample> numbered(samples.begin(), samples.end());
    for (Sample& sample : numbered) sample.point = static_cast<std::uint32_t>(now.points.rows());
    now.samples.append(numbered);
    now.points.append(std::span<const Point>(&point, 1));
    sweeps_[sweep].sizes.insert(point.bytes);
  });
}

void Document::set_error(std::size_t sweep, const std::string& why) {
  state(sweep);
  change([&] {
    trace::change(open(sweep).group, "error", why);
    sweeps_[sweep].header.error = why;
  });
}

void Document::set_complete(bool complete) {
  change([&] { trace::change(file_, "complete", complete); });
}

const Document::SweepState& Document::state(std::size_t sweep) const {
  if (sweep >= sweeps_.size()) throw Flaw(fmt::format("sweep {} was not begun", sweep));
  return sweeps_[sweep];
}

Document::OpenSweep& Document::open(std::size_t sweep) {
  if (!open_ || open_->index != sweep) {
    const Handle all = open_group(file_, "/", "sweeps");
    const std::string where = "/sweeps/" + sweep_name(sweep);
    Handle group = open_group(all, "/sweeps", sweep_name(sweep));
    // Our own file, or one that was read already: its lengths need no bound.
    auto points = Table<Point>::open(group, where, UINT32_MAX);
    auto samples = Table<Sample>::open(group, where, UINT32_MAX);
    open_ = OpenSweep{sweep, std::move(group), std::move(points), std::move(samples)};
  }
  return *open_;
}

template <class Change>
void Document::change(Change body) {
  sound_ = false;
  body();
  sound_ = true;
}

}  // namespace npgpu::trace

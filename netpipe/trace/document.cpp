#include "netpipe/trace/document.hpp"

#include <fmt/format.h>

#include "netpipe/trace/attributes.hpp"
#include "netpipe/trace/headers.hpp"
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

std::string version_text() { return fmt::format("{}.{}", version_major, version_minor); }

}  // namespace

Document::Document(const TraceRoot& root, const Provenance& provenance) : file_(new_image()) {
  put(file_, "schema_name", std::string(schema_name));
  put(file_, "schema_version", version_text());
  put(file_, "complete", false);
  put_run(file_, root);
  put_provenance(create_group(file_, "provenance"), provenance);
  create_group(file_, KindOf<TransferSeries>::group);
  create_group(file_, KindOf<ProbeSeries>::group);
  create_group(file_, KindOf<JobSeries>::group);
}

Document::Document(std::span<const std::byte> bytes, const Trace& loaded, const TraceRoot& root,
                   const Provenance& provenance)
    : file_(open_image(bytes, Access::write)) {
  sweeps_.load(loaded.sweeps);
  probes_.load(loaded.probes);
  streams_.load(loaded.streams);
  set_complete(false);
  if (loaded.version_minor < version_minor) trace::change(file_, "schema_version", version_text());
  for (const char* later : {KindOf<ProbeSeries>::group, KindOf<JobSeries>::group})  // than 1.0
    if (!has_group(file_, later)) create_group(file_, later);
  const Handle group = open_group(file_, "/", "provenance");
  std::size_t number = 1;
  while (has_group(group, resume_name(number))) ++number;
  const Handle resume = create_group(group, resume_name(number));
  put_run(resume, root);
  put_provenance(resume, provenance);
}

template <class S>
std::size_t Document::begin(const S& header) {
  std::size_t index = 0;
  change([&] { index = series<S>().begin(file_, header); });
  return index;
}

template <class S>
bool Document::has(std::size_t index, const typename KindOf<S>::Key& key) const {
  return const_cast<Document*>(this)->series<S>().has(index, key);
}

template <class S>
const std::set<typename KindOf<S>::Key>& Document::keys(std::size_t index) const {
  return const_cast<Document*>(this)->series<S>().keys(index);
}

template <class S>
void Document::add(std::size_t index, const typename KindOf<S>::Row& point,
                   std::span<const typename KindOf<S>::SampleRow> samples) {
  // What readers would refuse: the document stays sound without it.
  try {
    check_row(point);
    for (const auto& sample : samples) check_row(sample);
  } catch (const FormatError& flaw) {
    throw FormatError(std::string("a point that was to be added ") + flaw.what());
  }
  has<S>(index, {});
  change([&] { series<S>().add(file_, index, point, samples); });
}

template <class S>
void Document::set_error(std::size_t index, const std::string& why) {
  has<S>(index, {});
  change([&] { series<S>().set_error(file_, index, why); });
}

void Document::set_complete(bool complete) {
  change([&] { trace::change(file_, "complete", complete); });
}

template <class Change>
void Document::change(Change body) {
  sound_ = false;
  body();
  sound_ = true;
}

template std::size_t Document::begin(const TransferSeries&);
template std::size_t Document::begin(const ProbeSeries&);
template std::size_t Document::begin(const JobSeries&);
template bool Document::has<TransferSeries>(std::size_t, const std::uint64_t&) const;
template bool Document::has<ProbeSeries>(std::size_t, const Shape&) const;
template bool Document::has<JobSeries>(std::size_t, const JobShape&) const;
template const std::set<JobShape>& Document::keys<JobSeries>(std::size_t) const;
template void Document::add<TransferSeries>(std::size_t, const TransferPoint&, std::span<const TransferSample>);
template void Document::add<ProbeSeries>(std::size_t, const ProbePoint&, std::span<const ProbeSample>);
template void Document::add<JobSeries>(std::size_t, const JobPoint&, std::span<const JobSample>);
template void Document::set_error<TransferSeries>(std::size_t, const std::string&);
template void Document::set_error<ProbeSeries>(std::size_t, const std::string&);
template void Document::set_error<JobSeries>(std::size_t, const std::string&);

}  // namespace npgpu::trace

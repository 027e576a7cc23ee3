#include "netpipe/trace/series.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "netpipe/trace/attributes.hpp"
#include "netpipe/trace/headers.hpp"
#include "netpipe/trace/layout.hpp"

namespace npgpu::trace {

namespace {

template <class S>
S without_rows(const S& sweep) {
  S header = sweep;
  header.points.clear();
  header.samples.clear();
  return header;
}

template <class S>
bool same_question(const S& a, const S& b) {
  return a.question == b.question && a.schedule == b.schedule && a.device_uuid == b.device_uuid;
}

}  // namespace

template <class S>
void Series<S>::load(const std::vector<S>& all) {
  for (const S& sweep : all) {
    State state{without_rows(sweep), {}};
    for (const Row& point : sweep.points) state.keys.insert(KindOf<S>::key(point));
    states_.push_back(std::move(state));
  }
}

template <class S>
std::size_t Series<S>::begin(hid_t file, const S& header) {
  const auto found = std::find_if(states_.begin(), states_.end(), [&](const State& known) {
    return !known.begun && same_question(known.header, header);
  });
  if (found != states_.end()) {
    const auto index = static_cast<std::size_t>(found - states_.begin());
    found->begun = true;
    if (!found->header.error.empty()) set_error(file, index, "");
    return index;
  }
  const Handle all = open_group(file, "/", KindOf<S>::group);
  Handle group = create_group(all, group_name(states_.size()));
  put_header(group, header);
  auto points = Table<Row>::create(group);
  auto samples = Table<SampleRow>::create(group);
  open_ = Open{states_.size(), std::move(group), std::move(points), std::move(samples)};
  states_.push_back({without_rows(header), {}, true});
  return states_.size() - 1;
}

template <class S>
void Series<S>::add(hid_t file, std::size_t index, Row point, std::span<const SampleRow> samples) {
  Open& now = open(file, index);
  point.first_sample = now.samples.rows();
  point.samples = static_cast<std::uint32_t>(samples.size());
  std::vector<SampleRow> numbered(samples.begin(), samples.end());
  for (SampleRow& sample : numbered) sample.point = static_cast<std::uint32_t>(now.points.rows());
  now.samples.append(numbered);
  now.points.append(std::span<const Row>(&point, 1));
  states_[index].keys.insert(KindOf<S>::key(point));
}

template <class S>
void Series<S>::set_error(hid_t file, std::size_t index, const std::string& why) {
  change(open(file, index).group, "error", why);
  states_[index].header.error = why;
}

template <class S>
auto Series<S>::state(std::size_t index) const -> const State& {
  if (index >= states_.size()) throw FormatError(fmt::format("{} {} was not begun", KindOf<S>::word, index));
  return states_[index];
}

template <class S>
auto Series<S>::open(hid_t file, std::size_t index) -> Open& {
  state(index);
  if (!open_ || open_->index != index) {
    const std::string parent = std::string("/") + KindOf<S>::group;
    const Handle all = open_group(file, "/", KindOf<S>::group);
    Handle group = open_group(all, parent, group_name(index));
    // Our own file, or one that was read already: its lengths need no bound.
    const std::string where = parent + "/" + group_name(index);
    auto points = Table<Row>::open(group, where, UINT32_MAX);
    auto samples = Table<SampleRow>::open(group, where, UINT32_MAX);
    open_ = Open{index, std::move(group), std::move(points), std::move(samples)};
  }
  return *open_;
}

template class Series<TransferSeries>;
template class Series<ProbeSeries>;
template class Series<JobSeries>;

}  // namespace npgpu::trace

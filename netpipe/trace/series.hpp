// One numbered kind of group in a trace being written: /sweeps/NNNN of transfers, /probes/NNNN or /streams/NNNN.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "netpipe/trace/tables.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::trace {

// What the kinds differ in: their rows, what tells a point from its neighbours, and where they stand.
template <class S>
struct KindOf;
template <>
struct KindOf<TransferSeries> {
  using Row = TransferPoint;
  using SampleRow = TransferSample;
  using Key = std::uint64_t;
  static constexpr const char* group = "sweeps";
  static constexpr const char* word = "sweep";
  static Key key(const TransferPoint& point) { return point.bytes; }
};
template <>
struct KindOf<ProbeSeries> {
  using Row = ProbePoint;
  using SampleRow = ProbeSample;
  using Key = Shape;
  static constexpr const char* group = "probes";
  static constexpr const char* word = "probe";
  static Key key(const ProbePoint& point) { return point.axes; }
};

template <>
struct KindOf<JobSeries> {
  using Row = JobPoint;
  using SampleRow = JobSample;
  using Key = JobShape;
  static constexpr const char* group = "streams";
  static constexpr const char* word = "case of streams";
  static Key key(const JobPoint& point) { return point.axes; }
};

// Throws FormatError. It knows the file only by the handle that it is given each time.
template <class S>
class Series {
 public:
  using Row = typename KindOf<S>::Row;
  using SampleRow = typename KindOf<S>::SampleRow;
  using Key = typename KindOf<S>::Key;

  // What a continued trace holds already.
  void load(const std::vector<S>& all);

  // The index of a group with this header: a new one, or one of a continued trace that asked the same with the same
  // schedule of the same device.
  std::size_t begin(hid_t file, const S& header);
  bool has(std::size_t index, const Key& key) const { return state(index).keys.count(key) > 0; }
  const std::set<Key>& keys(std::size_t index) const { return state(index).keys; }
  void add(hid_t file, std::size_t index, Row, std::span<const SampleRow>);
  void set_error(hid_t file, std::size_t index, const std::string& why);

 private:
  struct State {
    S header;            // without points and samples
    std::set<Key> keys;  // of its points
    bool begun = false;  // by this run, not only by the one that is continued
  };
  struct Open {
    std::size_t index;
    Handle group;
    Table<Row> points;
    Table<SampleRow> samples;
  };
  const State& state(std::size_t index) const;
  Open& open(hid_t file, std::size_t index);

  std::vector<State> states_;
  std::optional<Open> open_;  // the last one used: a run goes from one to the next
};

extern template class Series<TransferSeries>;
extern template class Series<ProbeSeries>;
extern template class Series<JobSeries>;

}  // namespace npgpu::trace

// What differs from run to run is in the intervals of every kind of measurement.
#include <doctest/doctest.h>

#include <set>
#include <string_view>
#include <type_traits>

#include "npgpu/model/result.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace run_to_run_test {

using namespace npgpu;

namespace {

template <class Row> Row of_ones() {
  Row row{};
  visit_fields(row, []<class T>(const FieldInfo&, T& value) {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) value = static_cast<T>(1);
  });
  return row;
}

// Four rounds that are all alike: nothing of an interval comes from them.
template <class K> Series<K> steady() {
  Series<K> series;
  if constexpr (requires { series.question.devices; }) series.question.devices = "cuda:0,cuda:1";
  for (std::uint32_t round = 0; round < 4; ++round) {
    Visit<K> visit;
    visit.axes = of_ones<typename K::Axes>();
    visit.round = round, visit.work = 1e6, visit.first_sample = 2 * round, visit.samples = 2;
    series.visits.push_back(visit);
    for (std::uint32_t trial = 0; trial < 2; ++trial) {
      auto sample = of_ones<typename K::Sample>();
      sample.visit = round, sample.trial = trial;
      if constexpr (requires { sample.lane; }) sample.lane = 0;
      series.samples.push_back(sample);
    }
  }
  return series;
}

}  // namespace

TEST_CASE("no kind forgets what differs from run to run") {
  std::set<std::string_view> untimed;
  for_each_kind([&]<class K>() {
    CAPTURE(K::name);
    Trace trace;
    trace.of<K>().push_back(steady<K>());
    set_drifts(trace);
    const Series<K>& series = trace.of<K>().front();
    const auto all = results(series);
    if (all.size() != 1 || !(all[0].time_us.value > 0)) untimed.insert(K::name);
    else CHECK(half_width(all[0].time_us) >= run_to_run(class_of(series.question)).at(all[0].time_us.value));
  });
  const std::set<std::string_view> once{Records::name};  // what an application did
  CHECK((untimed == once));
}

}  // namespace run_to_run_test

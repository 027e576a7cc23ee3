// What drifts, in a run and from run to run, is in the interval of every time of every kind.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "npgpu/model/result.hpp"
#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace drift_of_kinds_test {

using namespace npgpu;

TEST_CASE("an interval of any kind is wider than that of its visits alone") {
  std::map<std::string, std::size_t> seen;
  for (const char* name : {"h200_node", "h200_pieces", "h200_partition", "h100x2_collectives", "h200x4_collectives"}) {
    const Trace trace =
        read_trace(std::filesystem::path(NPGPU_SOURCE_DIR) / "data/traces" / (std::string(name) + ".h5"));
    for_each_kind([&]<class K>() {
      for (const Series<K>& series : trace.of<K>()) {
        const auto points = points_by_axes(series);
        const auto all = results(series);
        for (const Result<K>& result : all) {
          if (std::ranges::count(all, result.axes, &Result<K>::axes) > 1) continue;  // of several lanes
          const auto point = points.find(result.axes);
          if (point == points.end() || !result.usable() || !(series.drift.at(result.time_us.value) > 0)) continue;
          ByVisit us;
          for (const Visit<K>* visit : point->second.counted())
            us.push_back(trial_times<K>(series.question, samples_of(series, *visit)));
          const Estimate alone = median_over_visits(us, "us");
          if (std::abs(alone.value / result.time_us.value - 1) > 1e-9) continue;  // a part of a trial
          CAPTURE(name);
          CAPTURE(title(series.question));
          CAPTURE(text_of(result.axes));
          CHECK(half_width(result.time_us) > half_width(alone));
          ++seen[std::string(K::name)];
        }
      }
    });
  }
  // Windows of energy, slices of soaks and what applications do are no times of repeats.
  for_each_kind([&]<class K>() {
    const std::string kind(K::name);
    CAPTURE(kind);
    CHECK((seen[kind] > 0) == (kind != "energies" && kind != "soaks" && kind != "records"));
  });
}

}  // namespace drift_of_kinds_test

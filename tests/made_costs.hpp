// A simulated device whose costs of streams are known, and what is found of them.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "npgpu/model/predict.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "probed.hpp"
#include "streamed.hpp"

namespace made_costs {

using namespace npgpu;

// An H200 without scatter, and with every cost different from every other.
inline ChangedSpec odd_h200(const std::function<void(nlohmann::json&)>& more = [](nlohmann::json&) {}) {
  return ChangedSpec("h200", [&](nlohmann::json& spec) {
    spec.erase("noise");
    spec["host"]["copy_async_us"] = 1.9;
    spec["host"]["launch_us"] = 2.6;
    spec["host"]["synchronize_us"] = 4.5;
    spec["links"]["h2d"]["pinned"]["gap_us"] = 2.4;
    spec["links"]["d2h"]["pinned"]["gap_us"] = 1.5;
    spec["links"]["h2d"]["pinned"]["latency_us"] = 3;
    spec["links"]["d2h"]["pinned"]["latency_us"] = 2;
    spec["hardware"]["kernel_latency_us"] = 1.25;
    spec["hardware"]["kernel_gap_us"] = 1.7;
    spec["hardware"]["stream_create_us"] = 2.1;
    spec["hardware"]["stream_destroy_us"] = 1.4;
    more(spec);
  });
}

inline MeasuredCosts costs_of(const Trace& trace) {
  const auto all = stream_costs(trace);
  REQUIRE(all.size() == 1);
  return all.front();
}

inline MeasuredCosts measured(const std::string& id) { return costs_of(streamed(id, overheads_experiment(id))); }

// It as it is, measured once for all tests: under a sanitizer that takes seconds.
inline const std::string& odd() {
  static const ChangedSpec spec = odd_h200();
  static const std::string id = spec.id();
  return id;
}
inline const Trace& odd_trace() {
  static const Trace trace = streamed(odd(), overheads_experiment(odd()));
  return trace;
}
inline const MeasuredCosts& odd_costs() {
  static const MeasuredCosts costs = costs_of(odd_trace());
  return costs;
}

inline const Parameter& parameter(const MeasuredCosts& m, const std::string& name) {
  for (const Parameter& p : m.parameters)
    if (p.name == name) return p;
  FAIL("no parameter " << name);
  return m.parameters.front();
}

// The trace of odd_h200(), but for these jobs of `increment` as the host issues them: with the times that the simulator
// has with such costs and a kernel of 1 us.
inline Trace with_times_of(const StreamCosts& costs, const std::function<bool(const JobShape&)>& wanted) {
  Trace trace = odd_trace();
  std::size_t changed = 0;
  for (JobSeries& series : trace.of<Jobs>()) {
    const JobCase& c = series.question;
    if (c.workload != Workload::increment || c.gating != Gating::open || c.order != Order::breadth_first) continue;
    for (const auto& visit : series.visits) {
      const JobShape& j = visit.axes;
      if (!wanted(j)) continue;
      const Job job{.in_bytes = j.bytes_in, .out_bytes = j.bytes_out, .kernel = Seconds{1e-6}};
      for (std::size_t i = 0; i < visit.samples; ++i, ++changed)
        series.samples[visit.first_sample + i].host_us =
            microseconds(simulate_total(job, j.chunks, costs, c.order).total);
    }
  }
  REQUIRE(changed > 10);
  return trace;
}

inline auto about(double value) { return doctest::Approx(value).epsilon(1e-3); }
inline double us(Seconds t) { return microseconds(t); }

}  // namespace made_costs

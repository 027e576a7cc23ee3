#include "netpipe/model/compare_probes.hpp"

#include <cmath>

#include "netpipe/model/probe_rates.hpp"

namespace npgpu::model {

namespace {

struct Timed {
  double work = not_measured;
  Estimate rate;
};

std::map<Shape, Timed> rates_by_shape(const ProbeSweep* sweep) {
  std::map<Shape, Timed> found;
  if (!sweep) return found;
  std::map<Shape, double> work;
  for (const ProbePoint& p : sweep->points) work[p.shape] = p.work;
  for (const PointRate& r : rates_of(*sweep)) found.emplace(r.shape, Timed{work.at(r.shape), r.rate});
  return found;
}

// Time of this much work, in us.
Estimate time_of(double work, const Estimate& rate) {
  return {1e6 * work / rate.value, 1e6 * work / rate.high, 1e6 * work / rate.low, "us", rate.method};
}

void compare_shapes(std::vector<PointComparison>& out, const std::string& name, const ProbeSweep* a,
                    const ProbeSweep* b, double tolerance) {
  const auto in_a = rates_by_shape(a), in_b = rates_by_shape(b);
  std::map<Shape, int> shapes;
  for (const auto& [shape, timed] : in_a) shapes[shape] |= 1;
  for (const auto& [shape, timed] : in_b) shapes[shape] |= 2;
  for (const auto& [shape, where] : shapes) {
    PointComparison p;
    p.title = name;
    p.shape = shape;
    p.bytes = shape.bytes;
    const double work = where & 1 ? in_a.at(shape).work : in_b.at(shape).work;
    Estimate time_a, time_b;
    if (where & 1) p.a_us = (time_a = time_of(work, in_a.at(shape).rate)).value;
    if (where & 2) p.b_us = (time_b = time_of(work, in_b.at(shape).rate)).value;
    p.verdict = where == 1 ? Verdict::only_a : where == 2 ? Verdict::only_b : verdict_of(time_a, time_b, tolerance);
    if (where == 3) p.change = p.b_us / p.a_us - 1;
    out.push_back(std::move(p));
  }
}

}  // namespace

void compare_probes(std::vector<PointComparison>& out, const Trace& a, const Trace& b, const Places& places_a,
                    const Places& places_b, double tolerance) {
  std::vector<bool> taken(b.probes.size(), false);
  for (const ProbeSweep& probe : a.probes) {
    const ProbeSweep* other = nullptr;
    for (std::size_t j = 0; j < b.probes.size() && !other; ++j) {
      ProbeCase of_a = probe.question, of_b = b.probes[j].question;
      of_a.device = places_a.at(of_a.device);
      of_b.device = places_b.at(of_b.device);
      if (taken[j] || of_a != of_b) continue;
      taken[j] = true;
      other = &b.probes[j];
    }
    compare_shapes(out, title(probe.question), &probe, other, tolerance);
  }
  for (std::size_t j = 0; j < b.probes.size(); ++j) {
    if (taken[j]) continue;
    ProbeCase c = b.probes[j].question;
    for (const auto& [device, place] : places_a)
      if (place == places_b.at(c.device)) {
        c.device = device;
        break;
      }
    compare_shapes(out, title(c), nullptr, &b.probes[j], tolerance);
  }
}

}  // namespace npgpu::model

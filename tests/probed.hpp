// Simulated devices, probed shape by shape, for tests of probes and of what is derived from them.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "npgpu/runner.hpp"
#include "npgpu/statistics.hpp"
#include "npgpu/derive.hpp"
#include "npgpu/probe.hpp"

namespace npgpu {

// A spec of the house with a change, in a file of its own.
class ChangedSpec {
 public:
  ChangedSpec(const std::string& name, const std::function<void(nlohmann::json&)>& change) {
    std::ifstream original(std::filesystem::path(NPGPU_SOURCE_DIR) / "data/devices" / (name + ".json"));
    nlohmann::json spec = nlohmann::json::parse(original);
    change(spec);
    static int number = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("npgpu-probed-" + std::to_string(getpid()) + '-' + std::to_string(number++) + ".json");
    std::ofstream(path_) << spec.dump();
  }
  ~ChangedSpec() { std::filesystem::remove(path_); }
  ChangedSpec(const ChangedSpec&) = delete;
  ChangedSpec& operator=(const ChangedSpec&) = delete;
  std::string id() const { return "sim:" + path_.string(); }

 private:
  std::filesystem::path path_;
};

inline ProbeSeries probed(const ProbeCase& question, Schedule& schedule) {
  const Probe& probe = find_probe(question.probe, question.device);
  ProbeSeries sweep;
  sweep.question = question;
  sweep.schedule = schedule.text();
  sweep.device_name = probe.device(question.device).name;
  sweep.simulated = true;
  sweep.layout = probe.layout(question);
  sweep.peak = probe.peak(question);
  const std::vector<Shape> shapes = probe.shapes(question);
  std::uint64_t most = 0;
  for (const Shape& shape : shapes) most = std::max(most, shape.bytes);
  const auto kernel = probe.open(question, most);
  sweep.binding = kernel->binding();
  for (const Shape& shape : shapes) {
    auto measured = measure_shape(*kernel, schedule, shape, {});
    REQUIRE(measured);
    CHECK(measured->mismatch == "");
    measured->point.first_sample = sweep.samples.size();
    measured->point.samples = static_cast<std::uint32_t>(measured->samples.size());
    for (ProbeSample& sample : measured->samples) {
      sample.point = static_cast<std::uint32_t>(sweep.points.size());
      sweep.samples.push_back(sample);
    }
    sweep.points.push_back(measured->point);
  }
  return sweep;
}

// All cases of both probes.
inline Trace probed_trace(const std::string& device) {
  Trace trace;
  const auto schedule = adaptive_schedule();
  for (const char* name : {"compute", "bandwidth"}) {
    const Probe& probe = find_probe(name, device);
    for (const ProbeCase& question : probe.cases(device)) trace.of<Probes>().push_back(probed(question, *schedule));
  }
  DeviceInfo info = find_probe("compute", device).device(device);
  info.facts.emplace_back("id", device);
  trace.provenance.emplace_back("gpu0", info.facts);
  return trace;
}

inline const Parameter* find(const DeviceParameters& device, const std::string& name) {
  for (const Parameter& p : device.parameters)
    if (p.name == name) return &p;
  return nullptr;
}

inline double value_of(const DeviceParameters& device, const std::string& name) {
  const Parameter* p = find(device, name);
  REQUIRE_MESSAGE(p, name);
  return p->estimate.value;
}

}  // namespace npgpu

// The device of a trace as the spec of a simulated one.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "netpipe/model/medians.hpp"
#include "npgpu/model/predict.hpp"

namespace npgpu {

namespace {

using TwinJson = nlohmann::ordered_json;

// A blocking copy of any length takes a call, its latency and its bytes.
TwinJson link_of(const Curve& copy, Seconds gap) {
  const auto points = copy.points();
  const Curve::Point &last = points.back(), &before = points[points.size() > 1 ? points.size() - 2 : 0];
  TwinJson link;
  link["rate_gb_s"] = 1e-9 * (last.x - before.x) / (last.time - before.time).count();
  link["latency_us"] = microseconds(points.front().time);
  link["gap_us"] = microseconds(gap);
  return link;
}

}  // namespace

std::string twin_of(const Trace& trace, const MeasuredCosts& m, const std::string& source) {
  if (!m.usable)
    throw Error(ErrorKind::usage, fmt::format("{} does not hold what streams cost on {}: it lacks {}", source, m.device,
                                              m.missing.empty() ? "everything" : m.missing.front()));
  for (const char* key : {"sms", "lanes", "shader_clock_mhz", "fma_latency_cycles", "memory_gb_s",
                          "memory_latency_cycles", "blocks", "warps"})
    if (!(m.at(key) > 0))
      throw Error(ErrorKind::usage, fmt::format("{} does not hold {} of {}: npgpu probe compute,bandwidth --append "
                                                "--output {} measures it",
                                                source, key, m.device, source));
  StreamCosts costs = m.costs;
  costs.stream_create = m.create;
  double memory_bytes = 0;
  for (const auto& of : trace.provenance)
    if (model::describes(of, m.device, m.device_uuid))
      for (const char* key : {"memory_bytes", "total_memory_bytes", "memory_total_bytes"})
        if (const double bytes = number_fact(of.second, key); bytes > 0) memory_bytes = bytes;
  TwinJson hardware;
  if (!m.compute_capability.empty()) hardware["compute_capability"] = m.compute_capability;
  TwinJson figures = TwinJson::object();  // with intervals and sources
  static const std::set<std::string_view> elsewhere{"memory_gb_s"};
  for (const auto& [key, e] : m.figures) {
    if (!(std::isfinite(e.value))) continue;
    if (!elsewhere.contains(key)) hardware[key] = e.value;
    figures[key]["value"] = e.value;
    if (std::isfinite(e.low)) figures[key]["low"] = e.low;
    if (std::isfinite(e.high)) figures[key]["high"] = e.high;
    figures[key]["from"] = e.method;
  }
  hardware["stream_create_us"] = microseconds(m.create);
  hardware["stream_destroy_us"] = microseconds(m.destroy);
  if (m.costs.queues.kernel) hardware["hardware_queues"] = m.costs.queues.kernel;
  const Stages calls = m.costs.issue;
  TwinJson twin;
  twin["name"] = m.device_name;
  twin["source"] = fmt::format("derived from {}, measured {} on {}", source, trace.root.start_time_utc, m.device_name);
  twin["memory_bytes"] = static_cast<std::uint64_t>(memory_bytes > 0 ? memory_bytes : 1ull << 34);
  twin["host"]["copy_us"] = microseconds(calls.h2d + m.costs.submit);
  twin["host"]["copy_async_us"] = microseconds(calls.h2d);
  twin["host"]["launch_us"] = microseconds(calls.kernel);
  twin["links"]["h2d"]["pinned"] = link_of(m.costs.copy_h2d, m.costs.gap.h2d);
  twin["links"]["d2h"]["pinned"] = link_of(m.costs.copy_d2h, m.costs.gap.d2h);
  twin["links"]["d2d"]["rate_gb_s"] = m.at("memory_gb_s") / 2;
  twin["links"]["d2d"]["latency_us"] = m.at("empty_kernel_us", 0);  // a copy within the device is a kernel
  twin["copy_engines"] = m.costs.copy_engines;
  twin["duplex"]["sl_h"] = m.costs.duplex_slowdown_h2d;
  twin["duplex"]["sl_d"] = m.costs.duplex_slowdown_d2h;
  twin["hardware"] = hardware;
  twin["figures"] = figures;
  twin["streams"] = TwinJson::parse(text_of(costs));
  return twin.dump(2) + "\n";
}

}  // namespace npgpu

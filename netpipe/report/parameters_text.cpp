// What was derived, beside what the device says of itself.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/report/derived_text.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/layout.hpp"
#include "npgpu/derive.hpp"
#include "npgpu/report.hpp"

namespace npgpu {

namespace {

// Rates in the thousands of millions, sizes as caches are named, with the scale in the unit.
struct Scale {
  double factor = 1;
  std::string unit;
};
Scale scale_of(const Estimate& e) {
  if (e.unit == "bytes per second") return {1e-9, "GB/s"};
  if (e.unit == "operations per second") return {1e-9, "GOP/s"};
  if (e.unit == "bytes" && e.value >= 1 << 20) return {1.0 / (1 << 20), "MiB"};
  if (e.unit == "bytes") return {1.0 / (1 << 10), "KiB"};
  return {1, e.unit == "1" ? "" : e.unit};
}

std::string value_text(const Parameter& p) {
  const Scale scale = scale_of(p.estimate);
  const std::string text = digits_text(p.estimate.value * scale.factor);
  return scale.unit.empty() ? text : text + ' ' + scale.unit;
}

std::string interval_text(const Estimate& e) {
  if (!std::isfinite(e.low) || !std::isfinite(e.high)) return "-";
  const double factor = scale_of(e).factor;
  return digits_text(e.low * factor) + " .. " + digits_text(e.high * factor);
}

}  // namespace

void parameters_text(std::ostream& out, const std::vector<DeviceParameters>& devices, Detail detail, const TextStyle& style) {
  const Ink ink(style.color);
  const auto width = static_cast<std::size_t>(std::max(40, style.width));
  bool first = true;
  for (const DeviceParameters& device : devices) {
    if (!std::exchange(first, false)) out << '\n';
    const std::string name = (device.simulated ? "SIMULATED " : "") + device.device +
                             (device.device_name.empty() ? "" : " (" + device.device_name + ')');
    out << "derived of " << (device.simulated ? ink.alarm(name) : ink.bold(name)) << '\n';
    Table table;
    table.column("parameter", Align::left);
    table.column("value", Align::left);
    table.column("95 % interval", Align::left, 2);
    table.column("device says", Align::right);
    table.column("verdict", Align::left);
    for (const Parameter& p : device.parameters)
      table.row({p.name, value_text(p), interval_text(p.estimate),
                 std::isfinite(p.reference) ? digits_text(p.reference * scale_of(p.estimate).factor) : "-",
                 std::string(npgpu::name(p.verdict)) + (p.note.empty() ? "" : " ?")});
    const auto lines = table.lines(width);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      out << (i == 0 ? ink.dim(lines[i]) : lines[i]);
      if (i == 0 || detail == Detail::brief) continue;
      const Parameter& p = device.parameters[i - 1];
      const auto more = [&](const std::string& text) {
        if (!text.empty()) out << "      " << wrapped(text, width, 8, 6) << '\n';
      };
      more("= " + p.estimate.method);
      more(p.meaning);
      if (!p.reference_source.empty()) more("device: " + p.reference_source);
      if (!p.note.empty()) more("? " + p.note);
    }
    const bool doubts = std::any_of(device.parameters.begin(), device.parameters.end(),
                                    [](const Parameter& p) { return !p.note.empty(); });
    if (doubts && detail == Detail::brief) out << "  ?: something disturbed it; npgpu derive says what\n";
    for (const std::string& why : device.missing) out << "  missing: " << wrapped(why, width, 4, 11) << '\n';
  }
}

void derived_text(std::ostream& out, const Trace& trace, const TextStyle& style) {
  const auto devices = derive(trace);
  if (devices.empty()) return;
  out << '\n';
  parameters_text(out, devices, Detail::brief, style);
}

}  // namespace npgpu

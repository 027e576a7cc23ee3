// Derived parameters, each with what the driver or the system reports.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

// Rates in units of 1e9, sizes of caches in KiB or MiB, with the scale in the unit.
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

// A reference has the estimate's unit; where nothing could be estimated there may be none, and the number says nothing.
std::string reference_text(const Parameter& p) {
  if (!std::isfinite(p.reference) || p.estimate.unit.empty()) return "-";
  return digits_text(p.reference * scale_of(p.estimate).factor);
}

}  // namespace

void parameters_text(std::ostream& out, const std::vector<DeviceParameters>& devices, Detail detail,
                     const TextStyle& style) {
  Page page(style);
  for (const DeviceParameters& device : devices) {
    if (&device != &devices.front()) page.text += '\n';
    const bool host = device.device.starts_with("host");
    const std::string name = device.device + (device.device_name.empty() ? "" : " (" + device.device_name + ')');
    page.title("derived parameters of " + name, device.simulated);
    Table table;
    table.column("parameter", Align::left);
    table.column("value", Align::left);
    table.column("95 % interval", Align::left, 2);
    table.column("reported", Align::right, 1);
    table.column("verdict", Align::left);
    for (const Parameter& p : device.parameters)
      table.row({p.name, value_text(p), range_text(p.estimate, scale_of(p.estimate).factor), reference_text(p),
                 std::string(npgpu::name(p.verdict)) + (p.note.empty() ? "" : " ?")});
    const std::string reporter = host ? "by the system" : "by the driver";
    if (!device.parameters.empty())
      page.rows(table, [&](std::size_t i) {
        if (detail == Detail::brief) return;
        const Parameter& p = device.parameters[i];
        const auto more = [&](const std::string& text) {
          if (!text.empty()) page.text += "      " + wrapped(text, page.width, 8, 6) + '\n';
        };
        more("= " + p.estimate.method);
        more(p.meaning);
        if (!p.reference_source.empty()) more("reported " + reporter + ": " + p.reference_source);
        if (!p.note.empty()) more("? " + p.note);
      });
    const bool references = std::any_of(device.parameters.begin(), device.parameters.end(),
                                        [](const Parameter& p) { return std::isfinite(p.reference); });
    const bool notes = std::any_of(device.parameters.begin(), device.parameters.end(),
                                   [](const Parameter& p) { return !p.note.empty(); });
    if (references) page.note("reported: " + reporter);
    if (notes && detail == Detail::brief) page.note("?: something disturbed it; npgpu derive explains what");
    page.note_left_out(table);
    for (const std::string& why : device.missing) page.note("missing: " + why);
  }
  out << page.text;
}

void derived_text(std::ostream& out, const Trace& trace, const TextStyle& style) {
  const auto devices = derive(trace);
  if (devices.empty()) return;
  out << '\n';
  parameters_text(out, devices, Detail::brief, style);
}

}  // namespace npgpu

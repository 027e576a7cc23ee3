// Derived parameters, each with what the driver or the system reports.
#include <algorithm>
#include <cmath>

#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

// Rates in units of 1e9, sizes of caches in KiB or MiB, with the scale in the unit.
struct UnitScale {
  double factor = 1;
  std::string unit;
};
UnitScale scale_of(const Estimate& e) {
  if (e.unit == "bytes per second") return {1e-9, "GB/s"};
  if (e.unit == "operations per second") return {1e-9, "GOP/s"};
  if (e.unit == "bytes" && e.value >= 1 << 20) return {1.0 / (1 << 20), "MiB"};
  if (e.unit == "bytes") return {1.0 / (1 << 10), "KiB"};
  return {1, e.unit == "1" ? "" : e.unit};
}

std::string value_text(const Parameter& p) {
  const UnitScale scale = scale_of(p.estimate);
  return digits_text(p.estimate.value * scale.factor) + (scale.unit.empty() ? "" : ' ' + scale.unit);
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
    page.title("derived parameters of " + device_text(device.device, device.device_name), device.simulated);
    Table table({left("parameter"), left("value"), left("95 % interval", 2), right("reported", 1), left("verdict")});
    for (const Parameter& p : device.parameters)
      table.row({p.name, value_text(p), range_text(p.estimate, scale_of(p.estimate).factor), reference_text(p),
                 std::string(name(p.verdict)) + (p.note.empty() ? "" : " ?")});
    const std::string reporter = device.device.starts_with("host") ? "by the system" : "by the driver";
    if (!device.parameters.empty())
      page.rows(table, [&](std::size_t i, const std::string& line) {
        page.text += line;
        if (detail == Detail::brief) return;
        const Parameter& p = device.parameters[i];
        page.note("= " + p.estimate.method, false, 6);
        if (!p.meaning.empty()) page.note(p.meaning, false, 6);
        if (!p.reference_source.empty()) page.note("reported " + reporter + ": " + p.reference_source, false, 6);
        if (!p.note.empty()) page.note("? " + p.note, false, 6);
      });
    const auto any = [&](auto&& has) { return std::ranges::any_of(device.parameters, has); };
    if (any([](const Parameter& p) { return std::isfinite(p.reference); })) page.note("reported: " + reporter);
    if (detail == Detail::brief && any([](const Parameter& p) { return !p.note.empty(); }))
      page.note("?: something disturbed it; npgpu derive explains what");
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

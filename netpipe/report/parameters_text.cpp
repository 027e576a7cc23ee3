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

Document parameters_document(const std::vector<DeviceParameters>& devices, Detail detail) {
  Document doc;
  for (const DeviceParameters& device : devices) {
    if (&device != &devices.front()) doc.gap();
    doc.title("derived parameters of " + device_text(device.device, device.device_name), device.simulated);
    Table table({left("parameter"), left("value"), left("95 % interval", 2), right("reported", 1), left("verdict")});
    for (const Parameter& p : device.parameters)
      table.row({p.name, value_text(p), range_text(p.estimate, scale_of(p.estimate).factor), reference_text(p),
                 std::string(name(p.verdict)) + (p.note.empty() ? "" : " ?")});
    const std::string reporter = device.device.starts_with("host") ? "by the system"
                                 : device.simulated                ? "by its spec"
                                                                   : "by the driver";
    Document::Rows rows{std::move(table)};
    if (detail == Detail::full)
      for (const Parameter& p : device.parameters) {
        std::vector<Note>& below = rows.below.emplace_back();
        const auto add = [&](const std::string& said, const char* before) {
          if (!said.empty()) below.push_back({before + said, false, 6});
        };
        below.push_back({"= " + p.estimate.method, false, 6});
        add(p.meaning, "");
        add(p.reference_source,
            p.reference_source.starts_with("not reported") ? "" : ("reported " + reporter + ": ").c_str());
        add(p.note, "? ");
      }
    if (!device.parameters.empty()) doc.add(std::move(rows));
    const auto any = [&](auto&& has) { return std::ranges::any_of(device.parameters, has); };
    if (any([](const Parameter& p) { return std::isfinite(p.reference); })) doc.note("reported: " + reporter);
    if (detail == Detail::brief && any([](const Parameter& p) { return !p.note.empty(); }))
      doc.note("?: in doubt; npgpu derive explains why");
    doc.left_out();
    for (const std::string& why : device.missing) doc.note("missing: " + why);
  }
  return doc;
}

void parameters_text(std::ostream& out, const std::vector<DeviceParameters>& devices, Detail detail,
                     const TextStyle& style) {
  out << to_text(parameters_document(devices, detail), style);
}

}  // namespace npgpu

// A roofline: the roofs with their ridges, and kernels of the user's own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "netpipe/report/json.hpp"
#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

constexpr double least_gain = 1.05;

std::string rate_in(const std::string& unit, double rate) {
  return figure_text(rate, unit == "B/s"      ? FigureUnit::bytes_per_s
                           : unit == "FLOP/s" ? FigureUnit::flop_per_s
                                              : FigureUnit::operations_per_s);
}

std::string intensity_digits(double intensity) {
  return std::isinf(intensity) ? "no bytes" : digits_text(intensity, 4, 4);
}

Table kernel_table(const std::vector<PlacedKernel>& kernels) {
  Table table({left("kernel"), right("launches", 3), decimal("FLOP/B"), right("rate", 1), right("time", 1),
               left("bound by"), decimal("% of it"), right("least time", 2), left("also uses", 4)});
  for (const PlacedKernel& p : kernels) {
    std::string others;
    for (std::size_t i = 1; i < p.uses.size(); ++i)
      others +=
          fmt::format("{}{} {} %", others.empty() ? "" : ", ", p.uses[i].roof, percent_text(100 * p.uses[i].share));
    table.row({p.kernel.name, std::to_string(p.kernel.launches), intensity_digits(p.intensity), rate_in(p.unit, p.rate),
               short_time_text(microseconds(p.kernel.time)), p.bound.empty() ? "-" : p.bound,
               percent_text(100 * p.share), short_time_text(p.least_us), others});
  }
  return table;
}

// What could be gained, in a sentence.
std::string gain_text(const PlacedKernel& p) {
  if (p.bound.empty()) return fmt::format("{}: no roof that it is compared with is in the trace", p.kernel.name);
  if (p.is_beyond())
    return fmt::format("{}: {:.0f} % of the roof of {}: its counts or its time are not those of this device{}",
                       p.kernel.name, 100 * p.share, p.bound, p.is_bound_by_memory ? ", or a cache answered" : "");
  const double gain = 1 / p.share;
  if (gain < least_gain)
    return fmt::format("{}: {} is at its roof: less work there is the way on", p.kernel.name, p.bound);
  return fmt::format("{}: {} bounds it, and it would be up to {:.1f} times as fast at that roof", p.kernel.name,
                     p.bound, gain);
}

void add_kernels(Document& doc, const std::vector<PlacedKernel>& kernels) {
  if (kernels.empty()) return;
  doc.gap();
  doc.table(kernel_table(kernels));
  doc.note("% of it: of the kernel's time, what this work takes at that roof; least time: of this work, at that roof");
  constexpr std::size_t most = 20;
  for (std::size_t i = 0; i < std::min(kernels.size(), most); ++i) doc.note(gain_text(kernels[i]));
  std::set<std::string> unknown;
  for (const PlacedKernel& p : kernels) unknown.insert(p.unknown.begin(), p.unknown.end());
  for (const std::string& roof : unknown)
    doc.note(fmt::format("the trace has no roof of {}: that work is left out", roof), true);
}

bool reads_memory(const std::string& level) { return level == "memory"; }

// Where arithmetic meets L2 and shared memory; the memory's own ridges are in the table of roofs.
Table ridge_table(const Roofline& device, const std::vector<std::string>& levels) {
  std::vector<Column> columns{left("ridge FLOP/B")};
  for (const std::string& level : levels) {
    columns.push_back(decimal("of " + level));
    columns.push_back(right("95 % interval"));
  }
  Table table(columns);
  for (const Roof& roof : device.roofs) {
    if (roof.is_memory) continue;
    std::vector<std::string> row{roof.name};
    for (const Ridge& ridge : device.ridges)
      if (ridge.arithmetic == roof.name && !reads_memory(ridge.memory)) {
        row.push_back(digits_text(ridge.intensity.value));
        row.push_back(range_text(ridge.intensity));
      }
    table.row(row);
  }
  return table;
}

void add_ridges(Document& doc, const Roofline& device) {
  std::vector<std::string> levels;
  for (const Ridge& ridge : device.ridges)
    if (!reads_memory(ridge.memory) && std::ranges::find(levels, ridge.memory) == levels.end())
      levels.push_back(ridge.memory);
  if (levels.empty()) return;
  doc.gap();
  doc.table(ridge_table(device, levels));
}

// Their doubts matter.
std::set<std::string> roofs_held_against(const RooflineReport& of) {
  std::set<std::string> all{"memory"};
  for (const PlacedKernel& p : of.kernels)
    for (const PlacedKernel::Use& use : p.uses) all.insert(use.roof);
  return all;
}

}  // namespace

Table roof_table(const Roofline& device) {
  Table table({left("roof"), right("rate"), right("95 % interval", 1), decimal("MHz", 3), decimal("ridge FLOP/B"),
               right("95 % interval", 2), left("shape", 4)});
  for (const Roof& roof : device.roofs) {
    const auto ridge = std::ranges::find_if(
        device.ridges, [&](const Ridge& r) { return r.arithmetic == roof.name && r.memory == "memory"; });
    const bool has = ridge != device.ridges.end();
    table.row({roof.name, rate_in(roof.rate.unit, roof.rate.value), interval_text(roof.rate),
               digits_text(roof.clock_mhz), has ? digits_text(ridge->intensity.value) : "-",
               has ? range_text(ridge->intensity) : "-", roof.at});
  }
  return table;
}

Document roofline_document(const RooflineReport& of) {
  Document doc;
  const Roofline& device = of.roofline;
  doc.title("roofline of " + device_text(device.device, device.device_name), device.simulated);
  if (!device.roofs.empty()) {
    doc.table(roof_table(device));
    doc.note("ridge: from so many operations a byte of memory on, arithmetic bounds and not memory");
  }
  const auto held_against = roofs_held_against(of);
  for (const Roof& roof : device.roofs)
    if (held_against.contains(roof.name))
      for (const std::string& doubt : roof.doubts) doc.note(fmt::format("{}: {}", roof.name, doubt));
  add_ridges(doc, device);
  add_kernels(doc, of.kernels);
  for (const std::string& why : device.missing) doc.note("missing: " + why);
  return doc;
}

void roofline_text(std::ostream& out, std::span<const RooflineReport> all, const TextStyle& style) {
  Document doc;
  for (const RooflineReport& one : all) {
    if (&one != all.data()) doc.gap();
    doc.add(roofline_document(one));
  }
  out << to_text(doc, style);
}

NPGPU_FORM(PlacedKernel::Use, &T::roof, &T::share);
NPGPU_FORM(PlacedKernel, within<&T::kernel, &UserKernel::name>, within<&T::kernel, &UserKernel::launches>,
           within<&T::kernel, &UserKernel::operations>, within<&T::kernel, &UserKernel::bytes>,
           us<"time_us", within<&T::kernel, &UserKernel::time>>, &T::intensity, called<"operations_per_s", &T::rate>,
           known<&T::bound>, &T::share, &T::least_us, &T::uses, &T::unknown);
NPGPU_FORM(Roof, &T::name,
           called<"kind", [](const T& r) { return std::string_view(r.is_memory ? "memory" : "arithmetic"); }>,
           called<"rate_per_s", &T::rate>, &T::clock_mhz, &T::at, &T::doubts);
NPGPU_FORM(Ridge, &T::arithmetic, &T::memory, &T::intensity);
// `bytes` are those of the memory, `unknown` the roofs that the trace lacks.
NPGPU_DEFINE_FORM(RooflineReport, within<&T::roofline, &Roofline::device>, within<&T::roofline, &Roofline::device_name>,
                  within<&T::roofline, &Roofline::simulated>, within<&T::roofline, &Roofline::roofs>,
                  within<&T::roofline, &Roofline::ridges>, &T::kernels, within<&T::roofline, &Roofline::missing>);

void roofline_json(std::ostream& out, std::span<const RooflineReport> all) {
  write_document(out, "npgpu-roofline", 1, Listed<"devices", RooflineReport>{{all.begin(), all.end()}});
}

}  // namespace npgpu

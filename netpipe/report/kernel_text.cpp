// The time of a kernel that nobody has run yet: by itself, and as a part of a prediction.
#include "netpipe/report/kernel_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "netpipe/report/document.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/json.hpp"

namespace npgpu {

namespace {

std::string between_text(Seconds low, Seconds high) {
  if (std::isnan(high.count())) return "at least " + time_text(microseconds(low));
  return fmt::format("{} .. {}", time_text(microseconds(low)), time_text(microseconds(high)));
}

std::string figure_text(double value) { return std::isfinite(value) ? fmt::format("{:.4g}", value) : "-"; }

// Where a figure comes from, in a word or two; JSON has all of it.
std::string source_text(const std::string& method) {
  for (const auto& [mark, text] : {std::pair{"probe bandwidth", "probe bandwidth"},
                                   {"driver", "driver"},
                                   {"spec", "spec"},
                                   {"assumed", "assumed"},
                                   {"probe compute", "probe compute"},
                                   {"counted", "probe compute"},
                                   {"overheads", "streams"},
                                   {"H200s", "kept traces"}})
    if (method.find(mark) != std::string::npos) return text;
  return "probe bandwidth";
}

}  // namespace

void kernel_lines(Document& doc, const KernelTime& t) {
  doc.labelled("kernel", fmt::format("{} ({}), bound by {}", time_text(microseconds(t.likely)),
                                     between_text(t.low, t.high), name(t.bound)));
  if (t.arithmetic.count() > 0 && t.memory.count() > 0)
    doc.labelled("alone", fmt::format("arithmetic {}, memory {}", time_text(microseconds(t.arithmetic)),
                                      time_text(microseconds(t.memory))));
  std::string waves = fmt::format("{:.4g} of {} blocks at once", t.waves, t.slots);
  if (t.last_wave > 1.1 && t.waves > 1)
    waves += fmt::format("; the last is not full, and the kernel takes up to {:.2f} times as long as if all were",
                         t.last_wave);
  doc.labelled("waves", waves);
}

void kernel_figures_table(Document& doc, const KernelTime& t) {
  Table table({left("figure"), right("value"), left("95 % interval", 1), right("longer"), left("from", 3)});
  for (const KernelTime::Used& used : t.used) {
    const Estimate& e = used.figure;
    const bool is_exact = e.low == e.value && e.high == e.value;
    table.row({used.key, figure_text(e.value),
               is_exact || !std::isfinite(e.low + e.high) ? "" : figure_text(e.low) + " .. " + figure_text(e.high),
               used.longer >= 5e-4 ? fmt::format("{:.1f} %", 100 * used.longer) : "", source_text(e.method)});
  }
  doc.table(std::move(table));
  doc.note("longer: the kernel, with this figure at the worse end of its interval");
}

void kernel_text(std::ostream& out, const KernelReport& of, const TextStyle& style) {
  Document doc;
  doc.title(fmt::format("time of a kernel on {} ({})", of.device->device, of.device->device_name),
            of.device->simulated);
  kernel_lines(doc, of.time);
  doc.gap();
  kernel_figures_table(doc, of.time);
  for (const auto* notes : {&of.device->warnings, &of.time.notes})
    for (const std::string& note : *notes) doc.note(note);
  out << to_text(doc, style);
}

NPGPU_FORM(DeviceModel, &T::device, &T::device_name, &T::simulated, &T::warnings);
NPGPU_FORM(KernelReport, in_place<[](const T& of) -> const DeviceModel& { return *of.device; }>,
           called<"kernel", &T::time>);

void kernel_json(std::ostream& out, const KernelReport& of) { write_document(out, "npgpu-kernel", 1, of); }

}  // namespace npgpu

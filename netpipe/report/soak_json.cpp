#include "netpipe/report/json.hpp"
#include "npgpu/soak_figures.hpp"

namespace npgpu {

namespace {

// A column of all slices.
template <class Of> Json column(const SoakFigure& f, Of of) {
  return array_of(f.samples, [&](const SoakSample& s) { return json_of(of(s)); });
}

}  // namespace

Json soak_json(const SoakDevice& d, SoakDetail detail) {
  Json one({entry("device", d.id), entry("device_name", d.name), entry("simulated", d.simulated),
            entry("elapsed_s", d.elapsed_s), entry("slices", d.slices), entry("temperature_c", d.temperature_c),
            entry("highest_temperature_c", d.highest_c)});
  one["loads"] = array_of(d.loads, [&](const SoakFigure& f) {
    Json load({entry("name", f.name()), entry("part", f.part), entry("together", f.is_together()),
               entry("counts", counts_operations(f.part) ? "operations" : "bytes"), entry("slices", f.slices),
               entry("begin_per_s", f.begin), entry("end_per_s", f.end), entry("lowest_per_s", f.lowest),
               entry("change", f.change), entry("clock_mhz", f.clock_mhz), entry("temperature_c", f.temperature_c),
               entry("power_w", f.power_w), entry("compared", f.compared), entry("mismatches", f.mismatches)});
    if (detail == SoakDetail::loads) return load;
    load["course"] = Json({entry("elapsed_s", column(f, [](const SoakSample& s) { return s.elapsed_s; })),
                           entry("rate_per_s", column(f, [](const SoakSample& s) { return rate_of(s); })),
                           entry("clock_mhz", column(f, [](const SoakSample& s) { return s.sm_clock_mhz; })),
                           entry("temperature_c", column(f, [](const SoakSample& s) { return s.temperature_c; })),
                           entry("power_w", column(f, [](const SoakSample& s) { return s.power_w; }))});
    return load;
  });
  one["throttles"] = array_of(d.throttles, [](const SoakDevice::Throttle& t) {
    return Json({entry("reason", throttle_text(t.reason)), entry("at_s", t.at_s), entry("last_s", t.last_s),
                 entry("slices", t.slices)});
  });
  one["wrong_words"] = array_of(d.words, [](const SoakSample& w) {
    return Json({entry("address", w.address), entry("pattern", w.pattern), entry("expected", w.expected),
                 entry("found", w.found), entry("bits", w.expected ^ w.found), entry("again", w.again)});
  });
  one["errors"] = Json(d.errors);
  return one;
}

}  // namespace npgpu

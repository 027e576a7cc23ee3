#include "netpipe/report/json.hpp"

namespace npgpu {

namespace {

Json use_json(const PlacedKernel::Use& use) { return Json({entry("roof", use.roof), entry("share", use.share)}); }

Json placed_json(const PlacedKernel& p) {
  return Json({entry("name", p.kernel.name),
               entry("launches", p.kernel.launches),
               entry("operations", p.kernel.operations()),
               entry("bytes", p.kernel.bytes()),
               entry("time_us", microseconds(p.kernel.time)),
               entry("intensity", p.intensity),
               entry("operations_per_s", p.rate),
               entry("bound", or_null(p.bound)),
               entry("share", p.share),
               entry("least_us", p.least_us),
               {"uses", array_of(p.uses, use_json)},
               entry("unknown", p.unknown)});
}

}  // namespace

// One device:
//   { device, device_name, simulated,
//     "roofs": [ { name, kind ("memory" or "arithmetic"), rate_per_s, clock_mhz, at (the shape), doubts } ],
//     "ridges": [ { arithmetic, memory, intensity (operations a byte) } ],
//     "kernels": [ { name, launches, operations, bytes (of the memory), time_us, intensity, operations_per_s, bound,
//       share (of its time that it could not do without), least_us, "uses": [ { roof, share } ], unknown (roofs that
//       the trace lacks) } ],
//     missing }
Json json_of(const RooflineReport& of) {
  const Roofline& device = of.roofline;
  return Json({entry("device", device.device),
               entry("device_name", device.device_name),
               entry("simulated", device.simulated),
               {"roofs", array_of(device.roofs,
                                  [](const Roof& r) {
                                    return Json({entry("name", r.name),
                                                 entry("kind", r.is_memory ? "memory" : "arithmetic"),
                                                 entry("rate_per_s", r.rate), entry("clock_mhz", r.clock_mhz),
                                                 entry("at", r.at), entry("doubts", r.doubts)});
                                  })},
               {"ridges", array_of(device.ridges,
                                   [](const Ridge& r) {
                                     return Json({entry("arithmetic", r.arithmetic), entry("memory", r.memory),
                                                  entry("intensity", r.intensity)});
                                   })},
               {"kernels", array_of(of.kernels, placed_json)},
               entry("missing", device.missing)});
}

void roofline_json(std::ostream& out, std::span<const RooflineReport> all) {
  write_json(out,
             {entry("document", "npgpu-roofline"),
              entry("version", 1),
              {"devices", array_of(all, [](const RooflineReport& one) { return json_of(one); })}},
             1);
}

}  // namespace npgpu

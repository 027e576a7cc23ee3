// export --format gbench: a trace as the JSON that Google Benchmark writes, for tools/compare.py and others that read
// it. A benchmark is a point, and real_time the figure that stands for it: the median time of one operation over
// visits. Google Benchmark knows no intervals: they are counters, as are value, low and high in the point's own unit.
// cpu_time is 0, as npgpu does not take it. A point without a usable result has error_occurred and the reason.
#include "netpipe/report/json.hpp"
#include "netpipe/report/point_figures.hpp"

namespace npgpu {

void export_gbench(std::ostream& out, const Trace& trace) {
  Json json({entry("context",
                   Json{entry("date", trace.root.start_time_utc), entry("host_name", trace.root.hostname),
                        entry("executable", "npgpu " + trace.root.tool_version), entry("library_build_type", "release"),
                        entry("json_schema_version", 1), entry("run_uuid", trace.root.run_uuid)}),
             entry("benchmarks", Json::array())});
  for (const NamedFigure& f : named_figures(trace)) {
    Json one({entry("name", f.name()), entry("run_name", f.name()), entry("run_type", "iteration"),
              entry("repetitions", 1), entry("repetition_index", 0), entry("threads", 1)});
    if (f.why_unusable.empty()) {
      one.update({{"iterations", f.trials}, {"real_time", f.time_us.value}, {"cpu_time", 0.0}, {"time_unit", "us"}});
      one.update({{"real_time_low", json_of(f.time_us.low)}, {"real_time_high", json_of(f.time_us.high)}});
      if (f.figure.unit == "B/s") one["bytes_per_second"] = f.figure.value;
      else if (f.figure.unit != "us" && f.figure.unit != "ns") one["items_per_second"] = f.figure.value;
      one.update({{"value", f.figure.value}, {"low", json_of(f.figure.low)}, {"high", json_of(f.figure.high)}});
      one["label"] = f.figure.unit;
    } else {
      one.update({{"error_occurred", true}, {"error_message", f.why_unusable}});
      one.update({{"iterations", 0}, {"real_time", 0.0}, {"cpu_time", 0.0}, {"time_unit", "us"}});
    }
    json["benchmarks"].push_back(std::move(one));
  }
  write_json(out, json, 1);
}

}  // namespace npgpu

// export --format bencher: a trace in Bencher's Metric Format (https://bencher.dev/bmf.json), to be sent by
// `bencher run --adapter json`. A benchmark is a point; it has the measure "latency", the time of one operation in ns,
// as Bencher has it, and where the point is known by a rate also that, by its unit. Points without a usable result are
// left out: the format has no word for them.
#include <cctype>
#include <cmath>

#include "netpipe/report/json.hpp"
#include "netpipe/report/point_figures.hpp"

namespace npgpu {

namespace {

// No bound where there is no interval.
Json metric(double value, double low, double high) {
  Json one{{"value", value}};
  if (std::isfinite(low)) one["lower_value"] = low;
  if (std::isfinite(high)) one["upper_value"] = high;
  return one;
}

// "bytes-per-second", "flop-per-second", "atomics-per-second".
std::string measure_of_rate(const std::string& unit) {
  const std::string work = unit.substr(0, unit.find('/'));
  if (work == "B") return "bytes-per-second";
  std::string measure;
  for (const char c : work) measure += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return measure + "-per-second";
}

}  // namespace

void export_bencher(std::ostream& out, const Trace& trace) {
  Json json = Json::object();
  for (const NamedFigure& f : named_figures(trace)) {
    if (!f.why_unusable.empty()) continue;
    Json& one = json[f.name()];
    one["latency"] = metric(f.time_us.value * 1e3, f.time_us.low * 1e3, f.time_us.high * 1e3);
    if (f.figure.unit.ends_with("/s"))
      one[measure_of_rate(f.figure.unit)] = metric(f.figure.value, f.figure.low, f.figure.high);
  }
  write_json(out, json, 1);
}

}  // namespace npgpu

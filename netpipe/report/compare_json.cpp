// compare --json. Keys are stable; null is what one trace does not have.
//
//   { "document": "npgpu-compare", "version": 1, "tolerance": 0.05,
//     "counts": { "same": 54, "faster": 0, "slower": 2, "unclear": 0, "only-a": 0, "only-b": 0 },
//     "points": [ { title, bytes, lane, shape (of a probe, else null), job (in streams, else null), a_us, b_us,
//                   change (b/a - 1, positive is slower), verdict } ] }
#include "netpipe/report/job_json.hpp"
#include "netpipe/report/probe_json.hpp"
#include "npgpu/report.hpp"

namespace npgpu {

void compare_json(std::ostream& out, const std::vector<PointComparison>& points, double tolerance) {
  Json counts = Json::object();
  for (const std::string_view verdict : names_of<Verdict>) counts[std::string(verdict)] = 0;
  Json rows = Json::array();
  for (const PointComparison& p : points) {
    Json& n = counts[std::string(name(p.verdict))];
    n = n.get<std::uint64_t>() + 1;
    rows.push_back({{"title", p.title},
                    {"bytes", p.bytes},
                    {"lane", p.lane},
                    {"shape", p.axes ? json_of(*p.axes) : Json(nullptr)},
                    {"job", p.axes ? json_of(*p.axes) : Json(nullptr)},
                    {"a_us", json_of(p.a_us)},
                    {"b_us", json_of(p.b_us)},
                    {"change", json_of(p.change)},
                    {"verdict", name(p.verdict)}});
  }
  write_json(out,
             Json{{"document", "npgpu-compare"},
                  {"version", 1},
                  {"tolerance", json_of(tolerance)},
                  {"counts", std::move(counts)},
                  {"points", std::move(rows)}},
             1);
}

}  // namespace npgpu

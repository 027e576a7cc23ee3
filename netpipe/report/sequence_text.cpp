// Several unlike jobs: what each is advised, and the order in which they end soonest. The JSON document:
//
//   { "document": "npgpu-sequence", "version": 1, "device", "device_name", "simulated",
//     "jobs": [ { name, in_bytes, kernel_us, out_bytes, blocks, streams, chunks, order, time_us, bound } ] as given,
//     "best": { "order": [ names ], "numbers": [ from 0 ], total_us, "ends_us": [ in that order ] },
//     "given": { total_us, "ends_us" }, "apart_us": each waited for before the next, tried, all (of the orders) }
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "netpipe/report/document.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/json.hpp"

namespace npgpu {

namespace {

std::string part_text(std::uint64_t bytes) { return bytes ? typed_size_text(bytes) : "-"; }

// "H2D copy engine" without how long it is busy.
std::string bound_name(Bound bound) { return bottleneck_text(bound, Seconds{0}, Seconds{0}); }

std::string against(Seconds time, Seconds other) { return fmt::format("{:+.1f} %", 100 * (time / other - 1)); }

std::vector<double> microseconds_of(const std::vector<Seconds>& times) {
  std::vector<double> all;
  for (const Seconds t : times) all.push_back(microseconds(t));
  return all;
}

}  // namespace

void sequence_text(std::ostream& out, const SequenceReport& of, const TextStyle& style) {
  Document doc;
  const SequenceAdvice& a = of.advice;
  const auto time = [](Seconds t) { return time_text(microseconds(t)); };
  doc.title(fmt::format("prediction for {} ({}): {}", of.costs->device, of.costs->device_name,
                        counted(of.plans.size(), "job")),
            of.costs->simulated);
  doc.gap();
  Table table({right("runs as"), left("job"), right("in", 2), right("kernel", 2), right("out", 2), right("streams"),
               right("alone"), left("bottleneck", 1), right("ends at")});
  for (std::size_t at = 0; at < a.order.size(); ++at) {
    const PlannedJob& one = of.plans[a.order[at]];
    table.row({fmt::format("{}", at + 1), one.name, part_text(one.job.in_bytes),
               one.job.kernel.count() > 0 ? time(one.job.kernel) : "-", part_text(one.job.out_bytes),
               std::to_string(one.chunks), time(of.times[a.order[at]]), bound_name(of.bounds[a.order[at]]),
               time(a.run.ends[at])});
  }
  doc.table(std::move(table));
  doc.gap();
  doc.labelled("this order", time(a.run.total));
  doc.labelled("as given", fmt::format("{}, {}", time(a.given.total), against(a.given.total, a.run.total)));
  doc.labelled("waited for", fmt::format("{}, {}: each job alone, the next one after its end", time(a.apart),
                                         against(a.apart, a.run.total)));
  // Which no order makes shorter.
  const auto [bound, busy] = busiest(a.run.busy, of.costs->costs.copy_engines);
  doc.labelled("bottleneck", bottleneck_text(bound, busy, a.run.total));
  doc.labelled("searched", a.all ? fmt::format("all {} orders", a.tried)
                                 : fmt::format("{} of all orders: Johnson's rule, insertion by length, then moves and "
                                               "swaps as long as they gain; a better one may exist",
                                               a.tried));
  doc.note(
      "Each job has the fewest streams within 1 % of its best time alone, and streams and buffers of its own; the host "
      "issues one job after the other and waits for none. How unlike jobs share the multiprocessors is modelled, and "
      "was "
      "not compared with measured lists.");
  doc.left_out();
  out << to_text(doc, style);
}

void sequence_json(std::ostream& out, const SequenceReport& of) {
  const SequenceAdvice& a = of.advice;
  Json jobs = Json::array();
  for (std::size_t i = 0; i < of.plans.size(); ++i) {
    const PlannedJob& one = of.plans[i];
    jobs.push_back({entry("name", one.name), entry("in_bytes", one.job.in_bytes),
                    entry("kernel_us", microseconds(one.job.kernel)), entry("out_bytes", one.job.out_bytes),
                    entry("blocks", one.job.blocks), entry("streams", one.chunks), entry("chunks", one.chunks),
                    entry("order", one.order), entry("time_us", microseconds(of.times[i])),
                    entry("bound", of.bounds[i])});
  }
  std::vector<std::string> names;
  for (const std::size_t job : a.order) names.push_back(of.plans[job].name);
  write_json(
      out,
      Json({entry("document", "npgpu-sequence"), entry("version", 1), entry("device", of.costs->device),
            entry("device_name", of.costs->device_name), entry("simulated", of.costs->simulated), entry("jobs", jobs),
            entry("best",
                  Json{entry("order", names), entry("numbers", a.order), entry("total_us", microseconds(a.run.total)),
                       entry("ends_us", microseconds_of(a.run.ends))}),
            entry("given", Json{entry("total_us", microseconds(a.given.total)),
                                entry("ends_us", microseconds_of(a.given.ends))}),
            entry("apart_us", microseconds(a.apart)), entry("tried", a.tried), entry("all", a.all)}),
      1);
}

}  // namespace npgpu

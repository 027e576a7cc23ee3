// predict --json and simulate --json. Keys are stable; new ones may be added. Times are microseconds.
//
//   { "document": "npgpu-prediction", "version": 1, "device", "device_name", "simulated",
//     "job": { in_bytes, out_bytes, kernel_us, blocks, slots }, "order",
//     "best": { streams, fewest, most, time_us, low_us, high_us, speed_up, bound, bound_time_us },
//     "advised": { streams, chunks, order, time_us, chunk_in_bytes, chunk_out_bytes, device_bytes },
//     "lean": the same with the least device memory, or null, "max_memory_bytes": null where it is not limited,
//     "graph": { chains, time_us, gain (over the advised streams, a share), instantiate_us, pays_after (launches), or
//                null } or null where its costs are not known,
//     "error": { source, from_us, to_us, workloads, median, p95, most } of measured jobs as long as this one, or null,
//     "notes": [ sentences ],
//     "candidates": [ { streams, time_us, low_us, high_us } ] }
//   With limited memory `advised` is the best that fits, and `best` what would be best without the limit.
//
//   { "document": "npgpu-simulation", "version": 1, "node", "simulated": true,
//     "job": { in_bytes, out_bytes, kernel_us, blocks, slots }, "order", "streams", "chunks", "total_us",
//     "busy_us": { host, copy_in, copy_out, compute },
//     "best": { streams, time_us, speed_up (over one stream), bound, bound_time_us },
//     "candidates": [ { streams, time_us } ],
//     "timeline": [ { stage, chunk, queue, server, start_us, end_us } ] }
//   A simulation's times are from the first stream's creation.
#include "netpipe/report/json.hpp"

namespace npgpu {

namespace {

Json us(Seconds t) { return json_of(microseconds(t)); }

Json job_json(const Job& job) {
  return Json({entry("in_bytes", job.in_bytes), entry("out_bytes", job.out_bytes), entry("kernel_us", us(job.kernel)),
               entry("blocks", job.blocks), entry("slots", job.slots)});
}

Json split_json(const Job& job, const SplitTime& s) {
  const Buffers b = buffers_of(job, s.chunks, s.streams);
  return Json({entry("streams", s.streams), entry("chunks", s.chunks), entry("order", s.order),
               entry("time_us", us(s.run.total)), entry("chunk_in_bytes", b.in_bytes),
               entry("chunk_out_bytes", b.out_bytes), entry("device_bytes", b.all_bytes)});
}

Json graph_advice_json(const GraphAdvice& g) {
  return Json({entry("chains", g.advised.streams), entry("time_us", us(g.advised.run.total)), entry("gain", g.gain),
               entry("instantiate_us", g.instantiate ? us(*g.instantiate) : Json(nullptr)),
               entry("pays_after", g.pays_after ? json_of(*g.pays_after) : Json(nullptr))});
}

Json error_json(const Advice& a) {
  if (!a.error) return nullptr;
  const LengthClass& c = *a.error;
  return Json({entry("source", a.error_source), entry("from_us", c.from_us), entry("to_us", c.to_us),
               entry("workloads", c.workloads), entry("median", c.error.median), entry("p95", c.error.p95),
               entry("most", c.error.most)});
}

}  // namespace

void forecast_json(std::ostream& out, const ForecastReport& of) {
  const Prediction& p = of.forecast.prediction;
  const Estimate& best = of.forecast.time_us;
  Json json({entry("document", "npgpu-prediction"), entry("version", 1), entry("device", of.costs->device),
             entry("device_name", of.costs->device_name), entry("simulated", of.costs->simulated),
             entry("job", job_json(of.job)), entry("order", of.order),
             entry("best", Json{entry("streams", p.streams), entry("fewest", of.forecast.fewest),
                                entry("most", of.forecast.most), entry("time_us", best.value),
                                entry("low_us", best.low), entry("high_us", best.high), entry("speed_up", p.speed_up),
                                entry("bound", p.bound), entry("bound_time_us", us(p.bound_time))}),
             entry("advised", split_json(of.job, of.advice.advised)),
             entry("lean", of.advice.lean ? split_json(of.job, *of.advice.lean) : Json(nullptr)),
             entry("graph", of.advice.graph ? graph_advice_json(*of.advice.graph) : Json(nullptr)),
             entry("max_memory_bytes", of.advice.max_memory ? Json(*of.advice.max_memory) : Json(nullptr)),
             entry("error", error_json(of.advice)), entry("notes", of.notes), entry("candidates", Json::array())});
  for (std::size_t i = 0; i < p.candidates.size(); ++i) {
    const Estimate& e = of.forecast.candidates_us[i];
    json["candidates"].push_back({entry("streams", p.candidates[i].streams), entry("time_us", e.value),
                                  entry("low_us", e.low), entry("high_us", e.high)});
  }
  write_json(out, json, 1);
}

void simulation_json(std::ostream& out, const Simulation& s) {
  const Busy& busy = s.timeline.run.busy;
  const Prediction& p = s.prediction;
  Json json(
      {entry("document", "npgpu-simulation"), entry("version", 1), entry("node", s.node), entry("simulated", true),
       entry("job", job_json(s.job)), entry("order", s.order), entry("streams", s.streams),
       entry("chunks", std::max(s.chunks, s.streams)), entry("total_us", us(s.timeline.run.total)),
       entry("busy_us", Json{entry("host", us(busy.host)), entry("copy_in", us(busy.copy_in)),
                             entry("copy_out", us(busy.copy_out)), entry("compute", us(busy.compute))}),
       entry("best", Json{entry("streams", p.streams), entry("time_us", us(p.time)), entry("speed_up", p.speed_up),
                          entry("bound", p.bound), entry("bound_time_us", us(p.bound_time))}),
       entry("candidates", array_of(p.candidates,
                                    [](const StreamTime& c) {
                                      return Json({entry("streams", c.streams), entry("time_us", us(c.run.total))});
                                    })),
       entry("timeline", array_of(s.timeline.entries, [](const TimelineEntry& e) {
               return Json({entry("stage", e.stage), entry("chunk", e.chunk), entry("queue", e.queue),
                            entry("server", e.server), entry("start_us", us(e.start)), entry("end_us", us(e.end))});
             }))});
  write_json(out, json, 1);
}

}  // namespace npgpu

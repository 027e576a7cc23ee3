// simulate --json. Keys are stable; new ones may be added. Times are microseconds from the first stream's creation.
//
//   { "document": "npgpu-simulation", "version": 1, "node", "simulated": true,
//     "job": { in_bytes, out_bytes, kernel_us, blocks, slots }, "order", "streams", "total_us",
//     "busy_us": { host, copy_in, copy_out, compute },
//     "best": { streams, time_us, speed_up (over one stream), bound, bound_time_us },
//     "candidates": [ { streams, time_us } ],
//     "timeline": [ { stage, chunk, queue, server, start_us, end_us } ] }
#include "netpipe/report/json.hpp"

namespace npgpu {

void simulation_json(std::ostream& out, const Simulation& s) {
  const auto us = [](Seconds t) { return json_of(microseconds(t)); };
  const Busy& busy = s.timeline.run.busy;
  const Prediction& p = s.prediction;
  Json json{{"document", "npgpu-simulation"},
            {"version", 1},
            {"node", s.node},
            {"simulated", true},
            {"job",
             {{"in_bytes", s.job.in_bytes},
              {"out_bytes", s.job.out_bytes},
              {"kernel_us", us(s.job.kernel)},
              {"blocks", s.job.blocks},
              {"slots", s.job.slots}}},
            {"order", name(s.order)},
            {"streams", s.streams},
            {"total_us", us(s.timeline.run.total)},
            {"busy_us",
             {{"host", us(busy.host)},
              {"copy_in", us(busy.copy_in)},
              {"copy_out", us(busy.copy_out)},
              {"compute", us(busy.compute)}}},
            {"best",
             {{"streams", p.streams},
              {"time_us", us(p.time)},
              {"speed_up", json_of(p.speed_up)},
              {"bound", name(p.bound)},
              {"bound_time_us", us(p.bound_time)}}},
            {"candidates", Json::array()},
            {"timeline", Json::array()}};
  for (const StreamTime& c : p.candidates)
    json["candidates"].push_back({{"streams", c.streams}, {"time_us", us(c.run.total)}});
  for (const TimelineEntry& e : s.timeline.entries)
    json["timeline"].push_back({{"stage", name(e.stage)},
                                {"chunk", e.chunk},
                                {"queue", e.queue},
                                {"server", name(e.server)},
                                {"start_us", us(e.start)},
                                {"end_us", us(e.end)}});
  write_json(out, json, 1);
}

}  // namespace npgpu

#include "netpipe/report/job_json.hpp"

namespace npgpu {

Json json_of(const JobShape& job) {
  return {{"bytes_in", job.bytes_in},     {"bytes_out", job.bytes_out}, {"kernel_bytes", job.kernel_bytes},
          {"iterations", job.iterations}, {"chunks", job.chunks},       {"streams", job.streams},
          {"threads", job.threads}};
}

Json header_json(const JobSeries& sweep) {
  const JobCase& c = sweep.question;
  return {{"title", title(c)},
          {"case",
           {{"device", c.device},
            {"workload", name(c.workload)},
            {"order", name(c.order)},
            {"pool", name(c.pool)},
            {"gating", name(c.gating)}}},
          {"simulated", sweep.simulated},
          {"schedule", sweep.schedule},
          {"device_uuid", sweep.device_uuid},
          {"device_name", sweep.device_name},
          {"binding", sweep.binding},
          {"error", sweep.error.empty() ? Json(nullptr) : Json(sweep.error)}};
}

Json summary_json(const JobSeries& sweep) {
  Json json = header_json(sweep);
  json["points"] = Json::array();
  for (const JobSummary& s : summarize(sweep))
    json["points"].push_back({{"job", json_of(s.job)},
                              {"trials", s.trials},
                              {"stop", name(s.stop)},
                              {"time_us", json_of(s.time_us)},
                              {"issue_us", json_of(s.issue_us)},
                              {"create_us", json_of(s.create_us)},
                              {"destroy_us", json_of(s.destroy_us)},
                              {"speed_up", json_of(s.speed_up)}});
  return json;
}

}  // namespace npgpu

// Jobs in streams as parts of JSON documents.
#pragma once

#include "netpipe/report/summary_json.hpp"

namespace npgpu {

Json json_of(const JobShape&);
// Everything of a case but its points and samples.
Json header_json(const JobSeries&);
// The same with a summary of each job: job, trials, stop, time_us, issue_us, create_us, destroy_us, speed_up.
Json summary_json(const JobSeries&);

}  // namespace npgpu

// Who measured, where and with what: this build, and what a trace says of its run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu::campaign {

std::string tool_version();  // 0.1.0
std::string git_commit();    // abbreviated, -dirty if the sources differed
Facts build_facts();         // compiler, build type, toolkit and libraries
// What a bug report needs: version, commit, build, modules built and left out.
std::string version_text();

std::string fresh_uuid();
std::string utc_text(const char* format);  // now, as strftime() writes it

void add_new(Facts&, const Facts& more);  // those whose names are not there yet

// What is known of a device, without asking it anything.
Facts known_facts(const DeviceInfo&);

// `argv`: the command line. `seed`: of the order of visits.
TraceRoot trace_root(const std::string& plan, const std::string& argv, std::uint64_t seed = 0);
// build, host, gpu0.. (the devices given), slurm and environment where there is something to say, and what the plan
// left out. Written once into the trace, before the first point.
Provenance provenance(const std::vector<DeviceInfo>& devices, const std::vector<std::string>& left_out);

}  // namespace npgpu::campaign

// The attributes of /sweeps/NNNN and /probes/NNNN, in and out. Throws Flaw.
#pragma once

#include <string>

#include "netpipe/trace/hdf5_handle.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::trace {

void put_header(hid_t group, const Sweep&);
void put_header(hid_t group, const ProbeSweep&);
void get_header(hid_t group, const std::string& where, Sweep&);
void get_header(hid_t group, const std::string& where, ProbeSweep&);

// Throws Flaw if rows contradict each other, or readers would have to refuse them.
void check_rows(const Sweep&, const std::string& where);
void check_rows(const ProbeSweep&, const std::string& where);
void check_row(const Point&);
void check_row(const ProbePoint&);
void check_row(const Sample&);
void check_row(const ProbeSample&);

}  // namespace npgpu::trace

// The attributes of /sweeps/NNNN, /probes/NNNN and /streams/NNNN, in and out. Throws Flaw.
#pragma once

#include <string>

#include "netpipe/trace/hdf5_handle.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::trace {

void put_header(hid_t group, const Sweep&);
void put_header(hid_t group, const ProbeSweep&);
void put_header(hid_t group, const OverlapSweep&);
void get_header(hid_t group, const std::string& where, Sweep&);
void get_header(hid_t group, const std::string& where, ProbeSweep&);
void get_header(hid_t group, const std::string& where, OverlapSweep&);

// Throws Flaw if rows contradict each other, or readers would have to refuse them.
void check_rows(const Sweep&, const std::string& where);
void check_rows(const ProbeSweep&, const std::string& where);
void check_rows(const OverlapSweep&, const std::string& where);
void check_row(const Point&);
void check_row(const ProbePoint&);
void check_row(const OverlapPoint&);
void check_row(const Sample&);
void check_row(const ProbeSample&);
void check_row(const OverlapSample&);

}  // namespace npgpu::trace

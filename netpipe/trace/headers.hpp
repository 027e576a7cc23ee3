// The attributes of /sweeps/NNNN, /probes/NNNN and /streams/NNNN, in and out. Throws FormatError.
#pragma once

#include <string>

#include "netpipe/trace/hdf5_handle.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::trace {

void put_header(hid_t group, const TransferSeries&);
void put_header(hid_t group, const ProbeSeries&);
void put_header(hid_t group, const JobSeries&);
void get_header(hid_t group, const std::string& where, TransferSeries&);
void get_header(hid_t group, const std::string& where, ProbeSeries&);
void get_header(hid_t group, const std::string& where, JobSeries&);

// Throws FormatError if rows contradict each other, or readers would have to refuse them.
void check_rows(const TransferSeries&, const std::string& where);
void check_rows(const ProbeSeries&, const std::string& where);
void check_rows(const JobSeries&, const std::string& where);
void check_row(const TransferPoint&);
void check_row(const ProbePoint&);
void check_row(const JobPoint&);
void check_row(const TransferSample&);
void check_row(const ProbeSample&);
void check_row(const JobSample&);

}  // namespace npgpu::trace

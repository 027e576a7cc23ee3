// Numbers as texts, for the tables. What is not known is "-".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "npgpu/model/advice.hpp"
#include "npgpu/model/compare.hpp"
#include "npgpu/model/simulate.hpp"
#include "npgpu/model/statistics.hpp"

namespace npgpu {

// Plain decimal, never with an exponent, at most `max_decimals` behind the point: 0.0001953, 5.120, 34628.
std::string digits_text(double value, int significant = 4, int max_decimals = 7);
// "2.22 us", "1.03 ms": three significant digits.
std::string short_time_text(double us);
// "283 KiB": a size that is a result, three significant digits.
std::string about_size_text(double bytes);
// "64 MB", "60 MiB", "1.5 kB": a size that a user typed, in the unit that gives the shortest number; binary units
// first.
std::string typed_size_text(std::uint64_t bytes);
// "88.0": of hundred, one decimal; two below ten.
std::string percent_text(double percent);
// "-0.2 +1.3 %": the interval relative to the value.
std::string interval_text(const Estimate&);
// The wider side of the interval, as a share of the value; NaN where there is none. As text: "1.2 %".
double plus_minus(const Estimate&);
std::string plus_minus_text(double share);
// "5.200 .. 5.420", both times `factor`.
std::string range_text(const Estimate&, double factor = 1);
// "3 points", "1 point".
std::string counted(std::size_t count, std::string_view what);
std::string upper_case(std::string_view ascii);
// "ECC errors: not in this trace" and "NVLink: not in this trace" are one: "Not checked: ECC errors, NVLink (not in
// this trace)". Nothing of nothing.
std::string not_checked_text(const std::vector<std::string>& texts);
// "cuda:0 (NVIDIA H200)", or the device alone where it has no name.
std::string device_text(const std::string& device, const std::string& name);
// "55.40 GB/s", "66.9 TFLOP/s", "5.120 us": a key figure.
std::string figure_text(double value, FigureUnit);
// "host copies", "jobs timed by the device": a class of times.
std::string class_text(TimeClass);
// Where a limit comes from, without its formula: "PCIe Gen5 x16" of "PCIe Gen5 x16: 32 GT/s * 16 lanes * 128/130",
// "what clock and widths give" of "3201 MHz * 6016 bit * 2".
std::string limit_source_text(const std::string& source);
// "shorter than 1 ms", "of 1 ms to 5 ms", "longer than 5 ms".
std::string length_text(const LengthClass&);
// "16 chunks in 4 streams, 30 MiB": how a job is cut, and the device memory of its buffers.
std::string split_text(const Job&, std::uint32_t chunks, std::uint32_t streams);
// The same with its time beside that of the whole job: "...: 1.52 ms instead of 3.32 ms (2.2 times)".
std::string split_time_text(const Job&, std::uint32_t chunks, std::uint32_t streams, double us, double whole_us);
// "D2H copy engine, 91 % busy".
std::string bottleneck_text(Bound, Seconds busy, Seconds total);

}  // namespace npgpu

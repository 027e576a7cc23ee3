// Changes of a recorded step that need several streams. `worse`: 1 at its worst, -1 at its best, 0 as is likely.
#pragma once

#include <cstddef>
#include <cstdint>

#include "netpipe/model/record/copies.hpp"
#include "npgpu/model/record.hpp"

namespace npgpu {

// How far a rate may be off where it was measured on another run or another card of that model, and where its own
// interval is not known.
inline constexpr double rate_off_by = 0.05;

// From the call of a copy of pinned memory until it begins, in a stream that has nothing to do.
inline constexpr double pinned_lag_us = 5;

// How far a changed step may be off, where it is as far off as that when it is played as it was.
double error_of_change(const AppStep&, double off_by);

// forecast(), `with_recorder`: of launches that take as long as they did while they were recorded.
AppForecast forecast_of(const AppStep&, const MeasuredCosts&, std::span<const AppKernelCount>, bool with_recorder);

// How many times its blocks fill the device, by registers and shared memory where the device's figures say what they
// allow, else by threads alone; NaN: not known.
double waves_of(const RecordShape&, const MeasuredCosts&);

// Each copy in goes into a stream of its own, a step ahead: what followed it in its stream waits for the one that the
// step before issued. A copy that blocks its caller stays. The number of those that went.
std::size_t send_ahead(AppStep&);

// Copies in, a few kernels and copies out that follow each other, in so many parts: each in its own stream, copies of
// one while kernels of another work. False where the step has none.
bool cut_in_chunks(AppStep&, const MeasuredCosts&, std::uint32_t chunks, double worse);

// Kernels that follow each other and have together no more blocks than the device has multiprocessors: each in its own
// stream. The number of them.
std::size_t put_side_by_side(AppStep&, const MeasuredCosts&, double worse);

}  // namespace npgpu

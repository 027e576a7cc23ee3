// The clock of the core that the calling thread runs on, from work of known length. A time stamp counter ticks at a
// rate of its own, and performance counters are closed to most users.
#pragma once

namespace npgpu {

// In Hz. Times chains of integer additions, each of which waits for the one before for exactly one cycle, and takes
// the fastest of a few chains, because what disturbs them only ever makes them longer. NaN on an architecture without
// such a chain. About 0.1 ms.
double core_clock_hz();

// The highest of many looks, in some 5 ms: one alone was seen 6 % low beside a busy process.
double highest_core_clock_hz();

// The clock over a span, from what it was right before and right after; NaN where the two differ by more than 2 %.
double steady_hz(double before, double after);

}  // namespace npgpu

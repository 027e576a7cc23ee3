// A second process on a simulated device. It shares what it uses in equal parts: while it copies, each copy over the
// link takes twice its b / rate, and while it runs kernels or launches, each kernel, and each copy within the device,
// twice its time on the device. Latencies and what the host pays stay as they are. Beside one that is idle nothing
// changes.
#pragma once

#include <memory>
#include <string>

#include "npgpu/beside.hpp"

namespace npgpu::simulated {

enum class Shared { link, units };

// How many times as long the device takes for what it shares with the second process that works on it now; 1 where none
// does.
double times_beside(const std::string& id, Shared);

// While it works, it finishes an operation from each look at what it has done to the next.
std::unique_ptr<Companion> companion_on(const std::string& id);

}  // namespace npgpu::simulated

// A function of your own, measured as npgpu measures its own: in rounds, on a quiet core, with what neighbours
// disturbed marked, and with 95 % intervals.
//
// Example:
//   std::vector<double> x;
//   npgpu::Function scale{.name = "scale", .sizes = {1 << 16}};
//   scale.prepare = [&](std::uint64_t bytes) { x.assign(bytes / sizeof(double), 1); };
//   scale.call = [&] { for (double& one : x) one *= 1.5; };
//   npgpu::Settings settings;
//   settings.output = "scale.h5";
//   std::cout << npgpu::measure({scale}, settings).measured << " points\n";
//
// For a kernel, say of which device it is and how its work is waited for; with its stream, the device times it, too:
//   scale.device = "cuda:0";
//   scale.call = [=] { scale_kernel<<<blocks, threads, 0, stream>>>(x, n); };
//   scale.wait = [=] { cudaStreamSynchronize(stream); };
//   scale.stream = stream;
//
// The trace is one of calls: `npgpu report scale.h5`, `npgpu compare`, and npgpu.load() of the Python package read it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "npgpu/call.hpp"
#include "npgpu/campaign.hpp"

namespace npgpu {

struct Function {
  std::string name;             // letters, digits, "-", "_" and "."
  std::string device = "host";  // whose neighbours are watched, and whose clocks are recorded: host, cuda:0
  // One call. It may return before its work is done; then `wait` returns when the work of all calls is done.
  std::function<void()> call{};
  std::function<void()> wait{};
  // Called before each visit to a size, at least once, not timed: what `call` works on. REQUIRES: memory that `call`
  // uses lives as long as the campaign; a function's device is never reset between rounds.
  std::function<void(std::uint64_t size)> prepare{};
  // Called after each visit, not timed: a sentence about what is wrong with the results, or nothing.
  std::function<std::optional<std::string>()> check{};
  std::vector<std::uint64_t> sizes{0};  // bytes; 0: it has no size
  // The cudaStream_t that `call` enqueues into: its work is then also timed by the device, behind a gate, without what
  // launches cost. REQUIRES: `call` enqueues at most `operations` operations and does not wait for the device.
  std::optional<void*> stream{};
  std::uint32_t operations = 1;
};

// Measures these functions, each alone (one call, then the wait) and back to back (many calls, then one wait), and
// those with a stream gated. Throws Error: usage for a name, a device or a function that is missing; and as measure().
CampaignResult measure(const std::vector<Function>&, const Settings&, Observer&);
CampaignResult measure(const std::vector<Function>&, const Settings&);

}  // namespace npgpu

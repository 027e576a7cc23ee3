// A pointer chase: cache lines linked into one cycle in random order, so that each load's address comes from the load
// before and no prefetcher knows the next: the work of the host's latency probe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace npgpu::chase {

constexpr std::uint64_t line_bytes = 64;
constexpr std::uint64_t loads_of_repeat = 32768;  // some 30 us at least, so that reading the clocks costs nothing

// The order in which `lines` lines are visited, each once: windows of so many neighbours in random order, and the
// lines of a window in random order. The same seed gives the same order.
std::vector<std::uint32_t> random_order(std::uint64_t lines, std::uint64_t lines_of_window, std::uint64_t seed);

// Writes into each line the address of the next; line i is at memory + i * line_bytes.
void link(std::byte* memory, const std::vector<std::uint32_t>& order);

// So many loads from `at` on; returns where the last one leads.
const void* walk(const void* at, std::uint64_t loads);

// Nothing if a walk of so many loads from order[0] ends at `at`, otherwise one sentence.
std::optional<std::string> check(const std::byte* memory, const std::vector<std::uint32_t>& order, std::uint64_t loads,
                                 const void* at);

}  // namespace npgpu::chase

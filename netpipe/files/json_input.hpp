// JSON that a user names.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "netpipe/files/input.hpp"

namespace npgpu::files {

// As a value, JSON takes up to thirty times its bytes of memory.
inline constexpr std::uint64_t max_json_bytes = 16 << 20;

// A key that stands twice in one object silently counts once.
enum class RepeatedKeys { allowed, refused };

// Throws what read_input() throws, and Error(usage) where it is no JSON, or brackets nest deeper than anything that
// this program reads: what walks a value calls itself for every level, and a hostile file would end the stack.
nlohmann::json read_json(std::string_view what, const std::filesystem::path&,
                         const InputLimits& = {.bytes = max_json_bytes}, RepeatedKeys = RepeatedKeys::allowed);

}  // namespace npgpu::files

// Files that a user names: read whole, within limits, or refused in one sentence.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "npgpu/vocabulary/units.hpp"

namespace npgpu::files {

// What a file is called that is no plain one: "a folder", "a device", for the st_mode of stat().
std::string kind_text(unsigned mode);

struct InputLimits {
  std::uint64_t bytes = 64 << 20;  // what is larger was not written for us
  bool pipes = true;               // false: what is read more than once cannot be a pipe
  Seconds writer{5};               // until somebody opens the other end of a named pipe
  Seconds silence{60};             // until the next byte comes through it
  Seconds total{600};
};

inline constexpr std::uint64_t max_settings_bytes = 1 << 20;  // of what people write by hand

// The whole file: a plain one, or a pipe (named, or the shell's <(command)). Everything else, what is larger than the
// limit, and a pipe through which nothing comes, is an Error(usage): "--config: /dev/zero: is a device, not a plain
// file". `what`: whose file it is, "--config"; empty for none.
std::string read_input(std::string_view what, const std::filesystem::path&, const InputLimits& = {});

// JSON that a user names.

// As a value, JSON takes up to thirty times its bytes of memory.
inline constexpr std::uint64_t max_json_bytes = 16 << 20;

// What is wrong with a text, in a sentence, of what its parser threw: "not JSON: parse error at line 3, column 7: ...".
std::string flaw_of_json(const nlohmann::json::exception&);

// A key that stands twice in one object silently counts once.
enum class RepeatedKeys { allowed, refused };

// Throws what read_input() throws, and Error(usage) where it is no JSON, or brackets nest deeper than anything that
// this program reads: what walks a value calls itself for every level, and a hostile file would end the stack.
nlohmann::json read_json(std::string_view what, const std::filesystem::path&,
                         const InputLimits& = {.bytes = max_json_bytes}, RepeatedKeys = RepeatedKeys::allowed);

}  // namespace npgpu::files

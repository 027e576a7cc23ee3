// Words that were typed, and those that were meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace npgpu::cli {

// The word that `typed` was probably meant to be, whatever its case; nothing if none is near.
std::optional<std::string> closest(std::string_view typed, const std::vector<std::string>& words);

// "; did you mean '--device'?", or nothing.
std::string suggestion(std::string_view typed, const std::vector<std::string>& words, std::string_view dashes = "");

// Throws Error(usage): "--memory: 'pin' is none of pageable, pinned; did you mean 'pinned'?"
[[noreturn]] void refuse_word(std::string_view option, std::string_view typed, const std::vector<std::string>& words);

}  // namespace npgpu::cli

// What the readers of other profilers' files share.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "netpipe/record/events.hpp"

namespace npgpu::record {

// More would take more memory than many machines have: about 430 bytes an event.
inline constexpr std::size_t most_imported = 10'000'000;

[[noreturn]] void refuse_import(const std::filesystem::path&, const std::string& why);
void refuse_too_many(const std::filesystem::path&, std::size_t events);

// "Device Static", as both profilers write it.
RecordMemory memory_called(std::string_view);

std::vector<ProcessEvents> read_kineto(const std::filesystem::path&);
std::vector<ProcessEvents> read_nsys(const std::filesystem::path&);

}  // namespace npgpu::record

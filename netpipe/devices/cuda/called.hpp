// How a GPU of CUDA is called; without the toolkit, too.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace npgpu::cuda {

inline std::string gpu_called(std::uint32_t number) { return fmt::format("cuda:{}", number); }

}  // namespace npgpu::cuda

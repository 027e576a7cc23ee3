#pragma once

#include <string_view>

namespace npgpu::html {

// Light and dark, wide and narrow, screen and paper.
std::string_view style_sheet();

}  // namespace npgpu::html

// A GPU beside those of its model that others shared, drawn.
#pragma once

#include <span>
#include <string>

#include "npgpu/shared.hpp"

namespace npgpu::html {

// A drawing and a table for each GPU; empty for none.
std::string among_part(std::span<const AmongOthers>);

}  // namespace npgpu::html

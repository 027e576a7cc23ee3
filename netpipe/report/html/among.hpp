// A GPU beside those of its model that others shared, drawn.
#pragma once

#include <span>

#include "netpipe/report/document.hpp"
#include "npgpu/shared.hpp"

namespace npgpu::html {

// A drawing and a table for each GPU; empty for none.
Document among_part(std::span<const AmongOthers>);

}  // namespace npgpu::html

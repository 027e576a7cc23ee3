// Texts of a trace are UTF-8, whatever bytes a command line, a host name or a driver handed over.
#pragma once

#include <string>
#include <string_view>

namespace npgpu::trace {

// The text with every byte that is not part of well-formed UTF-8 (Unicode 15, table 3-7), and every NUL, replaced by
// U+FFFD.
std::string utf8(std::string_view bytes);

}  // namespace npgpu::trace

#pragma once

#include <string>
#include <string_view>

namespace npgpu {

// Text as a browser shows it, in elements and in quoted attributes: no markup, no control characters, valid UTF-8.
std::string html_text(std::string_view);

}  // namespace npgpu

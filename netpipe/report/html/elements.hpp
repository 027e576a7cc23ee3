// What drawings and tables of a page have in common.
#pragma once

#include <string>

#include "npgpu/health.hpp"

namespace npgpu::html {

// A table may be wider than a phone: it scrolls by itself, with the keyboard too, and the page does not.
std::string scrolling(const std::string& table, const std::string& label);
// The style sheet's name of it.
const char* class_of(Health);

}  // namespace npgpu::html

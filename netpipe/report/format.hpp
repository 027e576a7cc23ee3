// Numbers as texts, for the tables. What cannot be told is "-".
#pragma once

#include <string>

namespace npgpu {

// Plain decimal, never with an exponent, at most `max_decimals` behind the point: 0.0001953, 5.120, 34628.
std::string digits_text(double value, int significant = 4, int max_decimals = 7);
// "283 KiB": a size that is a result, three significant digits.
std::string about_size_text(double bytes);
// "88.0": of hundred, one decimal; two below ten.
std::string percent_text(double percent);

}  // namespace npgpu

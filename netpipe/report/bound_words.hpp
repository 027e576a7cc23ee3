// What bounds a job, in words.
#pragma once

#include <string>

#include "npgpu/simulate.hpp"

namespace npgpu {

std::string bound_words(Bound);

}  // namespace npgpu

// Names of Xids, NVIDIA's numbers for errors of a GPU.
#pragma once

#include <string_view>

namespace npgpu::model {

// "GPU has fallen off the bus" of 79; empty for a number that is not used or not known.
std::string_view xid_name(unsigned xid);

}  // namespace npgpu::model

// What GPUs of a model are made of, where that is published.
#pragma once

#include <string_view>

namespace npgpu::model {

// Multiprocessors that every GPU of this model has; 0 where the model is not known, or is sold with several counts.
int published_multiprocessors(std::string_view name);

}  // namespace npgpu::model

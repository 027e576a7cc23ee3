// What GPUs of a model are made of, where that is published, and how its name is recognized.
#pragma once

#include <string_view>

namespace npgpu::model {

// Whether `name` has all words of `wanted`, in that order, whatever the case: "NVIDIA H100 80GB HBM3" has "h100" and
// "H100 HBM3". Words are letters and digits: "NVIDIA A100-SXM4-80GB" has "A100", and neither "NVIDIA RTX A1000" nor
// "NVIDIA GH200 480GB" has "A100" or "H200". False where `wanted` has none.
bool has_words(std::string_view name, std::string_view wanted);

// "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "GRID A100-3-20C": a part of a GPU, by MIG.
bool names_part_of_gpu(std::string_view name);

// Multiprocessors that every GPU of this model has; 0 where the model is not known, or is sold with several counts.
int published_multiprocessors(std::string_view name);

}  // namespace npgpu::model

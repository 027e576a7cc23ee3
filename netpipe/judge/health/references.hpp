// What GPUs of a model are made of, where that is published, and how its name is recognized.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "npgpu/judge/health.hpp"

namespace npgpu::model {

// Whether `name` has all words of `wanted`, in that order, whatever the case: "NVIDIA H100 80GB HBM3" has "h100" and
// "H100 HBM3". Words are letters and digits: "NVIDIA A100-SXM4-80GB" has "A100", and neither "NVIDIA RTX A1000" nor
// "NVIDIA GH200 480GB" has "A100" or "H200". False where `wanted` has none.
bool has_words(std::string_view name, std::string_view wanted);

// "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "GRID A100-3-20C": a part of a GPU, by MIG.
bool names_part_of_gpu(std::string_view name);

// Multiprocessors that every GPU of this model has; 0 where the model is not known, or is sold with several counts.
int published_multiprocessors(std::string_view name);

// What healthy GPUs of a model reached: figures that ship with the program (data/references), made from runs of several
// cards.

struct ModelReference {
  std::string model;  // what people call it: "H200"
  std::string name;   // of the GPUs that it is for, by NVML: "NVIDIA H200", and so not "NVIDIA H200 NVL"
  int cards = 0, runs = 0;
  std::string host_cpu;  // figures that depend on the host are for this one
  std::vector<ReferenceFigure> figures;
};

const std::vector<ModelReference>& model_references();
// The reference of GPUs of this very name, as forms of a model differ in power and memory, or of a simulated one that
// is called as the model is; null if there is none.
const ModelReference* reference_of_model(std::string_view name);
// Throws Error(usage) naming what is wrong in it.
ModelReference read_model_reference(std::string_view json);

}  // namespace npgpu::model

// What healthy GPUs of a model reached: figures that ship with the program (data/references), made from runs of several
// cards.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "npgpu/health.hpp"

namespace npgpu::model {

struct ModelReference {
  std::string model;  // what people call it: "H200"
  std::string name;   // of the GPUs that it is for, by NVML: "NVIDIA H200", and so not "NVIDIA H200 NVL"
  int cards = 0, runs = 0;
  std::string host_cpu;  // figures that depend on the host are for this one
  std::vector<ReferenceFigure> figures;
};

const std::vector<ModelReference>& model_references();
// Of GPUs of this very name, as forms of a model differ in power and memory, or of a simulated one that is called as
// the model is; null if there is none.
const ModelReference* reference_of_model(std::string_view name);
// Throws Error(usage) naming what is wrong in it.
ModelReference read_model_reference(std::string_view json);

}  // namespace npgpu::model

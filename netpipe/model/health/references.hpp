// What healthy GPUs of a model reached: figures that ship with the program (data/references), made from runs of several
// cards.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "npgpu/health.hpp"

namespace npgpu::model {

struct ModelReference {
  std::string model;  // the words of a GPU's name that it is for: "H200"
  int cards = 0, runs = 0;
  std::string host_cpu;  // figures that depend on the host are for this one
  std::vector<ReferenceFigure> figures;
};

const std::vector<ModelReference>& model_references();
// Of the GPU's name by words ("NVIDIA H200" is an H200, "NVIDIA GH200 480GB" is none); null if there is none.
const ModelReference* reference_of_model(std::string_view name);
// Throws Error(usage) naming what is wrong in it.
ModelReference read_model_reference(std::string_view json);

}  // namespace npgpu::model

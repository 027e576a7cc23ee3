// What an evaluation says of one model.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "npgpu/predict.hpp"

namespace npgpu {

inline const ModelScore& score(const Evaluation& e, const std::string& model) {
  for (const ModelScore& m : e.models)
    if (m.model == model) return m;
  FAIL("no model " << model);
  return e.models.front();
}

}  // namespace npgpu

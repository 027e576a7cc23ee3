// Figures of healthy GPUs that ship with the program.
#include "netpipe/model/health/references.hpp"

#include <doctest/doctest.h>

#include "npgpu/error.hpp"

namespace references_test {

using namespace npgpu;
using namespace npgpu::model;

TEST_CASE("a reference is of GPUs of one name") {
  REQUIRE(reference_of_model("NVIDIA H200"));
  CHECK(reference_of_model("NVIDIA H200")->model == "H200");
  REQUIRE(reference_of_model("NVIDIA H100 80GB HBM3"));
  CHECK(reference_of_model("NVIDIA H100 80GB HBM3")->model == "H100");
  // Forms of a model have other memory, power and clocks; parts of a GPU have less of all.
  for (const char* name :
       {"NVIDIA H200 NVL", "NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", ""})
    CHECK(reference_of_model(name) == nullptr);
  CHECK(reference_of_model("NVIDIA GH200 480GB") == nullptr);
  CHECK(reference_of_model("NVIDIA A1000") == nullptr);
  CHECK(reference_text("NVIDIA H200").find("healthy H200s") != std::string::npos);
  CHECK(reference_text("NVIDIA A1000").empty());
}

TEST_CASE("every shipped figure lies between those that it was made from, and its tolerance covers them") {
  for (const ModelReference& one : model_references()) {
    CHECK(one.cards >= 2);
    CHECK(one.figures.size() > 10);
    for (const ReferenceFigure& figure : one.figures) CHECK(figure.tolerance < 0.4);
  }
}

TEST_CASE("what is no reference is refused") {
  for (const char* json : {"", "[]", "{}", R"({"document": "npgpu-reference", "version": 2})",
                           R"({"document": "npgpu-reference", "version": 1, "model": "X", "name": "X"})",
                           R"({"document": "npgpu-reference", "version": 1, "model": "X", "name": "X",
                               "figures": [{"metric": "h2d_rate", "value": -1, "unit": "B/s", "tolerance": 0.1}]})"})
    CHECK_THROWS_AS(read_model_reference(json), Error);
}

}  // namespace references_test

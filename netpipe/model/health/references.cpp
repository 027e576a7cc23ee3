#include "netpipe/model/health/references.hpp"

#include <nlohmann/json.hpp>

#include "netpipe/model/health/models.hpp"
#include "netpipe/model/judge.hpp"
#include "npgpu/error.hpp"
#include "npgpu_references.hpp"

namespace npgpu::model {

ModelReference read_model_reference(std::string_view json) {
  const auto refuse = [](const std::string& why) { throw Error(ErrorKind::usage, "a reference of a model " + why); };
  const auto all = nlohmann::json::parse(json, nullptr, false);
  if (!all.is_object() || all.value("document", "") != "npgpu-reference") refuse("is no npgpu reference");
  if (all.value("version", 0) != 1) refuse("is of a version that this program does not know");
  ModelReference reference;
  reference.model = all.value("model", "");
  reference.name = all.value("name", "");
  reference.cards = all.value("cards", 0);
  reference.runs = all.value("runs", 0);
  reference.host_cpu = all.value("host_cpu", "");
  if (reference.model.empty() || reference.name.empty() || !all.contains("figures") || !all["figures"].is_array())
    refuse("names no model");
  for (const auto& one : all["figures"]) {
    ReferenceFigure& figure = reference.figures.emplace_back();
    figure.metric = one.value("metric", "");
    figure.value = one.value("value", 0.0);
    figure.unit = one.value("unit", "");
    figure.tolerance = one.value("tolerance", 0.0);
    figure.depends_on_host = one.value("depends_on_host", false);
    if (figure.metric.empty() || !is_figure(figure.value) || !is_figure(figure.tolerance))
      refuse("has a figure without metric, value or tolerance: " + reference.model);
  }
  return reference;
}

const std::vector<ModelReference>& model_references() {
  static const std::vector<ModelReference> all = [] {
    std::vector<ModelReference> made;
    for (const char* json : shipped_references) made.push_back(read_model_reference(json));
    return made;
  }();
  return all;
}

const ModelReference* reference_of_model(std::string_view name) {
  for (const ModelReference& one : model_references())
    if (name == one.name || name == one.model) return &one;
  return nullptr;
}

}  // namespace npgpu::model

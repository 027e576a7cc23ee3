// The parts that more than one JSON document is made of. A number that is not finite becomes null.
#pragma once

#include <nlohmann/json.hpp>

#include "npgpu/model.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

using Json = nlohmann::ordered_json;

Json json_of(double);
Json json_of(const TransferCase&);
Json json_of(const TraceRoot&);
Json json_of(const Provenance&);
Json json_of(const Estimate&);
Json json_of(const PointSummary&);
Json json_of(const CurveFit&);
// Everything of a sweep but its points and samples.
Json header_json(const TransferSeries&);

// Writes it, a text that is not UTF-8 with replacement characters. `indent` -1: all in one line.
void write_json(std::ostream&, const Json&, int indent);

}  // namespace npgpu

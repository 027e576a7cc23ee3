// What was found, as JSON: the same in every document.
#pragma once

#include "netpipe/report/json.hpp"
#include "npgpu/health.hpp"

namespace npgpu {

Json health_json(const HealthFinding&);

}  // namespace npgpu

// Parts of a fleet's JSON, which files of baselines have too.
#pragma once

#include "netpipe/report/json.hpp"
#include "npgpu/fleet.hpp"

namespace npgpu {

Json item_json(const FleetItem&);
Json case_json(const FleetCase&);

}  // namespace npgpu

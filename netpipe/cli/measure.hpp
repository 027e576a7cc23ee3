// A measuring command that ends in its own way.
#pragma once

#include <functional>

#include "netpipe/cli/campaign.hpp"

namespace npgpu::cli {

// The plan, --dry-run and the run, as measure() of campaign.hpp; `end` prints, and returns the exit code.
using CampaignEnd = std::function<int(const Campaign&, const MeasureOptions&)>;
int measure(const Options&, const MeasureOptions&, Plan (*plan_of)(const Options&), const CampaignEnd& end);

}  // namespace npgpu::cli

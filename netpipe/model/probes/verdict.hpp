// A derived value held against the device's own answer.
#pragma once

#include <string>

#include "npgpu/derive.hpp"

namespace npgpu::model {

// Agrees where the value lies within `tolerance` (0.01 is 1 %) of the reference. Unchecked, with the reason in
// reference_source or note, where there is no value or no reference, where the value's interval is wider than 10 %
// either way (then an agreement would be luck), and where it lies further away but its note says that something
// disturbed it (then a disagreement may be the disturbance). The note must be there before.
void hold_against(Parameter&, double reference, const std::string& source, double tolerance);
// A rate against its limit: agrees within 5 % below, unchecked further below (a rate may be lower than its limit),
// disagrees more than `above` over it (0.01 is 1 %), where work was left out or the limit is wrong.
void hold_below(Parameter&, double limit, const std::string& source, double above = 0.01);
void leave_unchecked(Parameter&, const std::string& why);

}  // namespace npgpu::model

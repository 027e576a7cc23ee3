// A derived value held against what was reported of the device.
#pragma once

#include <string>

#include "npgpu/derive.hpp"

namespace npgpu::model {

// `tolerance`: 0.01 is 1 %. In this order:
//   no reference  there is nothing to hold the value against; reference_source says why
//   undecided     there is no value, or its interval is wider than 10 % either way: agreement would be luck
//   agrees        the value is within the tolerance of the reference
//   disagrees     the whole interval is outside the tolerance, and nothing disturbed the value
//   undecided     the value is outside and the interval is not, there is no interval, or the note says that something
//                 disturbed the value. The note must be there before.
void hold_against(Parameter&, double reference, const std::string& source, double tolerance);
// A rate against its limit, in the same way: it agrees from 95 % of the limit to `above` over it, and disagrees where
// the whole interval is above that, because work was left out or the limit is wrong. Lower is no error, and undecided.
void hold_below(Parameter&, double limit, const std::string& source, double above = 0.01);
void leave_unchecked(Parameter&, const std::string& why);

void add_note(Parameter&, const std::string& what);
// "not reported by the driver"; of a host by the system, of a simulated device by its spec.
std::string not_reported(const std::string& device);

}  // namespace npgpu::model

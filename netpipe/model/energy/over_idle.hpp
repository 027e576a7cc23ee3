// The energy of one byte or operation over idle, from windows at rest and at work.
#pragma once

#include <vector>

#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::model {

struct Window {
  double rate = 0, watts = 0;  // work a second, and the mean power
  double celsius = not_measured;
};

// What a work's energy is taken from: windows of the device at rest, and of this work for a part of the time and for
// all of it.
struct Windows {
  std::vector<Window> rest{}, part{}, full{};
};

// What windows at work for a part of the time took over idle for each operation, over what full windows did. NaN where
// windows are missing.
double part_over_full(const Windows&);

// The slope of power over work a second, in J: by least squares over all windows, or over those at rest and at full
// work alone. Its interval is Student's. NaN of fewer than three windows.
Estimate over_idle(const Windows&, bool with_parts);

// Whether the work takes so little more than rest that a device's own warmth matters: an H100 takes 1 W more for each
// kelvin, and copies over its link 10 W.
bool is_near_rest(const Windows&);

// The same of several such works of a device at once, as if all windows had been at one temperature: least squares of
// power over each work a second and over the temperature. Temperatures are read in whole kelvins, and a work alone has
// too few windows to tell the two apart. Leaves the watts of the windows as they would be at their mean temperature.
// Where temperatures are not known, or all the same, each is taken alone.
std::vector<Estimate> over_idle_at_one_temperature(std::vector<Windows>&);

}  // namespace npgpu::model

// The GPUs of a group, case by case: a row for each GPU, a column for each point.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "npgpu/fleet.hpp"

namespace npgpu::model {

// One GPU in one trace.
struct Sighting {
  const FleetRun* run = nullptr;
  const FleetGpu* gpu = nullptr;
};
// All traces of one GPU, by date.
using Sightings = std::vector<Sighting>;

// Of a GPU that has a case: medians over its traces.
struct CaseRow {
  std::vector<double> us, spread;  // by point of the case; NaN where there is none
  bool disturbed = false;          // others had a part in more than half of it
  std::string why{};               // points are not usable
  bool there = false;              // its traces have that case
};
struct CaseTable {
  FleetCase of;               // the points that at least half of those who have the case have
  std::vector<CaseRow> rows;  // by member
};
std::vector<CaseTable> tables_of(const std::vector<Sightings>& members);

// A figure, by member; NaN where there is none, or it was taken from other points than those that most were asked.
struct FigureTable {
  FleetFigure of;  // its name, and where most have it
  std::vector<double> values;
  std::vector<bool> disturbed;
};
std::vector<FigureTable> figures_of(const std::vector<Sightings>& members);

}  // namespace npgpu::model

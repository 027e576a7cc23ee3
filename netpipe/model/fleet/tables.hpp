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
  std::vector<double> us;  // by point of the case; NaN where there is none
  bool disturbed = false;  // others had a part in more than half of it
  bool there = false;      // its traces have that case
};
struct CaseTable {
  FleetCase of;               // the points that at least half of those who have the case have
  std::vector<CaseRow> rows;  // by member
};
std::vector<CaseTable> tables_of(const std::vector<Sightings>& members);

// A figure at the same points, by member: medians over its traces. NaN where there is none.
struct FigureColumn {
  FleetFigure of;                        // its kind, name and points
  std::vector<double> value, near, far;  // the ends of its interval at which the GPU is best and worst; in the unit
  std::vector<bool> disturbed;
};
std::vector<FigureColumn> figures_of(const std::vector<Sightings>& members);

// What the runs of one plan say of a kind of figures, by member: medians over its traces.
struct CourseColumn {
  FigureKind kind = FigureKind::link;
  std::string plan{};
  std::vector<double> scatter, trend;  // trend: logarithm of the time in the last third of the rounds over the first
  std::size_t third = 0;               // rounds of a third; of the shortest run
};
std::vector<CourseColumn> courses_of(const std::vector<Sightings>& members);

}  // namespace npgpu::model

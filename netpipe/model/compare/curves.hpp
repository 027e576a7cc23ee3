// What two sides measured, made comparable: each question that either asked, point by point, with what each visit gave.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "npgpu/compare.hpp"

namespace npgpu::model {

// One visit.
struct Reading {
  std::size_t run = 0;  // of its side
  std::uint32_t round = 0;
  double log_us = not_measured;   // of the work of the curve's first operation at that point
  double log_mhz = not_measured;  // SM clock
};

// A point on one side.
struct Readings {
  std::vector<Reading> all{};
  std::size_t runs = 0;          // that measured it
  std::size_t others = 0;        // of these, in which others had a part in it
  std::size_t clocked = 0;       // in which nothing but the device's own clock disturbed it
  Reason broken = Reason::none;  // wrong results, or no time
  std::string why{};             // it is broken, has no figure, or is disturbed
};
struct CurvePoint {
  std::string axes{};
  double work = not_measured;
  std::array<Readings, 2> side{};
};

struct CaseCurve {
  std::string_view kind{};
  std::string title{}, name{};
  std::uint32_t lane = 0;
  TimeClass time_class = TimeClass::device_copies;
  bool trials_stand_in = false;
  bool simulated = false;
  std::array<std::size_t, 2> runs{};     // of each side, in all
  std::array<std::string, 2> stopped{};  // why its series did not go on; empty if it did, or was not begun
  std::vector<CurvePoint> points{};      // in order of axes
  std::vector<double> sizes{};           // of each: bytes, or 0
  std::vector<double> blocks{};          // of each: of a kernel, or 0
  double cache_bytes = 0;                // the last level before the memory that kernels work on; 0: not known
  std::vector<FigureChoice> figures{};
};

// A point's bytes, and its blocks; 0 where its kind has none.
inline double size_of(const auto& axes) {
  if constexpr (requires { axes.bytes; }) return static_cast<double>(axes.bytes);
  else return 0;
}
inline double blocks_in(const auto& axes) {
  if constexpr (requires { axes.blocks; }) return axes.blocks;
  else return 0;
}

std::vector<CaseCurve> curves_of(Runs a, Runs b);

}  // namespace npgpu::model

// Options that every measuring command has: where the trace goes, how points are repeated, what is printed.
#pragma once

#include <memory>
#include <string>

#include "netpipe/cli/options.hpp"
#include "npgpu/kinds.hpp"
#include "npgpu/schedule.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

namespace cli {

// How the points of a kind are repeated.
struct Repetition {
  bool is_classic = false;
  ClassicOptions classic;
  AdaptiveOptions adaptive;

  std::unique_ptr<Schedule> schedule() const {
    return is_classic ? classic_schedule(classic) : adaptive_schedule(adaptive);
  }
};
template <class K> struct RepetitionOf : Repetition {};

enum class ProgressForm { none, bar, cases, points };

struct MeasureOptions {
  std::string output;  // the trace's path
  std::string plan;    // what was asked for, in one line
  IfExists if_exists = IfExists::refuse;
  ProgressForm progress = ProgressForm::cases;
  bool quiet = false;
  bool json = false;
  bool dry_run = false;
  Kinds::Tuple<RepetitionOf> repetitions;

  template <class K> const Repetition& repetition() const { return std::get<RepetitionOf<K>>(repetitions); }
};

// A command's own options, and these.
std::vector<OptionGroup> with_measure_options(std::vector<OptionGroup> own);
MeasureOptions measure_options(const Options&);
// A name of its own for each run, so that nothing measured is ever in the way of the next.
std::string default_output();

}  // namespace cli

template <>
inline constexpr std::array<std::string_view, 4> names_of<cli::ProgressForm>{"none", "bar", "cases", "points"};

}  // namespace npgpu

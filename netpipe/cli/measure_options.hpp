// Options that every measuring command has: where the trace goes, how points are repeated, what is printed.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "netpipe/cli/options.hpp"
#include "npgpu/campaign.hpp"

namespace npgpu {

namespace cli {

enum class ProgressForm { none, bar, cases, points };

struct MeasureOptions : Settings {
  ProgressForm progress = ProgressForm::cases;
  bool quiet = false;
  bool json = false;
  bool dry_run = false;
};

// What every measuring command has, and `npgpu help measuring` prints.
const std::vector<OptionGroup>& options_of_all();
std::string help_measuring(std::size_t width);
// A command's own options, and these.
std::vector<OptionGroup> with_measure_options(std::vector<OptionGroup> own);
MeasureOptions measure_options(const Options&);
// A name of its own for each run, so that nothing measured is ever in the way of the next.
std::string default_output();

}  // namespace cli

template <>
inline constexpr std::array<std::string_view, 4> names_of<cli::ProgressForm>{"none", "bar", "cases", "points"};

}  // namespace npgpu

// How a check ends: its verdict as an exit code, and what it prints and writes.
#pragma once

#include "netpipe/cli/options.hpp"
#include "npgpu/check.hpp"

namespace npgpu::cli {

int exit_code_of_verdict(CheckVerdict, bool is_nothing = false);

struct Ending {
  bool is_nothing = false;  // skipped, as there is nothing to measure
  bool is_stopped = false;
};

// Sets the verdict and the exit code, prints, and writes the files that options name. Returns the exit code.
int end_check(const Options&, CheckOf&, const Ending&);

}  // namespace npgpu::cli

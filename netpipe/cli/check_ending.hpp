// A check as plugins of Nagios, Icinga and their kin say it.
#pragma once

#include <string>
#include <vector>

#include "netpipe/cli/options.hpp"
#include "npgpu/report/report.hpp"

namespace npgpu::cli {

// 0 ok, 1 warning, 2 critical, 3 unknown.
int nagios_code(CheckVerdict, Health worst);

// "NPGPU CRITICAL - cuda:0 PCIe x8/x16 ...|'cuda:0 h2d_rate_gb_s'=27.5;;52.74:": the status, what is said of it, and
// each figure that was compared with a limit, with the range beyond which it is critical.
std::string nagios_line(const CheckReport&, int code, std::string said);

// What can be asked of this trace next: commands, a line each. `predictable`: the devices whose streams' costs it has;
// `is_whole`: all of it was shown, so that --all has nothing to add.
std::string next_steps(const Trace&, const std::vector<std::string>& predictable, const std::string& path,
                       bool is_whole, const TextStyle&);

// How a check ends: its verdict as an exit code, and what it prints and writes.

int exit_code_of_verdict(CheckVerdict, bool is_nothing = false);

struct Ending {
  bool is_nothing = false;  // skipped, as there is nothing to measure
  bool is_stopped = false;
};

// Sets the verdict and the exit code, prints, and writes the files that options name. Returns the exit code.
int end_check(const Options&, CheckReport&, const Ending&);

}  // namespace npgpu::cli

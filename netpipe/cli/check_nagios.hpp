// A check as plugins of Nagios, Icinga and their kin say it.
#pragma once

#include <string>

#include "npgpu/report.hpp"

namespace npgpu::cli {

// 0 ok, 1 warning, 2 critical, 3 unknown.
int nagios_code(CheckVerdict, Health worst);

// "NPGPU CRITICAL - cuda:0 PCIe x8/x16 ...|'cuda:0 h2d_rate_gb_s'=27.5;;52.74:": the status, what is said of it, and
// each figure that was compared with a limit, with the range beyond which it is critical.
std::string nagios_line(const CheckOf&, int code, std::string said);

}  // namespace npgpu::cli

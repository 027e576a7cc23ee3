// What the reports of a fleet say in the same words.
#pragma once

#include <string>
#include <vector>

#include "netpipe/report/layout.hpp"
#include "npgpu/judge/fleet.hpp"

namespace npgpu {

std::string group_text(const FleetGroup&);    // "NVIDIA H200, driver 580.159, PCIe Gen5 x16"
std::string member_text(const FleetMember&);  // "node7 cuda:3"
std::string finding_text(const FleetFinding&);
std::string suspect_word(const FleetSuspect&);  // BROKEN, SLOW, or LOOK AT where nothing is confirmed
std::string host_text(const FleetHost&);        // "node7, with all of its 8 GPUs"
std::string broken_text(const FleetBrokenHost&);
std::string verdict_text(const Fleet&);                   // "20 suspects of 10000 GPUs", "no suspect among 8 GPUs"
std::string traces_text(const Fleet&);                    // what was read, and what was not
Table items_table(const std::vector<const FleetItem*>&);  // medians and scatter of a group

}  // namespace npgpu

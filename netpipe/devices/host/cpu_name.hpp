// What a processor is called.
#pragma once

#include <istream>
#include <string>

namespace npgpu::host {

// From the text of /proc/cpuinfo: the model name where there is one (x86); on Arm, whose text has numbers only, the
// implementer and the part by name ("Arm Neoverse-V2"), every kind of core where there are several, and the numbers of
// those that are in no table ("Arm part 0xd99", "implementer 0x99, part 0x001"). "unknown cpu" if it says nothing.
std::string cpu_name(std::istream& cpuinfo);

}  // namespace npgpu::host

// Other processes of this machine, as the kernel describes them.
#pragma once

#include <string>

namespace npgpu::process {

// When a process began, as no other process of any boot of this machine did: "<boot id>:<ticks since boot>". Empty if
// there is no such process, or it cannot be asked.
std::string start_of(long pid);

// "is gone", "is stopped" (by a signal), or nothing: it runs, or cannot be seen. `start` is what start_of() gave while
// it ran; without it nothing is known of the process, which may be in another container.
std::string fate_of(long pid, const std::string& start);

}  // namespace npgpu::process

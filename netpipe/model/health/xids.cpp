#include "netpipe/model/health/xids.hpp"

#include <algorithm>

namespace npgpu::model {

namespace {

struct Named {
  unsigned xid;
  std::string_view name;
};
// Those that can occur, after NVIDIA's Xid catalogue (docs.nvidia.com/deploy/xid-errors) and, for 61, its list for
// older GPUs. In order.
constexpr Named names[] = {{8, "GPU stopped processing"},
                           {11, "invalid or corrupted push buffer"},
                           {13, "graphics engine exception"},
                           {25, "invalid or illegal push buffer"},
                           {31, "GPU memory page fault"},
                           {32, "corrupted push buffer, from PCIe"},
                           {37, "driver firmware error"},
                           {38, "driver firmware error"},
                           {39, "copy engine exception"},
                           {40, "copy engine exception"},
                           {41, "copy engine exception"},
                           {43, "GPU stopped processing"},
                           {44, "graphics engine fault during a context switch"},
                           {45, "cleanup after an earlier error"},
                           {46, "GPU stopped processing"},
                           {48, "double-bit ECC error"},
                           {54, "auxiliary power is not connected"},
                           {60, "video processor exception"},
                           {61, "internal micro-controller breakpoint"},
                           {62, "internal micro-controller halt"},
                           {63, "memory row remapped or page retired"},
                           {64, "row remapping or page retirement failed"},
                           {66, "illegal access by the driver"},
                           {67, "illegal access by the driver"},
                           {68, "video decoder exception"},
                           {69, "graphics engine class error"},
                           {70, "copy engine error"},
                           {71, "copy engine error"},
                           {72, "copy engine error"},
                           {74, "NVLink error"},
                           {75, "copy engine error"},
                           {76, "copy engine error"},
                           {77, "copy engine error"},
                           {78, "vGPU could not start"},
                           {79, "GPU has fallen off the bus"},
                           {80, "corrupted data sent to the GPU"},
                           {85, "copy engine error"},
                           {92, "high rate of single-bit ECC errors"},
                           {93, "InfoROM wear limit exceeded"},
                           {94, "contained memory error"},
                           {95, "uncontained memory error"},
                           {109, "context switch timeout"},
                           {110, "security fault"},
                           {119, "GSP firmware does not answer"},
                           {120, "GSP firmware error"},
                           {121, "NVLink-C2C error, corrected"},
                           {136, "NVLink training failed"},
                           {137, "NVLink access without privilege"},
                           {140, "unrecovered ECC error"},
                           {141, "CUDA fast path error"},
                           {143, "GPU initialization failed"},
                           {144, "NVLink error (SAW)"},
                           {145, "NVLink error (RLW)"},
                           {146, "NVLink error (TLW)"},
                           {147, "NVLink error (TREX)"},
                           {148, "NVLink error (NVLPW)"},
                           {149, "NVLink error (NETIR)"},
                           {150, "NVLink error (MSE)"},
                           {151, "key rotation error"},
                           {154, "recovery action changed"},
                           {155, "NVLink down by software"},
                           {156, "resource retired"},
                           {157, "resource retirement failed"},
                           {158, "GPU fatal timeout"},
                           {159, "CHI error of NVLink-C2C"},
                           {160, "channel retired"},
                           {161, "channel retirement failed"},
                           {162, "power smoothing engaged again"},
                           {163, "power smoothing disengaged"},
                           {164, "power smoothing: little lifetime left"},
                           {165, "power smoothing: no lifetime left"},
                           {166, "unencrypted NVLink traffic in confidential computing"},
                           {167, "PCIe fatal timeout"},
                           {168, "errors in protected memory: less capacity"},
                           {169, "internal micro-controller halt"},
                           {170, "NVLink interrupt in confidential computing"},
                           {171, "uncorrectable DRAM error"},
                           {172, "uncorrectable SRAM error"}};

}  // namespace

std::string_view xid_name(unsigned xid) {
  constexpr unsigned first_copy_engine = 126, last_copy_engine = 135;
  if (xid >= first_copy_engine && xid <= last_copy_engine) return "copy engine error";
  const auto* const found = std::ranges::lower_bound(names, xid, {}, &Named::xid);
  return found != std::end(names) && found->xid == xid ? found->name : std::string_view();
}

}  // namespace npgpu::model

// Xids, NVIDIA's numbers for errors of a GPU: what each is, and what NVIDIA says is to be done.
#include <algorithm>

#include "netpipe/judge/health/metrics.hpp"

namespace npgpu::model {

namespace {

// What mends it, in the words of a remedy.
namespace act {
constexpr const char app[] = "start the application again; if others meet it too, report it to the vendor",
                     watch[] = "no action by itself: watch whether it comes again, and report it to the vendor then",
                     reset[] = "drain the node and reset the GPU; report it to the vendor if it comes again",
                     remap[] = "no action at once: a reset of the GPU activates what replaces the bad cells",
                     replace[] = "replace the GPU: the memory's errors cannot be repaired any more",
                     ecc[] =
                         "drain the node and reset the GPU, or reboot; replace it if nvidia-smi -q -d ECC says that a "
                         "threshold of SRAM is exceeded, or if it comes again",
                     off_bus[] =
                         "drain the node, and power it off and on; look at AER in dmesg, seating, riser and power "
                         "cables; replace the GPU if it comes again",
                     power[] = "connect the GPU's auxiliary power; look at its cables",
                     nvlink[] =
                         "drain the node and reset the GPUs at both ends; look at nvidia-smi nvlink -s and -e; reseat "
                         "or replace the board if it comes again",
                     machine[] = "start the virtual machine again; report it to the vendor if it comes again",
                     software[] = "update driver and vGPU software",
                     other[] =
                         "look in dmesg for the Xid that came with it, and follow that; report it if it came alone",
                     as_told[] = "do what its text in dmesg says",
                     smoothing[] =
                         "nothing, unless power smoothing is wanted: then look at temperatures, or replace the GPU",
                     unknown[] = "look at its text in dmesg; report it to the vendor";
}  // namespace act

struct Xid {
  unsigned number;
  std::string_view name;
  const char* remedy;
};
// Those that can occur, in order, each with what NVIDIA gives as the immediate action, then what to do if it comes
// again: NVIDIA, XID Errors, "Analyzing Xid Errors with the Xid Catalog"
// (docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html); 61 from its list for older GPUs. Of 64 its GPU Memory
// Error Management says that the GPU is replaced. From 162 on the catalogue gives no action but for power smoothing.
constexpr Xid catalogue[] = {{8, "GPU stopped processing", act::app},
                             {11, "invalid or corrupted push buffer", act::app},
                             {13, "graphics engine exception", act::app},
                             {25, "invalid or illegal push buffer", act::app},
                             {31, "GPU memory page fault", act::app},
                             {32, "corrupted push buffer, from PCIe", act::app},
                             {37, "driver firmware error", act::watch},
                             {38, "driver firmware error", act::watch},
                             {39, "copy engine exception", act::app},
                             {40, "copy engine exception", act::app},
                             {41, "copy engine exception", act::app},
                             {43, "GPU stopped processing", act::watch},
                             {44, "graphics engine fault during a context switch", act::watch},
                             {45, "cleanup after an earlier error", act::other},
                             {46, "GPU stopped processing", act::reset},
                             {48, "double-bit ECC error", act::ecc},
                             {54, "auxiliary power is not connected", act::power},
                             {60, "video processor exception", act::app},
                             {61, "internal micro-controller breakpoint", act::unknown},
                             {62, "internal micro-controller halt", act::reset},
                             {63, "memory row remapped or page retired", act::remap},
                             {64, "row remapping or page retirement failed", act::replace},
                             {66, "illegal access by the driver", act::watch},
                             {67, "illegal access by the driver", act::watch},
                             {68, "video decoder exception", act::app},
                             {69, "graphics engine class error", act::app},
                             {70, "copy engine error", act::app},
                             {71, "copy engine error", act::app},
                             {72, "copy engine error", act::app},
                             {74, "NVLink error", act::nvlink},
                             {75, "copy engine error", act::app},
                             {76, "copy engine error", act::app},
                             {77, "copy engine error", act::app},
                             {78, "vGPU could not start", act::software},
                             {79, "GPU has fallen off the bus", act::off_bus},
                             {80, "corrupted data sent to the GPU", act::app},
                             {85, "copy engine error", act::app},
                             {92, "high rate of single-bit ECC errors", act::watch},
                             {93, "InfoROM wear limit exceeded", act::watch},
                             {94, "contained memory error", act::app},
                             {95, "uncontained memory error", act::reset},
                             {109, "context switch timeout", act::reset},
                             {110, "security fault", act::reset},
                             {119, "GSP firmware does not answer", act::reset},
                             {120, "GSP firmware error", act::reset},
                             {121, "NVLink-C2C error, corrected", act::watch},
                             {136, "NVLink training failed", act::nvlink},
                             {137, "NVLink access without privilege", act::app},
                             {140, "unrecovered ECC error", act::reset},
                             {141, "CUDA fast path error", act::watch},
                             {143, "GPU initialization failed", act::reset},
                             {144, "NVLink error (SAW)", act::nvlink},
                             {145, "NVLink error (RLW)", act::nvlink},
                             {146, "NVLink error (TLW)", act::nvlink},
                             {147, "NVLink error (TREX)", act::nvlink},
                             {148, "NVLink error (NVLPW)", act::nvlink},
                             {149, "NVLink error (NETIR)", act::nvlink},
                             {150, "NVLink error (MSE)", act::nvlink},
                             {151, "key rotation error", act::machine},
                             {154, "recovery action changed", act::as_told},
                             {155, "NVLink down by software", act::reset},
                             {156, "resource retired", act::reset},
                             {157, "resource retirement failed", act::watch},
                             {158, "GPU fatal timeout", act::reset},
                             {159, "CHI error of NVLink-C2C", act::other},
                             {160, "channel retired", act::watch},
                             {161, "channel retirement failed", act::watch},
                             {162, "power smoothing engaged again", act::smoothing},
                             {163, "power smoothing disengaged", act::smoothing},
                             {164, "power smoothing: little lifetime left", act::smoothing},
                             {165, "power smoothing: no lifetime left", act::smoothing},
                             {166, "unencrypted NVLink traffic in confidential computing", act::unknown},
                             {167, "PCIe fatal timeout", act::unknown},
                             {168, "errors in protected memory: less capacity", act::unknown},
                             {169, "internal micro-controller halt", act::unknown},
                             {170, "NVLink interrupt in confidential computing", act::unknown},
                             {171, "uncorrectable DRAM error", act::ecc},
                             {172, "uncorrectable SRAM error", act::ecc}};

const Xid* xid_of(double number) {
  static constexpr Xid of_engine{0, "copy engine error", act::app};
  constexpr double first_copy_engine = 126, last_copy_engine = 135;
  if (number >= first_copy_engine && number <= last_copy_engine) return &of_engine;
  const auto* const found = std::ranges::find(catalogue, number, &Xid::number);
  return found == std::end(catalogue) ? nullptr : found;
}

// ", the last was Xid 79 (GPU has fallen off the bus)".
std::string last_text(double number) {
  if (!(number > 0)) return "";
  const Xid* const xid = xid_of(number);
  return fmt::format(", the last was Xid {:g}{}", number, xid ? fmt::format(" ({})", xid->name) : "");
}

}  // namespace

std::string_view xid_name(unsigned number) {
  const Xid* const xid = xid_of(number);
  return xid ? xid->name : std::string_view();
}

void judge_xids(Findings& findings) {
  const DeviceRecord& of = findings.device;
  const double now = of.rise("xids"), before = of.fact("xids_logged"), switches = of.fact("sxids_logged");
  if (std::isnan(now) && std::isnan(before))
    return findings.skip("xid", "Xid errors: " + (of.after.empty() && of.state("unread_xids").empty()
                                                      ? std::string("not in this trace")
                                                      : "neither NVML's events nor the kernel's log can be read"));
  std::string text = now > 0           ? fmt::format("{:g} Xid errors during this run", now)
                     : std::isnan(now) ? "Xid errors during this run: " + of.why_unread("xids")
                                       : "no Xid error during this run";
  if (now > 0) text += last_text(number_fact(of.after, "xid_last"));
  const double of_nvlink = of.rise("xids_of_nvlink");
  if (of_nvlink > 0)
    text += fmt::format("; {:g} of NVLink, of which only dmesg says whether they are fatal", of_nvlink);
  if (before > 0)
    text += fmt::format("; {:g} in the kernel's log before{}", before, last_text(of.fact("xid_logged_last")));
  if (switches > 0)
    text += fmt::format(
        "; {:g} SXid errors of NVSwitches in the kernel's log before{}", switches,
        of.fact("sxid_logged_last") > 0 ? fmt::format(", the last was SXid {:g}", of.fact("sxid_logged_last")) : "");
  if (const std::string said = of.text("kernel_log_says"); !said.empty()) text += "; it says: " + said;
  if (const std::string ignored = of.text("xids_ignored"); !ignored.empty()) text += "; not counted: Xid " + ignored;
  if (!of.text("unread_kernel_log").empty()) text += "; the kernel's log of before cannot be read";
  const bool is_doubtful = before > 0 || switches > 0 || of_nvlink > 0;
  HealthFinding& finding = findings.defect("xid",
                                           now > 0       ? Health::fail
                                           : is_doubtful ? Health::warn
                                                         : Health::pass,
                                           text);
  with_value(finding, std::isnan(now) ? before : now, 0, "errors");
}

std::optional<Explanation> reported_xids(const Findings& findings) {
  const HealthFinding* const finding = findings.find("xid");
  if (!finding || !findings.is_bad("xid")) return std::nullopt;
  const DeviceRecord& of = findings.device;
  const double last = of.rise("xids") > 0 ? number_fact(of.after, "xid_last") : of.fact("xid_logged_last");
  const Xid* const xid = xid_of(last);
  return Explanation{"xid", "the driver reported errors of the GPU", finding->text,
                     xid ? fmt::format("for Xid {:g} NVIDIA's list says: {}", last, xid->remedy)
                         : "look at dmesg, and at the log of the fabric manager where NVSwitches reported them"};
}

}  // namespace npgpu::model

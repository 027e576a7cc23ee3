#include "netpipe/devices/host/kernel_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>

namespace npgpu::host {

namespace {

bool is_kernel_log(int file) {
  struct stat found {};
  const dev_t kmsg = makedev(1, 11);  // Linux allocated devices: 1 char, 11 = /dev/kmsg
  return ::fstat(file, &found) == 0 && S_ISCHR(found.st_mode) && found.st_rdev == kmsg;
}

}  // namespace

std::optional<std::vector<std::string>> kernel_log(const std::filesystem::path& path) {
  const int log = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (log < 0) return std::nullopt;
  std::vector<std::string> records;
  std::array<char, 8192> record;  // each read gives one
  while (is_kernel_log(log)) {
    const ssize_t got = ::read(log, record.data(), record.size());
    if (got > 0) records.emplace_back(record.data(), static_cast<std::size_t>(got));
    else if (got == 0 || (errno != EPIPE && errno != EINTR)) break;  // EPIPE: a record was overwritten meanwhile
  }
  ::close(log);
  if (records.empty()) return std::nullopt;  // a kernel that runs has said something
  return records;
}

bool is_of_a_program(unsigned long long xid) {
  constexpr std::array<unsigned long long, 34> of_programs{
      // Kernels' exceptions and page faults, stopped programs; a push buffer, class or peer access that was wrong.
      13, 31, 43, 45, 11, 25, 69, 137,
      // NVENC, NVDEC, NVJPG, OFA.
      60, 65, 68, 82, 83, 84, 86, 88, 89, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 139, 142,
      // Injected, tests, a corrected error of NVLink-C2C, power smoothing that is back.
      14, 106, 107, 121, 162};
  return std::ranges::find(of_programs, xid) != of_programs.end();
}

std::string ignored_xids() {
  const char* const list = std::getenv("NPGPU_IGNORE_XID");
  return list ? list : "";
}

bool does_not_count(unsigned long long xid) {
  return is_of_a_program(xid) ||
         (',' + ignored_xids() + ',').find(',' + std::to_string(xid) + ',') != std::string::npos;
}

namespace {

// What is common to "0000:3B:00.0", "00000000:3B:00.0" and "0000:3b:00", as CUDA, NVML and the log write it.
std::string short_bus_id(std::string_view bus_id) {
  std::string text(bus_id.substr(0, bus_id.find('.')));
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::string_view more = "0000";
  if (text.find(':') == 8 && text.starts_with(more)) text.erase(0, more.size());
  return text;
}

// /dev/kmsg writes a line's end within a record as \x0a.
std::string plain_text(const std::string& record) {
  std::string text;
  for (std::size_t i = 0; i < record.size(); ++i) {
    const bool is_end = record.compare(i, 4, "\\x0a") == 0;
    text += is_end ? '\n' : static_cast<char>(std::tolower(static_cast<unsigned char>(record[i])));
    if (is_end) i += 3;
  }
  return text;
}

struct Report {
  unsigned number = 0;
  std::string_view rest;  // after the number
};

// Reads "xid (pci:0000:3b:00): 79, ..." after `word`; of this device only, where one is given. A record may also have
// "(0000:3b:00)", and one of a part of a GPU "(pci:0000:3b:00 gpu-i:05)".
std::optional<Report> report(std::string_view text, std::string_view word, std::string_view bus_id) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + word.size());
  if (constexpr std::string_view pci = "pci:"; text.starts_with(pci)) text.remove_prefix(pci.size());
  const std::size_t end = text.find("): ");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view whose = text.substr(0, std::min(end, text.find(' ')));
  if (!bus_id.empty() && short_bus_id(whose) != bus_id) return std::nullopt;
  text.remove_prefix(end + 3);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  return Report{static_cast<unsigned>(std::strtoul(std::string(text.substr(0, digits)).c_str(), nullptr, 10)),
                text.substr(digits)};
}

// "gpu recovery action changed from 0x1 (gpu reset required) to 0x0 (none)": the error before it was mended.
bool is_recovery_to_none(const Report& xid) {
  constexpr unsigned recovery_action_changed = 154;
  const std::size_t to = xid.rest.find(" to ");
  return xid.number == recovery_action_changed && to != std::string_view::npos &&
         xid.rest.find("(none)", to) != std::string_view::npos;
}

// "the nvidia gpu 0000:b3:00.0 (pci id: 10de:26b5) installed in this system has fallen off the bus", on several lines
// or in several records; "gpu 0000:b3:00.0: gpu has fallen off the bus"; "gpu 0000:b3:00.0: rminitadapter failed".
bool says_lost(std::string_view text, std::string_view bus_id) {
  constexpr std::size_t reach = 250;
  for (std::size_t at = text.find(bus_id); at != std::string_view::npos; at = text.find(bus_id, at + 1)) {
    const std::size_t line = text.rfind('\n', at) + 1;  // 0 of the first
    if (text.substr(line, at - line).find("nvrm") == std::string_view::npos) continue;
    std::string_view after = text.substr(at + bus_id.size(), reach);
    if (const std::size_t next = after.find("xid ("); next != std::string_view::npos) after = after.substr(0, next);
    if (after.find("fallen off the bus") != std::string_view::npos ||
        after.substr(0, after.find('\n')).find("rminitadapter failed") != std::string_view::npos)
      return true;
  }
  return false;
}

// "145, rlw_src_track nonfatal xc1 i0 link 17": i1 is an injected one.
bool is_harmless(const Report& xid) {
  const auto has = [&](std::string_view word) { return xid.rest.find(word) != std::string_view::npos; };
  return is_recovery_to_none(xid) || (is_of_nvlink5(xid.number) && (has("nonfatal") || has(" i1 ")));
}

// "45, pid=1234, name=python3, ch 00000001 caused by previous xid 149" -> 149; 0 where it names none.
unsigned cause_of(const Report& xid) {
  constexpr std::string_view words = "caused by previous xid ";
  const std::size_t at = xid.rest.find(words);
  if (at == std::string_view::npos) return 0;
  return static_cast<unsigned>(std::strtoul(std::string(xid.rest.substr(at + words.size())).c_str(), nullptr, 10));
}

// Linux's words (drivers/pci/pcie/aer.c): "nvidia 0000:c5:00.0: pcie bus error: severity=uncorrected (fatal), ...";
// "pcieport 0000:c4:00.0: aer: uncorrected (fatal) error received: 0000:c5:00.0".
bool is_link_error(std::string_view text, const std::string& bus_id, const std::string& port) {
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  const bool is_of_it = has(bus_id + '.') || (!port.empty() && has(port + '.'));
  return is_of_it && has("uncorrected") && (has("pcie bus error") || has("aer:"));
}

}  // namespace

std::string LoggedErrors::words() const {
  std::string all;
  for (const auto& [is, what] : {std::pair{is_lost, "the GPU fell off the bus or could not be started"},
                                 {is_gsp_silent, "the firmware of the GPU's GSP does not answer"},
                                 {has_link_errors, "uncorrected errors of PCIe (AER)"}})
    if (is) all += (all.empty() ? "" : "; ") + std::string(what);
  return all;
}

LoggedErrors errors_of(const std::vector<std::string>& log, const std::string& pci_bus_id, const std::string& port) {
  const std::string bus_id = short_bus_id(pci_bus_id), port_id = short_bus_id(port);
  LoggedErrors found;
  std::string all;
  std::set<unsigned> counted, causes;
  for (const std::string& record : log) {
    const std::string text = plain_text(record);
    found.has_link_errors |= is_link_error(text, bus_id, port_id);
    found.is_gsp_silent |=
        text.find("heartbeat timed out") != std::string::npos && text.find('(' + bus_id + '.') != std::string::npos;
    if (text.find("nvrm") != std::string::npos) all += text + '\n';
    if (const auto error = report(text, "sxid (", "")) {
      if (error->rest.find("non-fatal") != std::string_view::npos) continue;
      ++found.switch_errors;
      found.last_switch_error = error->number;
    } else if (const auto xid = report(text, "xid (", bus_id)) {
      if (const unsigned cause = cause_of(*xid); cause > 0 && !does_not_count(cause)) causes.insert(cause);
      if (does_not_count(xid->number) || is_harmless(*xid)) continue;
      ++found.xids;
      counted.insert(found.last_xid = xid->number);
    }
  }
  for (const unsigned cause : causes)
    if (!counted.contains(cause)) ++found.xids, found.last_xid = cause;
  found.is_lost = says_lost(all, bus_id);
  found.xids += found.has_link_errors + (found.is_gsp_silent && found.last_xid == 0);
  return found;
}

}  // namespace npgpu::host

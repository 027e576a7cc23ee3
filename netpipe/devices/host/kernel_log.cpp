#include "netpipe/devices/host/kernel_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>

namespace npgpu::host {

std::optional<std::vector<std::string>> kernel_log() {
  const int log = ::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (log < 0) return std::nullopt;
  std::vector<std::string> lines;
  std::array<char, 8192> record;  // each read gives one
  for (;;) {
    const ssize_t got = ::read(log, record.data(), record.size());
    if (got > 0) lines.emplace_back(record.data(), static_cast<std::size_t>(got));
    else if (got == 0 || (errno != EPIPE && errno != EINTR)) break;  // EPIPE: a record was overwritten meanwhile
  }
  const bool is_read = errno == EAGAIN || !lines.empty();
  ::close(log);
  if (!is_read) return std::nullopt;
  return lines;
}

bool is_of_a_program(unsigned long long xid) {
  constexpr std::array<unsigned long long, 6> of_programs{13, 31, 43, 45, 68, 109};
  return std::ranges::find(of_programs, xid) != of_programs.end();
}

std::size_t count_xids(const std::vector<std::string>& log, const std::string& pci_bus_id) {
  const auto lower = [](std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  };
  // The log leaves the function out: 0000:3b:00 of 0000:3b:00.0.
  const std::string wanted = "xid (pci:" + lower(pci_bus_id.substr(0, pci_bus_id.find('.')));
  return static_cast<std::size_t>(std::ranges::count_if(log, [&](const std::string& line) {
    const std::size_t at = lower(line).find(wanted), number = line.find("): ", at);
    if (at == std::string::npos) return false;
    return number == std::string::npos || !is_of_a_program(std::strtoull(line.c_str() + number + 3, nullptr, 10));
  }));
}

}  // namespace npgpu::host

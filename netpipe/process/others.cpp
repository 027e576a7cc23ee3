#include "netpipe/process/others.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <sstream>
#include <vector>

#include "netpipe/process/descriptor.hpp"

namespace npgpu::process {

namespace {

// The content of a small file that the kernel makes; empty if there is none.
std::string read_proc_file(const std::string& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> text{};
  const ssize_t length = fd.open() ? ::read(fd.get(), text.data(), text.size()) : -1;
  return {text.data(), length < 0 ? 0 : static_cast<std::size_t>(length)};
}

// What follows the name in a process's stat: the state, field 3 of proc(5), and on. Empty if there is no such process.
std::vector<std::string> stat_of(long pid) {
  const std::string stat = read_proc_file(fmt::format("/proc/{}/stat", pid));
  const std::size_t name_ends = stat.rfind(')');
  std::vector<std::string> all;
  if (name_ends == std::string::npos) return all;
  std::istringstream fields(stat.substr(name_ends + 1));
  for (std::string field; fields >> field;) all.push_back(field);
  return all;
}
constexpr std::size_t state = 0, start_time = 19;

std::string start_in(const std::vector<std::string>& fields) {
  std::string boot = read_proc_file("/proc/sys/kernel/random/boot_id");
  if (fields.size() <= start_time || boot.empty()) return {};
  boot.erase(boot.find_last_not_of('\n') + 1);
  return boot + ":" + fields[start_time];
}

}  // namespace

std::string start_of(long pid) { return start_in(stat_of(pid)); }

std::string fate_of(long pid, const std::string& start) {
  if (start.empty()) return {};
  const auto fields = stat_of(pid);
  if (start_in(fields) != start) return "is gone";
  if (fields[state] == "Z" || fields[state] == "X") return "is gone";  // nobody has asked yet how it ended
  if (fields[state] == "T" || fields[state] == "t") return "is stopped";
  return {};
}

}  // namespace npgpu::process

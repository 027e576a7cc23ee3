#include "netpipe/devices/host/watch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "netpipe/devices/host/cgroup.hpp"
#include "netpipe/files/output.hpp"

namespace npgpu::host {

namespace {

// Shares of one processor. Ticks of 10 ms in a window of 200 ms make a quiet machine's others look like 0.1.
constexpr double too_much_of_others = 0.3;
constexpr double too_much_stolen = 0.25;
// Shares of the visit's time. A switch to a kernel thread and back takes some us.
constexpr double too_much_waiting = 0.02;
constexpr double too_much_stopped = 0.02;

std::map<int, ThreadTime> own_threads() {
  std::map<int, ThreadTime> all;
  std::error_code ignored;
  for (const std::filesystem::path& task : files::entries_of("/proc/self/task", ignored)) {
    std::ifstream file(task / "schedstat");
    double ran = 0, waited = 0;
    if (file >> ran >> waited) all[std::atoi(task.filename().c_str())] = {Seconds{ran * 1e-9}, Seconds{waited * 1e-9}};
  }
  return all;
}

// By those that had work for most of the visit.
Seconds waited_by_workers(const Processors& begin, const Processors& end) {
  Seconds sum{0};
  for (const auto& [thread, now] : end.threads) {
    const auto known = begin.threads.find(thread);
    const ThreadTime before = known == begin.threads.end() ? ThreadTime{} : known->second;
    const Seconds waited = now.waited - before.waited;
    if (now.ran - before.ran + waited > (end.at - begin.at) / 2) sum += waited;
  }
  return sum;
}

std::vector<long>& companions() {
  static std::vector<long> pids;
  return pids;
}

Seconds time_of(clockid_t clock) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return Seconds{0};  // it has ended
  return Seconds{static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9};
}

Seconds own_time() {
  // What a companion had stays in the count of all processes when it has ended.
  static std::map<long, Seconds> times;
  for (const long pid : companions())
    if (clockid_t clock{}; ::clock_getcpuclockid(static_cast<pid_t>(pid), &clock) == 0)
      times[pid] = std::max(times[pid], time_of(clock));
  Seconds sum = time_of(CLOCK_PROCESS_CPUTIME_ID);
  for (const auto& [pid, time] : times) sum += time;
  return sum;
}

std::string ascii(std::string name) {  // as a trace holds it
  std::ranges::replace_if(
      name, [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  return name;
}

}  // namespace

bool is_counted_as_own(long pid) { return std::ranges::find(companions(), pid) != companions().end(); }

void count_as_own(long pid) {
  if (!is_counted_as_own(pid)) companions().push_back(pid);
}

void count_relatives_as_own() {
  const std::string parent = "/proc/" + std::to_string(::getppid());
  std::error_code fails;
  const auto its_program = std::filesystem::read_symlink(parent + "/exe", fails);
  const bool is_part = !fails && its_program == std::filesystem::read_symlink("/proc/self/exe", fails);
  if (is_part) count_as_own(::getppid());
  // Not from a process's list of children, which many kernels are built without.
  for (const Process& p : other_processes())
    if (p.parent == ::getpid() || (is_part && p.parent == ::getppid())) count_as_own(p.pid);
}

std::string name_of_process(long pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  return std::getline(file, name) && !name.empty() ? ascii(name) : "a process";
}

Processors read_processors() {
  Processors p;
  std::ifstream file("/proc/stat");
  std::string cpu;
  // user nice system idle iowait irq softirq steal
  std::array<double, 8> ticks{};
  file >> cpu;
  for (double& one : ticks) file >> one;
  const Seconds tick{1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK))};
  if (file && cpu == "cpu") {
    p.others = (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) * tick - own_time();
    p.stolen = ticks[7] * tick;
  }
  p.threads = own_threads();
  static const QuotaClock quota;
  p.stopped = quota.stopped();
  p.at = steady_clock().now();
  return p;
}

std::vector<Process> other_processes() {
  std::vector<Process> all;
  std::error_code ignored;
  const Seconds tick{1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK))};
  for (const std::filesystem::path& process : files::entries_of("/proc", ignored)) {
    const std::string number = process.filename();
    if (number.find_first_not_of("0123456789") != number.npos) continue;
    Process p;
    p.pid = std::stol(number);
    if (p.pid == ::getpid() || is_counted_as_own(p.pid)) continue;
    std::ifstream file(process / "stat");
    std::string stat;
    std::getline(file, stat, '\0');  // of a process that ends meanwhile nothing; a buffer's iterator would throw
    const std::size_t open = stat.find('('), close = stat.rfind(')');
    if (open == stat.npos || close == stat.npos) continue;  // it ended
    p.name = ascii(stat.substr(open + 1, close - open - 1));
    std::istringstream fields(stat.substr(close + 1));
    std::string skipped;
    fields >> skipped >> p.parent;
    for (int field = 5; field < 14; ++field) fields >> skipped;
    double user = 0, system = 0;
    if (fields >> user >> system) p.time = (user + system) * tick;
    all.push_back(std::move(p));
  }
  return all;
}

Watch::Watch(Read read, List list) : read_(std::move(read)), list_(std::move(list)) {
  listed_at_ = note().at;
  for (Process& p : list_()) listed_[p.pid] = std::move(p);
}

std::string Watch::who() {
  const Seconds now = noted_.back().at;
  if (!who_.empty() && now - listed_at_ < Seconds{1}) return who_;
  std::map<long, Process> listed;
  const Process* most = nullptr;
  Seconds most_time = 0.1 * (now - listed_at_);
  for (Process& p : list_()) {
    const Process& one = listed[p.pid] = std::move(p);
    const auto before = listed_.find(one.pid);
    const Seconds time = before == listed_.end() ? one.time : one.time - before->second.time;
    if (time > most_time) most_time = time, most = &one;
  }
  who_ = most ? fmt::format("{} ({})", most->name, most->pid) : "";
  listed_ = std::move(listed);
  listed_at_ = now;
  return who_;
}

Processors Watch::note() {
  noted_.push_back(read_());
  // The last one that is a window old stays, for the next that asks.
  while (noted_.size() > 2 && noted_[1].at <= noted_.back().at - window) noted_.pop_front();
  return noted_.back();
}

Disturbance Watch::end() {
  const Processors now = note();
  Disturbance found;
  const auto add = [&](Cause cause) { found.causes |= static_cast<std::uint32_t>(cause); };
  const Seconds visit = now.at - begin_.at;
  if (visit > Seconds{0}) {
    if (now.stopped - begin_.stopped > too_much_stopped * visit) add(Cause::host_limited);
    else if (waited_by_workers(begin_, now) > too_much_waiting * visit) add(Cause::host_busy);
  }
  // The window goes back at least to the beginning of the visit.
  const Processors* from = &noted_.front();
  for (const Processors& one : noted_)
    if (one.at <= now.at - window && one.at <= begin_.at) from = &one;
  const Seconds length = now.at - from->at;
  if (length < window) return found;
  const double others = (now.others - from->others) / length, stolen = (now.stolen - from->stolen) / length;
  if (others > too_much_of_others) add(Cause::host_busy);
  if (stolen > too_much_stolen) add(Cause::cpu_steal);
  if (found.causes & static_cast<std::uint32_t>(Cause::host_busy)) found.by = who();
  return found;
}

namespace {

std::optional<std::uint64_t> number_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  if (in >> number) return number;
  return std::nullopt;
}

}  // namespace

Rapl::Rapl(const std::filesystem::path& root, std::string& why) {
  std::error_code none;
  bool is_there = false;
  for (const std::filesystem::path& zone : files::entries_of(root, none)) {
    // "intel-rapl:0" is a package; "intel-rapl:0:0" is a part of it. AMD's processors have the same names.
    const std::string name = zone.filename();
    if (!first_line(zone / "name").starts_with("package") || name.find(':') != name.rfind(':')) continue;
    is_there = true;
    const auto now = number_in(zone / "energy_uj"), range = number_in(zone / "max_energy_range_uj");
    if (now && range) packages_.push_back({zone / "energy_uj", *range, *now});
  }
  if (is_there && packages_.empty()) why = "the processors' energy (RAPL) is for root alone to read here";
  if (!is_there) why = "this system shows no energy of its processors (no package under " + root.string() + ")";
}

double Rapl::joules() {
  for (Package& one : packages_) {
    const auto now = number_in(one.counter);
    if (!now) continue;
    sum_uj_ += static_cast<double>(*now >= one.last_uj ? *now - one.last_uj : one.range_uj - one.last_uj + *now);
    one.last_uj = *now;
  }
  return sum_uj_ * 1e-6;
}

}  // namespace npgpu::host

#include "npgpu/vocabulary/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "npgpu/model/result.hpp"

namespace npgpu {

namespace {

constexpr std::string_view the_host = "host";
constexpr std::uint32_t max_lanes = 1024;

bool on_device(Direction d) { return d == Direction::d2d || d == Direction::peer; }
Executor usual_executor(Direction d) { return d == Direction::h2h ? Executor::cpu : Executor::copy_engine; }

Memory usual_memory(Direction d, std::string_view device) {
  return on_device(d) ? Memory::device : device == the_host ? Memory::pageable : Memory::pinned;
}

std::string text_of(const Lane& lane) {
  return fmt::format("{} {}>{} {}{}", name(lane.direction), lane.source, lane.target, name(lane.executor),
                     lane.measured ? "" : " load");
}

// "d2h cuda:0>host copy-engine load"; the names of devices may hold spaces, where they are paths.
std::optional<Lane> parse_lane(std::string_view text) {
  constexpr std::string_view load = " load";
  const bool is_load = text.ends_with(load);
  if (is_load) text.remove_suffix(load.size());
  const std::size_t first = text.find(' '), last = text.rfind(' '), arrow = text.find('>');
  if (first == text.npos || arrow == text.npos || arrow < first || arrow > last) return std::nullopt;
  const auto direction = named<Direction>(text.substr(0, first));
  const auto executor = named<Executor>(text.substr(last + 1));
  if (!direction || !executor) return std::nullopt;
  return Lane{*direction, std::string(text.substr(first + 1, arrow - first - 1)),
              std::string(text.substr(arrow + 1, last - arrow - 1)), *executor, !is_load};
}

// Many lanes are counted by direction: "55 more lanes: 55 peer".
std::string brief(const std::vector<Lane>& all) {
  constexpr std::size_t few = 2;
  if (all.size() <= few) return lanes_text(all);
  std::string text = fmt::format("{} more lanes:", all.size());
  for (std::size_t d = 0; d < names_of<Direction>.size(); ++d)
    if (const auto n = std::ranges::count(all, static_cast<Direction>(d), &Lane::direction))
      text += fmt::format(" {} {}", n, names_of<Direction>[d]);
  return text;
}

// The device's own reason where it gives one.
Limit unknown(const Limit& limit, const std::string& otherwise) {
  const bool says = limit.source.starts_with("unknown: ") || limit.source.starts_with("none: ");
  return {not_measured, says ? limit.source : "unknown: " + otherwise};
}

// Half of a memory's rate: a copy reads every byte and writes it, and its bytes are counted once.
Limit copy_within(const Limit& memory, const std::string& whose) {
  if (!(memory.per_s > 0)) return unknown(memory, "the rate of " + whose + " memory is not known");
  return {memory.per_s / 2, "half of " + memory.source + ", because a copy reads and writes every byte"};
}

}  // namespace

TransferCase case_on(std::string module, const std::string& device, Direction direction) {
  const std::string host(the_host);
  return {.module = std::move(module),
          .source = direction == Direction::h2d ? host : device,
          .target = direction == Direction::d2h ? host : device,
          .direction = direction,
          .memory = usual_memory(direction, device),
          .executor = usual_executor(direction)};
}

TransferCase peer_case(std::string module, const std::string& source, const std::string& target, Access access) {
  return {.module = std::move(module),
          .source = source,
          .target = target,
          .direction = Direction::peer,
          .memory = Memory::device,
          .access = access};
}

bool is_between_ranks(const TransferCase& c) { return c.source.find('@') != std::string::npos; }

std::string device_of(const TransferCase& c) { return c.source == the_host ? c.target : c.source; }

std::string mover_of(const TransferCase& c) {
  return c.direction == Direction::peer && c.access == Access::read ? c.target : device_of(c);
}

std::vector<std::string> devices_of(const TransferCase& c) {
  std::vector<std::string> all;
  for (const Lane& lane : lanes(c))
    for (const std::string& device : {lane.source, lane.target})
      if (device != the_host && std::ranges::find(all, device) == all.end()) all.push_back(device);
  if (all.empty()) all.emplace_back(the_host);
  return all;
}

Lane reversed(const Lane& lane) {
  return {reversed(lane.direction), lane.target, lane.source, lane.executor, lane.measured};
}

std::vector<Lane> lanes(const TransferCase& c) {
  const Lane own{c.direction, c.source, c.target, c.executor, true};
  std::vector<Lane> all{own};
  if (c.pattern == Pattern::duplex) all.push_back(reversed(own));
  all.insert(all.end(), c.more_lanes.begin(), c.more_lanes.end());
  return all;
}

TransferCase lane_case(const TransferCase& c, const Lane& lane) {
  TransferCase one = c;
  one.more_lanes.clear();
  std::tie(one.direction, one.source, one.target, one.executor) =
      std::tie(lane.direction, lane.source, lane.target, lane.executor);
  if (on_device(lane.direction) != on_device(c.direction)) one.memory = usual_memory(lane.direction, device_of(one));
  return one;
}

std::string lanes_text(const std::vector<Lane>& all) {
  std::string text;
  for (const Lane& lane : all) text += (text.empty() ? "" : "; ") + text_of(lane);
  return text;
}

std::optional<std::vector<Lane>> parse_lanes(const std::string& text) {
  std::vector<Lane> all;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find("; ", begin), text.size());
    const auto lane = parse_lane(std::string_view(text).substr(begin, end - begin));
    if (!lane) return std::nullopt;
    all.push_back(*lane);
    begin = end + 2;
  }
  return all;
}

std::string title(const TransferCase& c) {
  const bool two_devices = c.source != c.target && c.source != the_host && c.target != the_host;
  std::string text =
      fmt::format("{} {} {} {} {} {} {}", c.module, two_devices ? c.source + '>' + c.target : device_of(c),
                  name(c.direction), name(c.memory), name(c.pattern), c.async ? "async" : "blocking", name(c.timing));
  if (c.direction == Direction::peer || (is_between_ranks(c) && c.access == Access::staged))
    text += fmt::format(" {}", name(c.access));
  if (c.chunk_bytes) text += fmt::format(" chunk={}", c.chunk_bytes);
  if (c.executor != usual_executor(c.direction) && !is_between_ranks(c)) text += fmt::format(" {}", name(c.executor));
  if (c.cache == Cache::cold) text += " cold";
  if (c.source_offset) text += fmt::format(" soffset={}", c.source_offset);
  if (c.target_offset) text += fmt::format(" roffset={}", c.target_offset);
  if (!c.bind) text += " unbound";
  if (c.host_node >= 0) text += fmt::format(" host-node={}", c.host_node);
  if (is_beside(c)) text += " beside=" + c.beside;
  if (!c.more_lanes.empty()) text += " with " + brief(c.more_lanes);
  return text;
}

Seconds Transfers::timed(const TransferCase&, std::span<const TransferSample> trial) {
  double longest_us = 0;
  for (const TransferSample& lane : trial)
    longest_us = std::max(longest_us, lane.device_us == lane.device_us ? lane.device_us : lane.host_us);
  return from_microseconds(longest_us);
}

std::optional<std::string> flaw_of(const TransferSize& size) {
  if (size.bytes == 0) return "has 0 bytes";
  return std::nullopt;
}

std::optional<std::string> flaw_of(const TransferSample& sample) {
  if (sample.repeats == 0) return "has 0 repeats";
  if (sample.lane >= max_lanes) return fmt::format("is of lane {}", sample.lane);
  return flaw_of_intact(sample.intact);
}

std::string text_of(const TransferSize& size) { return size_text(size.bytes); }

// ---- theoretical rates ---------------------------------------------------------------------------------------------

Limit limit_of(const TransferCase& c, const DeviceInfo& device) {
  switch (c.direction) {
    case Direction::h2d:
    case Direction::d2h:
      // The rate of one direction, for pingpong and duplex too: a link carries both at once.
      if (!(device.link.per_s > 0)) return unknown(device.link, "the link's rate is not known");
      return device.link;
    case Direction::d2d: return copy_within(device.memory, "the device's");
    case Direction::h2h:
      if (device.id != "host") break;  // what it says of memory is of its own
      return copy_within(device.memory, "the host's");
    case Direction::peer:
      if (!(device.peers.per_s > 0)) return unknown(device.peers, "the rate between two devices is not known");
      return device.peers;
  }
  return unknown({}, "the rate of the host's memory is not known");
}

std::string size_text(std::uint64_t bytes) {
  // Sizes that were given in decimal units: 64 MB is 62500 KiB.
  constexpr std::uint64_t MB = 1'000'000, GB = 1000 * MB;
  if (bytes >= MB && bytes % MB == 0 && bytes % MiB != 0)
    return bytes % GB == 0 ? fmt::format("{} GB", bytes / GB) : fmt::format("{} MB", bytes / MB);
  constexpr std::array units{"KiB", "MiB", "GiB", "TiB"};
  for (std::size_t i = units.size(); i-- > 0;) {
    const std::uint64_t unit = std::uint64_t{1} << (10 * (i + 1));
    // Quarters are exact in two decimals; any other part would be rounded, and is written in bytes.
    if (bytes >= unit && bytes % (unit / 4) == 0)
      return fmt::format("{}{} {}", bytes / unit,
                         std::array{"", ".25", ".5", ".75"}[static_cast<std::size_t>(bytes % unit / (unit / 4))],
                         units[i]);
  }
  return fmt::format("{} B", bytes);
}

// ---- how it is repeated, what a point costs, what its figure counts -------------------------------------------------

PointCost Transfers::cost(const DeviceInfo& device, const Step<Transfers>& step) {
  const bool host = step.question.direction == Direction::h2h, far = step.question.cache == Cache::cold;
  const int legs = step.question.pattern == Pattern::stream ? 1 : 2;
  const auto bytes = static_cast<double>(step.axes.bytes) * legs;
  const bool blocking = step.question.timing == Timing::host;
  const double rate = step.question.direction == Direction::d2d    ? 1e12
                      : step.question.direction == Direction::peer ? 2e11
                      : host                                       ? 8e9
                                                                   : 4e10;
  constexpr double most_real_bytes = 64 * KiB;  // of a simulated copy
  if (device.simulated) return {Seconds{0}, PointCost::moving(std::min(bytes, most_real_bytes * legs), 1.8e9)};
  // A walk through more than the caches is laid out anew for each size.
  return {Seconds{host       ? 1e-7
                  : blocking ? 6e-6
                             : 2e-6} +
              PointCost::moving(bytes, rate),
          PointCost::moving(bytes, 4e9) + Seconds{far && host ? 0.15 : 0}};
}

std::vector<std::string> Transfers::other_devices(const TransferCase& c) {
  return is_between_ranks(c) ? std::vector<std::string>{} : devices_of(c);  // the batch's device is this rank's end
}

Estimate Transfers::figure(const TransferCase&, const TransferResult& r) {
  return {r.rate.value, r.rate.low, r.rate.high, "B/s", r.time_us.method};
}

std::string_view Transfers::counted(const TransferCase&, const TransferResult&) { return "payload bytes"; }

Seconds StageCost::time(double bytes) const {
  if (curve.size() < 2 || bytes <= curve.front().bytes) return curve.front().time;
  std::size_t right = 1;
  while (right + 1 < curve.size() && curve[right].bytes < bytes) ++right;
  const At &a = curve[right - 1], &b = curve[right];
  return a.time + (b.time - a.time) * ((bytes - a.bytes) / (b.bytes - a.bytes));
}

Seconds staged_time(std::span<const StageCost> stages, std::uint64_t bytes, std::uint64_t chunks) {
  const double chunk = static_cast<double>(bytes) / static_cast<double>(chunks);
  Seconds first{0}, busiest{0};
  std::map<int, Seconds> of_worker;
  for (const StageCost& stage : stages) {
    const Seconds time = stage.time(chunk);
    first += time;
    busiest = std::max(busiest, of_worker[stage.worker] += time);
  }
  return first + static_cast<double>(chunks - 1) * busiest;
}

std::uint64_t advised_chunk(std::span<const StageCost> stages, std::uint64_t bytes, std::uint64_t most,
                            std::uint64_t grain) {
  constexpr std::uint64_t each_of = 64;
  constexpr double as_long = 1.01;
  std::map<std::uint64_t, Seconds> times;  // by chunk
  const std::uint64_t most_chunks = std::max<std::uint64_t>(1, (bytes + grain - 1) / grain);
  for (std::uint64_t n = 1; n <= most_chunks; n = n < each_of ? n + 1 : n + n / 20) {
    const std::uint64_t chunk = std::min(bytes, ((bytes + n - 1) / n + grain - 1) / grain * grain);
    // The last of them may be shorter.
    if (chunk <= std::max(most, std::min(grain, bytes)))
      times[chunk] = staged_time(stages, bytes, (bytes + chunk - 1) / chunk);
  }
  if (times.empty()) return std::min({bytes, std::max(most, grain)});
  const Seconds least = std::ranges::min_element(times, {}, [](const auto& one) { return one.second; })->second;
  std::uint64_t best = times.begin()->first;
  for (const auto& [chunk, time] : times)
    if (time <= as_long * least) best = chunk;
  return best;
}

}  // namespace npgpu

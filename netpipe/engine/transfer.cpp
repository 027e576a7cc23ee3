#include "npgpu/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>

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
  Lane lane;
  constexpr std::string_view load = " load";
  if (text.ends_with(load)) {
    lane.measured = false;
    text.remove_suffix(load.size());
  }
  const std::size_t first = text.find(' '), last = text.rfind(' '), arrow = text.find('>');
  if (first == text.npos || arrow == text.npos || arrow < first || arrow > last) return std::nullopt;
  const auto direction = named<Direction>(text.substr(0, first));
  const auto executor = named<Executor>(text.substr(last + 1));
  if (!direction || !executor) return std::nullopt;
  lane.direction = *direction;
  lane.executor = *executor;
  lane.source = text.substr(first + 1, arrow - first - 1);
  lane.target = text.substr(arrow + 1, last - arrow - 1);
  return lane;
}

}  // namespace

TransferCase case_on(std::string module, const std::string& device, Direction direction) {
  TransferCase c;
  c.module = std::move(module);
  c.source = direction == Direction::h2d ? std::string(the_host) : device;
  c.target = direction == Direction::d2h ? std::string(the_host) : device;
  c.direction = direction;
  c.memory = usual_memory(direction, device);
  c.executor = usual_executor(direction);
  return c;
}

const std::string& device_of(const TransferCase& c) { return c.source == the_host ? c.target : c.source; }

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
  one.direction = lane.direction;
  one.source = lane.source;
  one.target = lane.target;
  one.executor = lane.executor;
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
  if (c.executor != usual_executor(c.direction)) text += fmt::format(" {}", name(c.executor));
  if (c.cache == Cache::cold) text += " cold";
  if (c.source_offset) text += fmt::format(" soffset={}", c.source_offset);
  if (c.target_offset) text += fmt::format(" roffset={}", c.target_offset);
  if (!c.bind) text += " unbound";
  if (!c.more_lanes.empty()) text += " with " + lanes_text(c.more_lanes);
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

}  // namespace npgpu

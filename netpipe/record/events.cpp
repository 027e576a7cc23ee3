#include "netpipe/record/events.hpp"

#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <set>
#include <tuple>

#include "netpipe/devices/cuda/called.hpp"

namespace npgpu::record {

Event& ProcessEvents::add(Activity activity, std::uint64_t start, std::uint64_t end) {
  Event& e = events.emplace_back();
  e.question.activity = activity;
  e.start = start;
  e.end = std::max(start, end);
  return e;
}

void ProcessEvents::drop_flawed_kernel() {
  if (!flaw_of(events.back().shape)) return;
  events.pop_back();
  ++process.bad;
}

std::uint64_t ProcessEvents::first() const {
  return events.empty() ? UINT64_MAX : std::ranges::min(events, {}, &Event::start).start;
}

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return name;  // "f" alone would be the type float
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 && text ? text.get() : name;
}

std::string call_name(std::string name) {
  if (const std::size_t at = name.rfind("_v"); at != std::string::npos && at + 2 < name.size() &&
                                               name.find_first_not_of("0123456789", at + 2) == std::string::npos)
    name.erase(at);
  for (const char* end : {"_ptsz", "_ptds"})
    if (name.ends_with(end)) name.erase(name.size() - std::strlen(end));
  return name;
}

std::string sound(std::string text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte < 0x80 ? 1 : byte >= 0xc2 && byte < 0xe0 ? 2 : byte >= 0xe0 && byte < 0xf0 ? 3 : 0;
    bool is_sound = length && i + length <= text.size() && byte >= 0x20 && byte != 0x7f;
    for (std::size_t k = 1; is_sound && k < length; ++k)
      is_sound = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
    if (!is_sound) text[i] = '?';
    i += is_sound ? length : 1;
  }
  return text;
}

std::string wait_called(std::uint32_t type) {
  constexpr const char* kinds[] = {"unknown", "event", "event in a stream", "stream", "context"};
  return kinds[type < std::size(kinds) ? type : 0];
}

namespace {

// The driver's calls within one of the runtime are that one's: what they asked for, it asked for.
void drop_nested_calls(std::vector<Event>& events) {
  std::vector<Event*> calls;
  for (Event& e : events)
    if (e.question.activity == Activity::call) calls.push_back(&e);
  std::ranges::sort(calls, {}, [](const Event* e) { return std::tuple(e->thread, e->start, UINT64_MAX - e->end); });
  std::map<std::uint32_t, std::uint32_t> outer_of;
  std::set<const Event*> nested;
  const Event* outer = nullptr;
  for (const Event* call : calls) {
    if (outer && outer->thread == call->thread && call->end <= outer->end) {
      if (call->correlation != outer->correlation) outer_of[call->correlation] = outer->correlation;
      nested.insert(call);
    } else {
      outer = call;
    }
  }
  std::vector<Event> kept;
  kept.reserve(events.size());
  for (Event& e : events) {
    if (nested.contains(&e)) continue;
    if (const auto found = outer_of.find(e.correlation); found != outer_of.end()) e.correlation = found->second;
    kept.push_back(std::move(e));
  }
  events = std::move(kept);
}

// By question and device, then by shape.
struct Sorted {
  std::map<std::pair<RecordCase, std::string>, std::map<RecordShape, std::vector<const Event*>>> all{};
  std::map<std::string, const DeviceInfo*> devices{};  // by the second of the keys
};

RecordSeries series_of(const RecordCase& question, const DeviceInfo* device,
                       std::map<RecordShape, std::vector<const Event*>>& by_shape, std::uint64_t zero) {
  RecordSeries series;
  series.question = question;
  series.schedule = "recorded";
  if (device) {
    series.device_name = device->name;
    series.device_uuid = device->uuid;
  }
  for (auto& [shape, events] : by_shape) {
    std::ranges::stable_sort(events, {}, &Event::start);
    Visit<Records> visit;
    visit.axes = shape;
    if (shape.bytes) visit.work = static_cast<double>(shape.bytes);
    visit.first_sample = series.samples.size();
    visit.samples = static_cast<std::uint32_t>(events.size());
    visit.at_s = static_cast<double>(events.front()->start - zero) * 1e-9;
    for (const Event* e : events) {
      RecordSample& sample = series.samples.emplace_back();
      sample.visit = static_cast<std::uint32_t>(series.visits.size());
      sample.trial = static_cast<std::uint32_t>(series.samples.size() - 1 - visit.first_sample);
      sample.start_us = static_cast<double>(e->start - zero) * 1e-3;
      sample.end_us = static_cast<double>(e->end - zero) * 1e-3;
      sample.correlation = e->correlation;
      sample.stream = e->stream;
      sample.thread = e->thread;
      sample.graph = e->graph;
      visit.wall_us += sample.end_us - sample.start_us;
    }
    series.visits.push_back(visit);
  }
  return series;
}

// One GPU, which several processes may call differently. Without a UUID it is what it is called.
bool is_same(const DeviceInfo& a, const DeviceInfo& b) {
  return a.uuid == b.uuid && a.name == b.name && a.pci_bus_id == b.pci_bus_id && (!a.uuid.empty() || a.id == b.id);
}

}  // namespace

std::size_t Recording::events(Activity activity) const {
  std::size_t all = 0;
  for (const RecordSeries& one : series)
    if (one.question.activity == activity) all += one.samples.size();
  return all;
}

Facts facts_of(const RecordedProcess& p) {
  const auto number = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  Facts facts{{"pid", number(p.pid)}, {"events", number(p.events)}, {"without_time", number(p.bad)}};
  if (p.imported_from.empty()) {
    facts.emplace_back("dropped", number(p.dropped));
    facts.emplace_back("beyond_limit", number(p.beyond_limit));
    facts.emplace_back("ended", number(p.ended));
  } else {
    facts.emplace_back("imported_from", p.imported_from);
    facts.emplace_back("lacks", fmt::format("{}", fmt::join(p.lacks, "; ")));
  }
  if (!p.trouble.empty()) facts.emplace_back("trouble", p.trouble);
  return facts;
}

Recording recording_of(std::vector<ProcessEvents> files) {
  std::ranges::stable_sort(files, {}, &ProcessEvents::first);
  Recording all;
  Sorted sorted;
  std::uint64_t zero = UINT64_MAX;
  for (const ProcessEvents& file : files) zero = std::min(zero, file.first());
  for (ProcessEvents& file : files) {
    const auto number = static_cast<std::uint32_t>(all.processes.size());
    drop_nested_calls(file.events);
    file.process.events = file.events.size();
    all.processes.push_back(file.process);
    for (auto& [ordinal, device] : file.devices) {
      device.id = cuda::gpu_called(ordinal);
      if (std::ranges::none_of(all.devices, [&](const DeviceInfo& known) { return is_same(known, device); }))
        all.devices.push_back(device);
    }
    for (Event& e : file.events) {
      e.question.process = number;
      std::string key;
      if (is_host_timed(e.question)) {
        e.question.device = "host";
      } else {
        const DeviceInfo& device = file.devices[e.device];
        e.question.device = cuda::gpu_called(e.device);
        key = device.uuid + device.name;
        sorted.devices.try_emplace(key, &device);
      }
      sorted.all[{e.question, key}][e.shape].push_back(&e);
    }
  }
  for (auto& [of, by_shape] : sorted.all) {
    const auto device = sorted.devices.find(of.second);
    all.series.push_back(
        series_of(of.first, device == sorted.devices.end() ? nullptr : device->second, by_shape, zero));
  }
  return all;
}

}  // namespace npgpu::record

#include "netpipe/record/reading.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "netpipe/devices/cuda/called.hpp"
#include "netpipe/record/raw.hpp"

namespace npgpu::record {

namespace {

// One thing that was done, before it is put where it belongs.
struct Event {
  RecordCase question{};
  RecordShape shape{};
  std::uint64_t start = 0, end = 0;  // ns
  std::uint32_t correlation = 0, stream = 0, thread = 0, graph = 0;
  std::uint32_t device = 0;  // CUPTI's number, of what a device did
};

struct ProcessFile {
  RecordedProcess process{};
  std::map<std::uint32_t, std::string> names{};
  std::map<std::uint32_t, DeviceInfo> devices{};
  std::vector<Event> events{};
  std::uint64_t first = UINT64_MAX;
};

RecordMemory memory_of(std::uint32_t code) {
  return code < names_of<RecordMemory>.size() ? static_cast<RecordMemory>(code) : RecordMemory::unknown;
}

// As people wrote it, where it is a mangled one.
std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 && text ? text.get() : name;
}

// cudaMemcpyAsync of cudaMemcpyAsync_v3020, cudaLaunchKernel of cudaLaunchKernel_ptsz_v7000, cuMemFree of cuMemFree_v2.
std::string call_name(std::string name) {
  if (const std::size_t at = name.rfind("_v"); at != std::string::npos && at + 2 < name.size() &&
                                               name.find_first_not_of("0123456789", at + 2) == std::string::npos)
    name.erase(at);
  for (const char* end : {"_ptsz", "_ptds"})
    if (name.ends_with(end)) name.erase(name.size() - std::strlen(end));
  return name;
}

// UTF-8 and nothing that a terminal obeys: other bytes become '?'.
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

constexpr std::string_view kinds_of_waits[] = {"unknown", "event", "event in a stream", "stream", "context"};

std::string uuid_text(const std::uint8_t (&bytes)[16]) {
  if (std::ranges::all_of(bytes, [](std::uint8_t b) { return b == 0; })) return {};
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", bytes[i]);
  }
  return text;
}

// The entries of one file, one after the other.
class RawReader {
 public:
  explicit RawReader(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    RawHeader header{};
    if (file.bad() || bytes_.size() < sizeof header)
      throw Error(ErrorKind::failed, path.string() + " cannot be read: it is no file of libnpgpu_record.so");
    std::memcpy(&header, bytes_.data(), sizeof header);
    if (std::memcmp(header.magic, magic, sizeof magic) != 0 || header.version != raw_version)
      throw Error(ErrorKind::failed, path.string() + " was written by another version of libnpgpu_record.so");
    of_.process.pid = header.pid;
    at_ = sizeof header;
  }

  ProcessFile read() {
    EntryHead head{};
    while (take(head) && bytes_.size() - at_ >= head.bytes) {
      const std::size_t next = at_ + head.bytes;
      end_ = next;
      if (!entry(head.sort)) break;
      at_ = next;
      end_ = bytes_.size();
    }
    of_.process.events = of_.events.size();
    return std::move(of_);
  }

 private:
  template <class T> bool take(T& value) {
    if (end() - at_ < sizeof value) return false;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return true;
  }
  std::size_t end() const { return std::min(end_, bytes_.size()); }
  std::string rest() const { return std::string(bytes_.data() + at_, end() - at_); }

  Event& event(Activity activity, std::uint64_t start, std::uint64_t finish) {
    Event& e = of_.events.emplace_back();
    e.question.activity = activity;
    e.start = start;
    e.end = std::max(start, finish);
    of_.first = std::min(of_.first, start);
    return e;
  }
  template <class Raw> Event& on_device(Activity activity, const Raw& raw) {
    Event& e = event(activity, raw.start, raw.end);
    e.device = raw.device;
    e.stream = raw.stream;
    e.correlation = raw.correlation;
    e.graph = raw.graph;
    return e;
  }
  std::string name_of(std::uint32_t number) const {
    const auto found = of_.names.find(number);
    return found == of_.names.end() ? "unknown" : found->second;
  }

  bool entry(Sort sort) {
    switch (sort) {
      case Sort::copy: return copy();
      case Sort::kernel: return kernel();
      case Sort::memset: return memset();
      case Sort::wait: return wait();
      case Sort::call: return call();
      case Sort::name: {
        RawName raw{};
        if (take(raw)) of_.names[raw.number] = sound(demangled(rest()));
        return true;
      }
      case Sort::device: return device();
      case Sort::status: {
        RawStatus raw{};
        if (!take(raw)) return false;
        of_.process.dropped = raw.dropped;
        of_.process.bad = raw.bad;
        of_.process.beyond_limit = raw.beyond_limit;
        of_.process.ended = raw.ended != 0;
        return true;
      }
      case Sort::trouble: of_.process.trouble = sound(rest()); return true;
    }
    return false;
  }
  bool copy() {
    RawCopy raw{};
    if (!take(raw)) return false;
    Event& e = on_device(Activity::copy, raw);
    e.question.source = memory_of(raw.from);
    e.question.target = memory_of(raw.to);
    e.shape.bytes = raw.bytes;
    return true;
  }
  bool kernel() {
    RawKernel raw{};
    if (!take(raw)) return false;
    Event& e = on_device(Activity::kernel, raw);
    e.question.name = name_of(raw.name);
    e.shape = {0,
               raw.grid[0],
               raw.grid[1],
               raw.grid[2],
               raw.block[0],
               raw.block[1],
               raw.block[2],
               raw.registers,
               raw.static_shared,
               raw.dynamic_shared};
    if (flaw_of(e.shape)) of_.events.pop_back(), ++of_.process.bad;
    return true;
  }
  bool memset() {
    RawMemset raw{};
    if (!take(raw)) return false;
    Event& e = on_device(Activity::memset, raw);
    e.question.target = memory_of(raw.memory);
    e.shape.bytes = raw.bytes;
    return true;
  }
  bool wait() {
    RawWait raw{};
    if (!take(raw)) return false;
    Event& e = event(Activity::wait, raw.start, raw.end);
    e.question.name = kinds_of_waits[raw.type < std::size(kinds_of_waits) ? raw.type : 0];
    e.stream = raw.stream;
    e.correlation = raw.correlation;
    return true;
  }
  bool call() {
    RawCall raw{};
    if (!take(raw)) return false;
    Event& e = event(Activity::call, raw.start, raw.end);
    e.question.name = call_name(name_of(raw.name));
    e.thread = raw.thread;
    e.correlation = raw.correlation;
    return true;
  }
  bool device() {
    RawDevice raw{};
    if (!take(raw)) return false;
    DeviceInfo& info = of_.devices[raw.number];
    info.id = cuda::gpu_called(raw.number);
    info.name = sound(rest());
    info.uuid = uuid_text(raw.uuid);
    info.pci_bus_id = sound(std::string(raw.pci_bus_id, ::strnlen(raw.pci_bus_id, sizeof raw.pci_bus_id)));
    return true;
  }

  std::string bytes_;
  std::size_t at_ = 0, end_ = SIZE_MAX;
  ProcessFile of_;
};

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

}  // namespace

std::size_t Recording::events(Activity activity) const {
  std::size_t all = 0;
  for (const RecordSeries& one : series)
    if (one.question.activity == activity) all += one.samples.size();
  return all;
}

Facts facts_of(const RecordedProcess& p) {
  const auto number = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  Facts facts{{"pid", number(p.pid)},
              {"events", number(p.events)},
              {"dropped", number(p.dropped)},
              {"without_time", number(p.bad)},
              {"beyond_limit", number(p.beyond_limit)},
              {"ended", number(p.ended)}};
  if (!p.trouble.empty()) facts.emplace_back("trouble", p.trouble);
  return facts;
}

Recording read_raw_files(std::span<const std::filesystem::path> paths) {
  std::vector<ProcessFile> files;
  for (const std::filesystem::path& path : paths) files.push_back(RawReader(path).read());
  std::ranges::stable_sort(files, {}, &ProcessFile::first);
  Recording all;
  Sorted sorted;
  std::uint64_t zero = UINT64_MAX;
  for (const ProcessFile& file : files) zero = std::min(zero, file.first);
  for (ProcessFile& file : files) {
    const auto number = static_cast<std::uint32_t>(all.processes.size());
    drop_nested_calls(file.events);
    file.process.events = file.events.size();
    all.processes.push_back(file.process);
    for (const auto& [ordinal, device] : file.devices)
      if (std::ranges::none_of(all.devices, [&](const DeviceInfo& known) {
            return known.uuid == device.uuid && known.name == device.name && known.pci_bus_id == device.pci_bus_id;
          }))
        all.devices.push_back(device);
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

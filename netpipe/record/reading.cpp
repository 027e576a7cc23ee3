#include "netpipe/record/reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include "netpipe/record/events.hpp"
#include "netpipe/record/raw.hpp"

namespace npgpu::record {

namespace {

RecordMemory memory_of(std::uint32_t code) {
  return code < names_of<RecordMemory>.size() ? static_cast<RecordMemory>(code) : RecordMemory::unknown;
}

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

  ProcessEvents read() {
    EntryHead head{};
    while (take(head) && bytes_.size() - at_ >= head.bytes) {
      const std::size_t next = at_ + head.bytes;
      end_ = next;
      if (!entry(head.sort)) break;
      at_ = next;
      end_ = bytes_.size();
    }
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

  template <class Raw> Event& on_device(Activity activity, const Raw& raw) {
    Event& e = of_.add(activity, raw.start, raw.end);
    e.device = raw.device;
    e.stream = raw.stream;
    e.correlation = raw.correlation;
    e.graph = raw.graph;
    return e;
  }
  std::string name_of(std::uint32_t number) const {
    const auto found = names_.find(number);
    return found == names_.end() ? "unknown" : found->second;
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
        if (take(raw)) names_[raw.number] = sound(demangled(rest()));
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
    of_.drop_flawed_kernel();
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
    Event& e = of_.add(Activity::wait, raw.start, raw.end);
    e.question.name = wait_called(raw.type);
    e.stream = raw.stream;
    e.correlation = raw.correlation;
    return true;
  }
  bool call() {
    RawCall raw{};
    if (!take(raw)) return false;
    Event& e = of_.add(Activity::call, raw.start, raw.end);
    e.question.name = call_name(name_of(raw.name));
    e.thread = raw.thread;
    e.correlation = raw.correlation;
    return true;
  }
  bool device() {
    RawDevice raw{};
    if (!take(raw)) return false;
    DeviceInfo& info = of_.devices[raw.number];
    info.name = sound(rest());
    info.uuid = uuid_text(raw.uuid);
    info.pci_bus_id = sound(std::string(raw.pci_bus_id, ::strnlen(raw.pci_bus_id, sizeof raw.pci_bus_id)));
    return true;
  }

  std::string bytes_;
  std::size_t at_ = 0, end_ = SIZE_MAX;
  ProcessEvents of_{};
  std::map<std::uint32_t, std::string> names_{};
};

}  // namespace

Recording read_raw_files(std::span<const std::filesystem::path> paths) {
  std::vector<ProcessEvents> all;
  for (const std::filesystem::path& path : paths) all.push_back(RawReader(path).read());
  return recording_of(std::move(all));
}

}  // namespace npgpu::record

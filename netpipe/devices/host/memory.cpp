#include "netpipe/devices/host/memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <new>
#include <sstream>
#include <string>

#include "netpipe/devices/host/cgroup.hpp"
#include "netpipe/devices/host/payload.hpp"
#include "netpipe/engine/message_memory.hpp"
#include "netpipe/files/output.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::host {

namespace fs = std::filesystem;

namespace {

std::uint64_t minus(std::uint64_t a, std::uint64_t b) { return a - std::min(a, b); }

// Sums these lines of the meminfo of the NUMA nodes that the system makes of the GPUs' memory. The driver says
// which nodes they are.
std::uint64_t gpu_memory_bytes(const fs::path& root, std::initializer_list<const char*> keys) {
  std::uint64_t sum_kb = 0;
  std::error_code error;
  for (const fs::path& gpu : files::entries_of(root / "proc/driver/nvidia/gpus", error)) {
    const auto node = number_after(gpu / "numa_status", "Node:");  // -1 where its memory is none
    if (!node) continue;
    // "Node 1 MemTotal:       98304 kB"
    std::ifstream file(root / fmt::format("sys/devices/system/node/node{}/meminfo", *node));
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string word, number, key;
      std::uint64_t kb = 0;
      if (words >> word >> number >> key >> kb && std::ranges::find(keys, key) != keys.end()) sum_kb += kb;
    }
  }
  return sum_kb * 1024;
}

}  // namespace

std::uint64_t physical_memory(const fs::path& root) {
  if (const auto total_kb = number_after(root / "proc/meminfo", "MemTotal:"))
    return minus(*total_kb * 1024, gpu_memory_bytes(root, {"MemTotal:"}));
  return 0;
}

std::uint64_t allocation_bytes(std::uint64_t max_bytes, std::uint64_t offset) {
  return padded(saturating_plus(saturating_plus(lead_bytes, offset), saturating_plus(max_bytes, payload::guard_bytes)),
                alignment_bytes);
}

End source_of(const TransferCase& c) {
  const bool on_host = c.direction == Direction::h2d || c.direction == Direction::h2h;
  return {on_host ? c.memory : Memory::device, c.source_offset};
}

End target_of(const TransferCase& c) {
  const bool on_host = c.direction == Direction::d2h || c.direction == Direction::h2h;
  return {on_host ? c.memory : Memory::device, c.target_offset};
}

std::vector<End> ends_of(const TransferCase& c) {
  std::vector<End> all{source_of(c), target_of(c)};
  if (c.pattern == Pattern::pingpong) all.push_back(source_of(c));
  return all;
}

void PageableBuffer::Free::operator()(std::byte* start) const {
  ::operator delete (start, std::align_val_t{alignment_bytes});
}

PageableBuffer::PageableBuffer(std::uint64_t max_bytes, std::uint64_t offset, [[maybe_unused]] PageSize pages)
    : max_bytes_(max_bytes) {
  const std::uint64_t bytes = allocation_bytes(max_bytes, offset);
  // Asking for more than there is may well succeed, and touching it then kills the process.
  void* start = physical_memory() && bytes > physical_memory()
                    ? nullptr
                    : ::operator new (bytes, std::align_val_t{alignment_bytes}, std::nothrow);
  if (!start)
    throw Error(ErrorKind::failed,
                fmt::format("no host memory for a buffer of {} bytes: lower --end or --sizes", max_bytes));
  start_.reset(static_cast<std::byte*>(start));
#ifdef MADV_HUGEPAGE
  if (pages == PageSize::large && bytes > huge_page_bytes) madvise(start, bytes, MADV_HUGEPAGE);
#endif
  std::memset(start, std::to_integer<int>(payload::guard_value), bytes);
  payload_ = start_.get() + lead_bytes + offset;
}

std::uint64_t free_host_memory(const fs::path& root) {
  const auto available_kb = number_after(root / "proc/meminfo", "MemAvailable:");
  const std::uint64_t room = cgroup_memory_room(root);
  if (!available_kb) return room;
  // What MemAvailable counts of a node: what is free, and most of what is cached of files.
  const std::uint64_t of_gpus =
      gpu_memory_bytes(root, {"MemFree:", "Active(file):", "Inactive(file):", "SReclaimable:"});
  return std::min(minus(*available_kb * 1024, of_gpus), room);
}

void Pages::Unmap::operator()(std::byte* start) const { munmap(start, bytes); }

Pages::Pages(std::uint64_t bytes) : bytes_(padded(bytes, huge_page_bytes)) {
  // A fence of at least a page on both sides: the kernel would join neighbours into one mapping, and the mapping's
  // line in smaps would speak of both.
  const std::uint64_t all = bytes_ + 2 * huge_page_bytes;
  const auto must = [bytes](bool done) {
    if (!done)
      throw Error(ErrorKind::failed,
                  fmt::format("no host memory for a working set of {} bytes: ask for a smaller one", bytes));
  };
  must(bytes <= all && bytes <= free_host_memory());
  void* start = mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  must(start != MAP_FAILED);
  mapping_ = {static_cast<std::byte*>(start), Unmap{all}};
  const auto address = reinterpret_cast<std::uintptr_t>(start);
  data_ = mapping_.get() + (huge_page_bytes - address % huge_page_bytes);
  must(mprotect(data_, bytes_, PROT_READ | PROT_WRITE) == 0);
#ifdef MADV_HUGEPAGE
  madvise(data_, bytes_, MADV_HUGEPAGE);  // refused where the kernel has none: see huge_bytes()
#endif
}

std::uint64_t Pages::huge_bytes() const {
  if (!data_) return 0;
  std::ifstream file("/proc/self/smaps");
  const std::string mine = fmt::format("{:x}-", reinterpret_cast<std::uintptr_t>(data_));
  bool here = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(mine)) here = true;
    if (!here || !line.starts_with("AnonHugePages:")) continue;
    std::istringstream words(line.substr(14));
    std::uint64_t kib = 0;
    words >> kib;
    return std::min(kib * 1024, bytes_);
  }
  return 0;
}

}  // namespace npgpu::host

namespace npgpu {

// Messages from and into the host's pageable memory. Staged ones are copied by the calling thread: what is begun is
// done at once.

namespace {

class HostMessageMemory final : public MessageMemory {
 public:
  HostMessageMemory(std::uint64_t max_bytes, std::uint64_t offset, const StagingSlots& slots)
      : memory_(max_bytes, offset), slot_bytes_(slots.bytes) {
    if (slots.count > 0) slots_ = {slots.count * slots.bytes, 0};
  }
  std::byte* data() override { return memory_.data(); }
  void fill(std::uint64_t bytes, std::uint64_t seed) override { payload::fill_source(memory_.payload(bytes), seed); }
  void arm(std::uint64_t bytes, std::uint64_t seed) override { payload::arm(memory_.payload(bytes), seed); }
  std::optional<std::string> wrong(std::uint64_t bytes, std::uint64_t seed) override {
    return payload::verdict(memory_.payload(bytes), seed);
  }
  std::byte* slot(std::uint64_t i) override { return slots_.data() + i * slot_bytes_; }
  void fetch(std::uint64_t i, std::uint64_t from, std::uint64_t bytes) override {
    std::memcpy(slot(i), memory_.data() + from, bytes);
  }
  void store(std::uint64_t i, std::uint64_t to, std::uint64_t bytes) override {
    std::memcpy(memory_.data() + to, slot(i), bytes);
  }
  bool is_ready(std::uint64_t) override { return true; }
  bool is_asynchronous() const override { return false; }

 private:
  host::PageableBuffer memory_, slots_;
  std::uint64_t slot_bytes_;
};

class HostMessageMemories final : public MessageMemories {
 public:
  std::string_view kind() const override { return "host"; }
  std::unique_ptr<MessageMemory> open(const std::string&, std::uint64_t max_bytes, std::uint64_t offset,
                                      const StagingSlots& slots) const override {
    return std::make_unique<HostMessageMemory>(max_bytes, offset, slots);
  }
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(MessageMemories, npgpu::HostMessageMemories)

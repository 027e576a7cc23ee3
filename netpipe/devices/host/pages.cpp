#include "netpipe/devices/host/pages.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "netpipe/devices/host/memory.hpp"
#include "npgpu/error.hpp"

namespace npgpu::host {

void Pages::Unmap::operator()(std::byte* start) const { munmap(start, bytes); }

Pages::Pages(std::uint64_t bytes) : bytes_((bytes + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes) {
  // A fence of at least a page on both sides: the kernel would join neighbours into one mapping, and the mapping's
  // line in smaps would speak of both.
  const std::uint64_t all = bytes_ + 2 * huge_page_bytes;
  const bool too_much = bytes > all || bytes > free_host_memory();
  void* start =
      too_much ? MAP_FAILED : mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED)
    throw Error(ErrorKind::failed,
                fmt::format("no host memory for a working set of {} bytes: ask for a smaller one", bytes));
  mapping_ = {static_cast<std::byte*>(start), Unmap{all}};
  const auto address = reinterpret_cast<std::uintptr_t>(start);
  data_ = mapping_.get() + (huge_page_bytes - address % huge_page_bytes);
  if (mprotect(data_, bytes_, PROT_READ | PROT_WRITE) != 0)
    throw Error(ErrorKind::failed,
                fmt::format("no host memory for a working set of {} bytes: ask for a smaller one", bytes));
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

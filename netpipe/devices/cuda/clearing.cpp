#include "netpipe/devices/cuda/clearing.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

#include "netpipe/devices/cuda/inventory.hpp"
#include "npgpu/vocabulary/device.hpp"

namespace npgpu::cuda {

double Clearing::rate(double memory_bytes_per_s) {
  const double share = share_of_memory * memory_bytes_per_s;
  return share > 0 ? std::min(usual_bytes_per_s, share) : usual_bytes_per_s;
}

void Clearing::freed(std::uint64_t bytes, Seconds now) {
  until_ = std::max(until_, now) + Seconds{static_cast<double>(bytes) / bytes_per_s_};
}

void Clearing::context_is_there(Seconds now) {
  if (waiting_bytes_ > 0) freed(waiting_bytes_, now);
  waiting_bytes_ = 0;
}

Seconds Clearing::rest(Seconds now) const { return std::max(Seconds{0}, until_ - now); }

namespace {

constexpr std::uint64_t of_a_context = 600 * MiB;  // seen on an H200: what the driver itself takes for one

// By ordinal.
struct ClearingByGpu {
  std::mutex mutex;
  std::map<int, Clearing> all;
};
ClearingByGpu& clearings() {
  static ClearingByGpu one;
  return one;
}

Clearing& clearing_of(std::map<int, Clearing>& all, int ordinal) {
  const auto known = all.find(ordinal);
  if (known != all.end()) return known->second;
  const DeviceInfo gpu = info_of(ordinal);
  Clearing& made = all.emplace(ordinal, Clearing(Clearing::rate(gpu.memory.per_s))).first->second;
  made.freed_without_context(gpu.memory_bytes);
  return made;
}

}  // namespace

void note_freed(int ordinal, std::uint64_t bytes) {
  const std::scoped_lock lock(clearings().mutex);
  clearing_of(clearings().all, ordinal).freed(bytes, steady_clock().now());
}

void wait_until_cleared(int ordinal) {
  Seconds rest{0};
  {
    const std::scoped_lock lock(clearings().mutex);
    Clearing& its = clearing_of(clearings().all, ordinal);
    its.context_is_there(steady_clock().now());
    rest = its.rest(steady_clock().now());
  }
  std::this_thread::sleep_for(rest);
}

void note_context_end(int ordinal) {
  const std::scoped_lock lock(clearings().mutex);
  clearing_of(clearings().all, ordinal).freed_without_context(of_a_context);
}

}  // namespace npgpu::cuda

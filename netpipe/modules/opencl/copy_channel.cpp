#include "netpipe/modules/opencl/copy_channel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "netpipe/devices/host/facts.hpp"
#include "netpipe/devices/opencl/inventory.hpp"
#include "netpipe/engine/copy_cases.hpp"

namespace npgpu::opencl {

namespace {

constexpr std::uint64_t cl_slot_alignment = 256;

bool is_cpu(const std::string& id) { return text_fact(find_or_throw(id).info.facts, "device_type") == "CPU"; }

host::Binding binding_of(const TransferCase& c) {
  if (c.host_node >= 0) return host::Binding::on_node(c.host_node);
  if (!c.bind) return host::Binding::none("--no-bind");
  return binding_near(device_of(c));
}

}  // namespace

std::uint64_t stride_bytes(const TransferCase& c, std::uint64_t bytes) {
  const std::uint64_t offset = std::max(c.source_offset, c.target_offset);
  return padded(saturating_plus(saturating_plus(offset, bytes), 2 * payload::guard_bytes), cl_slot_alignment);
}

std::uint64_t area_bytes(const TransferCase& c, std::uint64_t max_bytes) {
  const std::uint64_t largest = stride_bytes(c, max_bytes);
  if (c.cache == Cache::warm) return largest;
  const DeviceInfo& info = find_or_throw(device_of(c)).info;
  // Within the device the host's cache has no part; and its areas are filled over the link before each size.
  const std::uint64_t own = last_cache_bytes(info);
  const bool is_within = c.direction == Direction::d2d && own;
  const std::uint64_t wanted = 4 * (is_within ? own : std::max(own, host::last_level_cache_bytes()));
  return std::max(largest, std::min({wanted, host::free_host_memory() / 8, info.memory_bytes / 8}));
}

Area::Area(const Context& context, const Queue& queue, const host::End& end, std::uint64_t bytes) : kind_(end.kind) {
  if (kind_ != Memory::pinned) {  // device memory's image, too
    pageable_ = host::PageableBuffer(bytes, end.offset);
    first_ = pageable_.data();
  }
  if (kind_ == Memory::pageable) return;
  const std::uint64_t all = host::allocation_bytes(bytes, end.offset);
  offset_ = host::lead_bytes + end.offset;
  if (kind_ == Memory::device) {
    buffer_ = Buffer(context, all);
    return;
  }
  buffer_ = Buffer(context, all, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR);
  mapping_ = Mapping(queue, buffer_);
  first_ = mapping_.data() + offset_;
}

CopyChannel::CopyChannel(const TransferCase& c, std::uint64_t max_bytes, Seconds gate_time_out)
    : case_(c),
      max_bytes_(max_bytes),
      enqueues_(only_enqueues(c)),
      by_cpu_(c.executor == Executor::cpu),
      context_(context_on(device_of(c))),
      binding_(binding_of(c)),
      queue_(*context_, c.timing != Timing::host),
      area_(area_bytes(c, max_bytes)),
      source_(*context_, queue_, host::source_of(c), area_),
      target_(*context_, queue_, host::target_of(c), area_),
      landing_(c.pattern == Pattern::pingpong ? Area(*context_, queue_, host::source_of(c), area_) : Area()) {
  if (c.bind && c.timing == Timing::host && !is_cpu(context_->id)) quiet_.emplace();
  if (c.timing != Timing::host)
    timer_.emplace(*context_, queue_, c.timing == Timing::gated ? std::optional(gate_time_out) : std::nullopt);
}

void CopyChannel::enqueue(const Area& to, const Area& from, std::uint64_t at, cl_event* event) const {
  const Library& l = library();
  const cl_bool blocking = case_.async ? CL_FALSE : CL_TRUE;
  if (!to.on_device())
    check(l.clEnqueueReadBuffer(queue_.get(), from.buffer(), blocking, from.offset() + at, bytes_, to.first() + at, 0,
                                nullptr, event),
          "clEnqueueReadBuffer");
  else if (!from.on_device())
    check(l.clEnqueueWriteBuffer(queue_.get(), to.buffer(), blocking, to.offset() + at, bytes_, from.first() + at, 0,
                                 nullptr, event),
          "clEnqueueWriteBuffer");
  else
    check(l.clEnqueueCopyBuffer(queue_.get(), from.buffer(), to.buffer(), from.offset() + at, to.offset() + at, bytes_,
                                0, nullptr, event),
          "clEnqueueCopyBuffer");
}

void CopyChannel::move_by_cpu(const Area& to, const Area& from, std::uint64_t at) const {
  const Area& device = to.on_device() ? to : from;
  const cl_map_flags flags = to.on_device() ? CL_MAP_WRITE_INVALIDATE_REGION : CL_MAP_READ;
  cl_int result = CL_SUCCESS;
  void* const mapped = library().clEnqueueMapBuffer(queue_.get(), device.buffer(), CL_TRUE, flags, device.offset() + at,
                                                    bytes_, 0, nullptr, nullptr, &result);
  check(result, "clEnqueueMapBuffer");
  if (to.on_device()) std::memcpy(mapped, from.first() + at, bytes_);
  else std::memcpy(to.first() + at, mapped, bytes_);
  check(library().clEnqueueUnmapMemObject(queue_.get(), device.buffer(), mapped, 0, nullptr, nullptr),
        "clEnqueueUnmapMemObject");
}

void CopyChannel::upload(const Area& area) const {
  if (!area.on_device()) return;
  check(library().clEnqueueWriteBuffer(queue_.get(), area.buffer(), CL_TRUE, area.offset() - payload::guard_bytes,
                                       wrap_ + payload::guard_bytes, area.first() - payload::guard_bytes, 0, nullptr,
                                       nullptr),
        "filling a buffer");
}

void CopyChannel::download(const Area& area) const {
  if (!area.on_device()) return;
  check(library().clEnqueueReadBuffer(queue_.get(), area.buffer(), CL_TRUE, area.offset() - payload::guard_bytes,
                                      wrap_ + payload::guard_bytes, area.first() - payload::guard_bytes, 0, nullptr,
                                      nullptr),
        "reading a buffer");
}

// Drivers allocate a buffer, or pin pages, at the first command that uses them.
void CopyChannel::run_once() {
  forward();
  if (landing_) back();
  settle();
  next_ = last_ = forwards_ = 0;
}

void CopyChannel::prepare(std::uint64_t bytes) {
  if (bytes < 1 || bytes > max_bytes_)
    throw Error(ErrorKind::usage,
                fmt::format("a channel opened for 1 to {} bytes was asked for {}", max_bytes_, bytes));
  bytes_ = bytes;
  stride_ = stride_bytes(case_, bytes);
  count_ = case_.cache == Cache::warm ? 1 : std::max<std::uint64_t>(1, area_ / stride_);
  wrap_ = count_ * stride_;
  next_ = last_ = forwards_ = 0;
  payload::fill_sources(slots_in(source_, count_));
  upload(source_);
  run_once();
  for (const Area* area : {&target_, &landing_})
    if (*area) {
      payload::arm(slots_in(*area, count_));
      upload(*area);
    }
}

bool CopyChannel::find_quiet_core() {
  if (!quiet_) return true;
  if (quiet_->settle()) {  // caches of the other core know nothing of the driver
    forward();
    if (landing_) back();
    settle();
  }
  return !quiet_->is_shared();
}

std::optional<std::string> CopyChannel::verdict(const Area& area, std::uint64_t count) const {
  download(area);
  const auto wrong = payload::first_wrong(slots_in(area, count));
  if (!wrong) return std::nullopt;
  return count_ > 1 ? fmt::format("{} (slot {} of {})", wrong->sentence, wrong->slot, count_) : wrong->sentence;
}

std::optional<std::string> CopyChannel::intact(bool went_back) {
  const std::uint64_t touched = std::clamp<std::uint64_t>(forwards_, 1, count_);
  if (auto wrong = verdict(target_, touched)) return wrong;
  if (!went_back) return std::nullopt;
  if (auto wrong = verdict(landing_, touched)) return "on the way back, " + *wrong;
  return std::nullopt;
}

}  // namespace npgpu::opencl

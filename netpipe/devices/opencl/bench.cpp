#include "netpipe/devices/opencl/bench.hpp"

#include <cmath>

#include "netpipe/devices/nvidia.hpp"
#include "netpipe/devices/opencl/inventory.hpp"
#include "npgpu/vocabulary/device.hpp"

namespace npgpu::opencl {

Gate::Gate(const Context& context, Seconds time_out)
    : context_(context), time_out_(time_out), watcher_([this] { watch(); }) {}

Gate::~Gate() {
  try {
    release();
  } catch (const Error&) {  // the queue that waits for it fails with the same
  }
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  watcher_.join();
}

void Gate::hold(std::span<const Queue> queues) {
  const std::lock_guard lock(mutex_);
  timed_out_ = false;
  event_ = Event::user(context_);
  const cl_event gate = event_.get();
  for (const Queue& queue : queues)
    check(library().clEnqueueMarkerWithWaitList(queue.get(), 1, &gate, nullptr), "clEnqueueMarkerWithWaitList");
  ++holds_;
  changed_.notify_all();
}

void Gate::release() {
  const std::lock_guard lock(mutex_);
  if (!event_) return;
  const Event gate = std::move(event_);
  changed_.notify_all();
  gate.complete();
}

void Gate::watch() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    changed_.wait(lock, [this] { return ends_ || event_; });
    const std::uint64_t hold = holds_;
    const bool is_over = changed_.wait_for(lock, time_out_, [&] { return ends_ || !event_ || holds_ != hold; });
    if (is_over || !event_) continue;
    timed_out_ = true;
    const Event gate = std::move(event_);
    (void)library().clSetUserEventStatus(gate.get(), CL_COMPLETE);
  }
}

QueueTimer::QueueTimer(const Context& context, const Queue& queue, std::optional<Seconds> gate_time_out)
    : context_(context), queue_(queue) {
  if (gate_time_out) gate_.emplace(context, *gate_time_out);
}

void QueueTimer::hold() {
  if (!gate_) throw Error(ErrorKind::failed, "this channel was opened without a gate");
  gate_->hold({&queue_, 1});
  held_ = true;
}

void QueueTimer::start() {
  first_ = Event();
  last_ = Event();
  records_ = true;
}

void QueueTimer::release() {
  if (!gate_) return;
  queue_.flush();
  gate_->release();
}

std::optional<Seconds> QueueTimer::elapsed() {
  if (std::exchange(held_, false) && gate_->timed_out()) return std::nullopt;
  const auto took = first_ ? profiled(first_, last_ ? last_ : first_) : std::nullopt;
  if (!took)
    throw Error(ErrorKind::failed,
                "the driver of " + context_.id + " has no profile of its commands: use --timing host");
  return took;
}

namespace {

std::int64_t number(const Facts& facts, const char* name) {
  const double value = number_fact(facts, name);
  return std::isfinite(value) ? static_cast<std::int64_t>(value) : 0;
}

}  // namespace

Bench::Bench(const std::string& id) : context_(context_on(id)), binding_(binding_near(id)), queue_(*context_) {}

void Bench::write(const Buffer& to, const void* from, std::uint64_t bytes) const {
  check(library().clEnqueueWriteBuffer(queue_.get(), to.get(), CL_TRUE, 0, bytes, from, 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
}

void Bench::read(const Buffer& from, void* to, std::uint64_t bytes) const {
  check(library().clEnqueueReadBuffer(queue_.get(), from.get(), CL_TRUE, 0, bytes, to, 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
}

void Bench::fill(const Buffer& buffer, std::uint32_t word) const {
  const std::uint64_t bytes = buffer.bytes() / sizeof word * sizeof word;
  check(library().clEnqueueFillBuffer(queue_.get(), buffer.get(), &word, sizeof word, 0, bytes, 0, nullptr, nullptr),
        "clEnqueueFillBuffer");
  queue_.finish();
}

void Bench::launch(const Kernel& kernel, const Range& range, Event* event) const {
  const std::size_t global = range.groups * range.items, local = range.items;
  const auto enqueue = [&](cl_event* at) {
    return library().clEnqueueNDRangeKernel(queue_.get(), kernel.get(), 1, nullptr, &global, &local, 0, nullptr, at);
  };
  check(event ? enqueue(event->into()) : enqueue(nullptr), "clEnqueueNDRangeKernel");
}

ProbeSample Bench::time(std::uint64_t launches, const Kernel& kernel, const Range& range) {
  queue_.finish();
  Event first, last;
  ProbeSample sample;
  const Seconds begin = steady_clock().now();
  launch(kernel, range, &first);
  for (std::uint64_t i = 2; i < launches; ++i) launch(kernel, range);
  if (launches > 1) launch(kernel, range, &last);
  queue_.finish();
  sample.host_us = microseconds(steady_clock().now() - begin);
  if (const auto took = profiled(first, launches > 1 ? last : first)) sample.device_us = microseconds(*took);
  return sample;
}

int nvidia_capability(const std::string& id) {
  const cl_device_id device = find_or_throw(id).device;
  const auto major = value_of<cl_uint>(device, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV);
  const auto minor = value_of<cl_uint>(device, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV);
  return major && minor ? static_cast<int>(*major * 10 + *minor) : 0;
}

Layout layout_of(const std::string& id, DataType type) {
  const Facts& facts = find_or_throw(id).info.facts;
  const auto small = [&](const char* name) { return static_cast<std::uint32_t>(number(facts, name)); };
  Layout l;
  l.units = small("compute_units");
  const bool is_cpu = text_fact(facts, "device_type") == "CPU";
  l.lanes = small("warp_size");
  if (l.lanes == 0 && !is_cpu)
    l.lanes = static_cast<std::uint32_t>(
        value_of<std::size_t>(find_or_throw(id).device, CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE).value_or(0));
  if (l.lanes == 0)
    l.lanes = small(type == DataType::fp64   ? "vector_width_fp64"
                    : type == DataType::fp16 ? "vector_width_fp16"
                    : type == DataType::fp32 ? "vector_width_fp32"
                                             : "vector_width_int32");
  l.cache_bytes = last_cache_bytes(find_or_throw(id).info);
  l.memory_bytes = free_memory(id);
  l.clock_mhz = number_fact(facts, "max_clock_mhz");
  if (is_cpu) {
    l.max_threads_per_block = l.lanes;
    l.max_blocks_per_unit = 1;
    return l;
  }
  l.max_threads_per_block = small("max_work_group_size");
  l.shared_bytes_per_block = small("local_memory_bytes");
  if (const int capability = nvidia_capability(id)) {
    const nvidia::Unit unit = nvidia::unit_of(capability);
    l.max_blocks_per_unit = unit.blocks;
    l.max_threads_per_unit = unit.threads;
    l.near_cache_bytes = nvidia::unified_cache_bytes(capability);
    // The driver's own answer is that of the multiprocessors' first level together: CUDA gives L2's.
    l.cache_bytes = static_cast<std::uint64_t>(number(facts, "l2_bytes"));
  }
  return l;
}

}  // namespace npgpu::opencl

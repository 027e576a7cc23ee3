#include "netpipe/devices/simulated/device.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "netpipe/devices/simulated/library.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::simulated {

namespace {

struct Devices {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<Device>> open;
  std::map<std::string, std::uint64_t> openings;
  std::set<std::string> lost;
};

Devices& devices() {
  static Devices all;
  return all;
}

// What the host pays, latencies and gaps, as they are at one opening.
void drift_costs(Spec& spec, NoiseSource& noise) {
  HostCosts& host = spec.host;
  for (Seconds* cost : {&host.copy, &host.copy_async, &host.launch, &host.record, &host.synchronize})
    *cost *= noise.cost();
  const auto drift_link = [&](Link& link) {
    link.latency *= noise.cost();
    link.gap *= noise.cost();
  };
  for (auto* links : {&spec.h2d, &spec.d2h})
    for (auto& [memory, link] : *links) drift_link(link);
  for (auto* link : {&spec.d2d, &spec.h2h})
    if (*link) drift_link(**link);
  for (auto& [key, fact] : spec.hardware)
    if (key.ends_with("_us")) fact = number_fact(spec.hardware, key) * noise.cost();
}

}  // namespace

Route route(const Spec& spec, Direction direction, Memory memory) {
  const Link* link = spec.link(direction, memory);
  if (!link)
    throw Error(ErrorKind::usage,
                fmt::format("{} has no link {} {}", spec.file.string(), name(direction), name(memory)));
  const auto engine = direction == Direction::d2h   ? Timeline::Engine::d2h
                      : direction == Direction::d2d ? Timeline::Engine::d2d
                                                    : Timeline::Engine::h2d;
  return {*link, engine, direction == Direction::h2h, memory == Memory::pageable || memory == Memory::managed};
}

// ---- Device ----------------------------------------------------------------------------------------

Device::Device(std::string id, Spec spec, std::uint64_t opening)
    : id_(std::move(id)),
      spec_(std::move(spec)),
      timeline_(spec_.copy_engines, spec_.duplex_slowdown_h2d, spec_.duplex_slowdown_d2h),
      noise_(spec_.noise, opening),
      age_(age_of(id_)) {
  if (spec_.noise.cost_drift > 0) drift_costs(spec_, noise_);
}

Telemetry Device::telemetry() const { return telemetry_of(spec_, age_); }

void Device::grow_older() {
  age_.worked += Seconds{static_cast<double>(clock_.time - aged_)};
  aged_ = clock_.time;
}

Device::Call::Call(Device& device, std::string_view what) : device_(device) {
  const std::uint64_t number = ++device.calls_;
  bool fails = false;
  device.grow_older();
  if (const Change* const now = device.age_.change(device.spec_.course)) device.lost_ |= now->is_lost;
  for (const Fault& fault : device.spec_.faults) {
    if (!fault.is_at(number)) continue;
    fails |= fault.kind == FaultKind::fail;
    device.lost_ |= fault.kind == FaultKind::lost;
    corrupts_ |= fault.kind == FaultKind::corrupt;
    zeroes_ |= fault.kind == FaultKind::zeros;
    times_out_gates_ |= fault.kind == FaultKind::gate_timeout;
  }
  if (device.lost_) lose(device.id_, fmt::format("at call {} ({})", number, what));
  if (fails)
    throw Error(ErrorKind::failed, fmt::format("{}: call {} ({}) failed, as its spec asks", device.id_, number, what));
}

Device::Call::~Call() {
  if (times_out_gates_) device_.time_out_gates();
  if ((!corrupts_ && !zeroes_) || !device_.written_) return;
  if (zeroes_) std::fill_n(device_.written_->data, device_.written_bytes_, std::byte{0});
  else device_.change_a_byte();
  device_.written_->content = device_.new_content();
}

void Device::change_a_byte() { written_->data[calls_ * 2654435761u % written_bytes_] ^= std::byte{1}; }

void Device::wrote(Payload& payload, std::uint64_t bytes, std::uint64_t content, double moved) {
  payload.content = content;
  written_ = &payload;
  written_bytes_ = bytes;
  if (age_.move(spec_.course, moved) == 0) return;
  change_a_byte();
  payload.content = new_content();
}

void Device::time_out_gates() {
  for (Stream* stream : streams_) {
    if (!timeline_.held(stream->stream_)) continue;
    stream->timed_out_ = true;
    stream->release();
  }
}

void Device::touch(std::string_view what) { const Call call(*this, what); }

void Device::write(std::string_view what, Payload& payload, std::uint64_t bytes) {
  const Call call(*this, what);
  wrote(payload, bytes, new_content(), 0);
}

double Device::run_kernel(Seconds launch, Seconds latency, Seconds kernel, Payload& result, std::uint64_t bytes,
                          Stream* gate, double touched) {
  double slowdown = 1;
  {
    const Call call(*this, "launch kernel");
    if (const Change* const now = age_.change(spec_.course)) slowdown = now->kernel_slowdown;
    spend(launch + latency + kernel + (slowdown - 1) * (latency + kernel));
  }
  const double factor = noise_.trial() * slowdown;
  if (gate) gate->release();
  const Call call(*this, "synchronize");
  wrote(result, bytes, new_content(), touched);
  spend(spec_.host.synchronize);
  noise_.next_trial();
  return factor;
}

void Device::forget(const Payload& payload) noexcept {
  if (written_ == &payload) written_ = nullptr;
}

Taken::Taken(std::shared_ptr<Device> device, std::uint64_t bytes) : device_(std::move(device)), bytes_(bytes) {
  const Device::Call call(*device_, "allocate");
  if (bytes > device_->free_bytes())
    throw Error(ErrorKind::no_memory,
                fmt::format("{}: no device memory for {} bytes, {} are free: lower --end or --sizes", device_->id(),
                            bytes, device_->free_bytes()));
  device_->used_bytes_ += bytes;
}

// ---- Stream ----------------------------------------------------------------------------------------

Stream::Stream(std::shared_ptr<Device> device) : device_(std::move(device)), stream_(0) {
  const Device::Call call(*device_, "create stream");
  stream_ = device_->timeline_.add_stream();
  device_->streams_.push_back(this);
}

Stream::~Stream() {
  release();
  std::erase(device_->streams_, this);
}

void Stream::submit(const Route& route, std::uint64_t bytes) {
  const double noise = device_->noise_.operation();
  const bool has_turned = std::exchange(last_, route.engine).value_or(route.engine) != route.engine;
  const bool is_other = has_turned && route.link.turned_bytes_per_s > 0;
  const Seconds transfer{static_cast<double>(bytes) /
                         (is_other ? route.link.turned_bytes_per_s : route.link.bytes_per_s)};
  Timeline::Operation operation;
  operation.engine = route.engine;
  operation.latency = device_->scaled(route.link.latency) * noise;
  operation.gap = device_->scaled(route.link.gap);
  operation.transfer = device_->scaled(transfer) * noise;
  if (route.on_host) {
    device_->now() += operation.latency + operation.transfer;
    return;
  }
  device_->timeline_.submit(stream_, operation, device_->now());
  if (device_->timeline_.held(stream_) && ++behind_gate_ > device_->spec_.host.gate_capacity) device_->time_out_gates();
}

// Whoever waits for what is behind a closed gate waits until the gate gives up.
void Stream::wait() {
  std::optional<Time> end = device_->timeline_.finish(stream_, device_->now());
  if (!end) {
    device_->time_out_gates();
    end = device_->timeline_.finish(stream_, device_->now());
  }
  if (!end) throw Error(ErrorKind::failed, device_->id() + ": a copy waits for what never ends");
  device_->now() = *end;
}

void Stream::copy(const Route& route, Payload& from, Payload& to, std::uint64_t bytes, bool async) {
  const Device::Call call(*device_, "copy");
  const HostCosts& host = device_->spec_.host;
  device_->spend(async ? host.copy_async : host.copy);
  submit(route, bytes);
  if (!route.on_host && (!async || route.staged)) wait();
  if (from.content == 0 || from.content != to.content) std::memcpy(to.data, from.data, real_part(bytes));
  device_->wrote(to, real_part(bytes), from.content, static_cast<double>(bytes));
}

void Stream::synchronize() {
  const Device::Call call(*device_, "synchronize");
  wait();
  device_->spend(device_->spec_.host.synchronize);
  device_->noise_.next_trial();
}

void Stream::hold() {
  const Device::Call call(*device_, "close gate");
  device_->spend(device_->spec_.host.launch);
  device_->timeline_.hold(stream_);
  behind_gate_ = 0;
  timed_out_ = false;
}

void Stream::release() {
  if (device_->timeline_.held(stream_)) device_->timeline_.release(stream_, device_->now());
}

Mark Stream::record(std::string_view what) {
  const Device::Call call(*device_, what);
  device_->spend(device_->spec_.host.record);
  return device_->timeline_.mark(stream_, device_->now());
}

void Stream::start() {
  device_->timeline_.forget_marks(stream_);
  start_ = record("record start");
}

void Stream::stop() { stop_ = record("record stop"); }

std::optional<Seconds> Stream::elapsed() {
  device_->touch("read events");
  if (timed_out_) return std::nullopt;
  const Time time = device_->timeline_.time_of(stream_, stop_) - device_->timeline_.time_of(stream_, start_);
  return Seconds{static_cast<double>(time)};
}

std::uint64_t openings_of(const std::string& id) {
  const std::lock_guard lock(devices().mutex);
  const auto known = devices().openings.find(id);
  return known == devices().openings.end() ? 0 : known->second;
}

bool is_lost(const std::string& id) {
  const std::lock_guard lock(devices().mutex);
  return devices().lost.contains(id);
}

void lose(const std::string& id, const std::string& where) {
  const std::lock_guard lock(devices().mutex);
  devices().lost.insert(id);
  throw Error(ErrorKind::lost, fmt::format("{}: the device is lost, seen {}", id, where), id);
}

// As its spec says it is under load; the clock of its multiprocessors is the one that kernels run at.
Telemetry telemetry_of(const Spec& spec, const Age& age) {
  Telemetry t = spec.condition.telemetry.value_or(Telemetry{});
  const Change* const now = age.change(spec.course);
  if (!spec.condition.telemetry && !now) return {};
  if (std::isnan(t.sm_clock_mhz)) t.sm_clock_mhz = number_fact(spec.hardware, "shader_clock_mhz");
  if (!now) return t;
  for (double Telemetry::*figure :
       {&Telemetry::sm_clock_mhz, &Telemetry::memory_clock_mhz, &Telemetry::power_w, &Telemetry::temperature_c})
    if (std::isfinite(now->telemetry.*figure)) t.*figure = now->telemetry.*figure;
  t.throttle_reasons |= now->telemetry.throttle_reasons;
  return t;
}

// ---- the devices that are open -----------------------------------------------------------------------

std::shared_ptr<Device> open_device(const std::string& id) {
  const std::lock_guard lock(devices().mutex);
  if (devices().lost.count(id)) throw Error(ErrorKind::lost, id + ": the device was lost earlier in this run", id);
  std::weak_ptr<Device>& known = devices().open[id];
  std::shared_ptr<Device> device = known.lock();
  if (!device) known = device = std::make_shared<Device>(id, spec_of(id), devices().openings[id]++);
  return device;
}

}  // namespace npgpu::simulated

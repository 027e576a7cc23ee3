#include "netpipe/collectives/nccl_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <thread>

#include "netpipe/devices/cuda/check.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::nccl {

namespace {

constexpr Seconds gate_time_out{10};
constexpr int poison = 0x5a;

cuda::StreamTimer timer_for(const cuda::Gpu& gpu, const cuda::Stream& stream, std::optional<Seconds> time_out) {
  return {gpu.ordinal(), stream.get(), time_out, fits_behind_gate};
}

}  // namespace

void Rank::Destroy::operator()(Communicator own) const {
  if (const int result = library().destroy(own); result != success && result != in_progress)
    std::fprintf(stderr, "npgpu: NCCL: leaving the other GPUs: %s\n", library().error_text(result));
}

Rank::Rank(const std::string& device, std::uint32_t rank, std::uint32_t ranks, std::uint64_t bytes)
    : device_(device),
      rank_(rank),
      ranks_(ranks),
      gpu_(cuda::ordinal_or_throw(device), rank == 0),
      stream_(cuda::stream_of(gpu_.ordinal())),
      events_(timer_for(gpu_, stream_, std::nullopt)),
      gated_(timer_for(gpu_, stream_, gate_time_out)) {
  gpu_.make_current();
  send_ = cuda::Buffer(Memory::device, bytes);
  receive_ = cuda::Buffer(Memory::device, bytes);
  wrong_ = cuda::Buffer(Memory::device, sizeof(collectives::WrongElements));
}

void Rank::begin_capture() {
  gpu_.make_current();
  cuda::check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "beginning a graph");
}
void Rank::end_capture() {
  gpu_.make_current();
  cudaGraph_t captured = nullptr;
  cuda::check(cudaStreamEndCapture(stream_.get(), &captured), "ending a graph");
  captured_.emplace(captured);
}
void Rank::make_graph(std::uint64_t operations) {
  gpu_.make_current();
  graphs_.insert_or_assign(operations, cuda::ExecutableGraph(*captured_));
  captured_.reset();
}
void Rank::abandon_capture() {
  gpu_.make_current();
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream_.get(), &status) == cudaSuccess && status == cudaStreamCaptureStatusNone) return;
  cudaGraph_t captured = nullptr;
  if (cudaStreamEndCapture(stream_.get(), &captured) == cudaSuccess) captured_.emplace(captured);
  (void)cudaGetLastError();
  captured_.reset();
}
void Rank::launch(std::uint64_t operations) {
  gpu_.make_current();
  cuda::check(cudaGraphLaunch(graphs_.at(operations).get(), stream_.get()), "launching a graph");
}

void Rank::abort() {
  graphs_.clear();
  if (!communicator_) return;
  gpu_.make_current();
  library().abort(communicator_.release());
}

std::byte* Rank::operand() const {
  const std::uint64_t element = element_bytes(step_.question.type);
  return step_.question.in_place ? receive_.data() + part_.operand_at * element : send_.data();
}
std::byte* Rank::result() const {
  const std::uint64_t element = element_bytes(step_.question.type);
  return step_.question.in_place ? receive_.data() + part_.result_at * element : receive_.data();
}

void Rank::fill(const Step<Collectives>& step, std::uint64_t seed) {
  step_ = step;
  part_ = collectives::part_of(step, ranks_, rank_);
  values_ = {seed, step.question.type, has_sums(step.question.operation), ranks_};
  gpu_.make_current();
  cuda::check(cudaMemsetAsync(receive_.data(), poison, step.axes.bytes, stream_.get()), "poisoning a result");
  collectives::fill(values_, rank_, operand(), part_.operand, stream_.get());
}

void Rank::enqueue() {
  const Library& l = library();
  const int type = type_of(step_.question.type);
  const std::uint64_t element = element_bytes(step_.question.type), n = ranks_;
  const std::byte* const from = operand();
  std::byte* const to = result();
  Communicator const own = communicator();
  const auto stream = stream_.get();
  const auto send = [&](std::uint64_t peer, std::uint64_t first, std::uint64_t count) {
    check(l.send(from + first * element, count, type, static_cast<int>(peer), own, stream), "sending", own);
  };
  const auto receive = [&](std::uint64_t peer, std::uint64_t first, std::uint64_t count) {
    check(l.receive(to + first * element, count, type, static_cast<int>(peer), own, stream), "receiving", own);
  };
  switch (step_.question.operation) {
    case CollectiveOperation::all_reduce:
      return check(l.all_reduce(from, to, part_.operand, type, sum, own, stream), "all-reduce", own);
    case CollectiveOperation::reduce_scatter:
      return check(l.reduce_scatter(from, to, part_.result, type, sum, own, stream), "reduce-scatter", own);
    case CollectiveOperation::all_gather:
      return check(l.all_gather(from, to, part_.operand, type, own, stream), "all-gather", own);
    case CollectiveOperation::broadcast:
      return check(l.broadcast(from, to, part_.result, type, 0, own, stream), "broadcast", own);
    case CollectiveOperation::reduce:
      return check(l.reduce(from, to, part_.operand, type, sum, 0, own, stream), "reduce", own);
    case CollectiveOperation::all_to_all:
      for (std::uint64_t peer = 0; peer < n; ++peer) {
        send(peer, peer * part_.operand / n, part_.operand / n);
        receive(peer, peer * part_.result / n, part_.result / n);
      }
      return;
    case CollectiveOperation::send_receive:
      send((rank_ + 1) % n, 0, part_.operand);
      return receive((rank_ + n - 1) % n, 0, part_.result);
    case CollectiveOperation::gather:
      send(0, 0, part_.operand);
      for (std::uint64_t peer = 0; rank_ == 0 && peer < n; ++peer) receive(peer, peer * part_.operand, part_.operand);
      return;
    case CollectiveOperation::scatter:
      for (std::uint64_t peer = 0; rank_ == 0 && peer < n; ++peer) send(peer, peer * part_.result, part_.result);
      return receive(0, 0, part_.result);
  }
}

void Rank::start(bool gated) {
  timer_ = gated ? &gated_ : &events_;
  if (gated) timer_->hold();
  timer_->start();
}
void Rank::stop() { timer_->stop(); }
void Rank::release() { timer_->release(); }
std::optional<Seconds> Rank::elapsed() { return timer_->elapsed(); }

bool Rank::is_idle() const {
  gpu_.make_current();
  const cudaError_t state = cudaStreamQuery(stream_.get());
  if (state == cudaErrorNotReady) return false;
  cuda::check(state, "waiting for an operation of several GPUs");
  return true;
}

void Rank::look_for_error() const {
  int result = success;
  if (!communicator_) return;
  check(library().async_error(communicator(), &result), "asking for errors", communicator());
  check(result, "an operation failed on one of the GPUs", communicator());
}

collectives::WrongElements Rank::compare() {
  gpu_.make_current();
  auto* const wrong = reinterpret_cast<collectives::WrongElements*>(wrong_.data());
  collectives::WrongElements found;
  cuda::check(cudaMemcpyAsync(wrong, &found, sizeof found, cudaMemcpyHostToDevice, stream_.get()),
              "preparing a comparison");
  for (const collectives::Expected& one : part_.expected)
    collectives::compare(values_, one, result(), wrong, stream_.get());
  cuda::check(cudaMemcpyAsync(&found, wrong, sizeof found, cudaMemcpyDeviceToHost, stream_.get()),
              "reading a comparison");
  stream_.synchronize();
  return found;
}

namespace {

// Calls `what` in a thread of its own. Throws Error(failed) where it does not come back in time; the thread is left
// alone then, and `what` must own all that it uses. REQUIRES: no exception leaves `what`.
void within(Seconds how_long, const char* named, std::function<void()> what) {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_done = false;
  };
  const auto state = std::make_shared<State>();
  std::thread([state, what = std::move(what)] {
    what();
    const std::lock_guard lock(state->mutex);
    state->is_done = true;
    state->changed.notify_all();
  }).detach();
  std::unique_lock lock(state->mutex);
  if (!state->changed.wait_for(lock, how_long, [&] { return state->is_done; }))
    throw Error(ErrorKind::failed, fmt::format("NCCL: {} hangs: it did not end within {:.0f} s; NCCL_DEBUG=INFO shows "
                                               "what it waits for",
                                               named, how_long.count()));
}

}  // namespace

NcclRunner::NcclRunner(std::span<const Step<Collectives>> steps, Seconds patience) : patience_(patience) {
  std::uint64_t most = 0;
  for (const auto& step : steps) most = std::max(most, step.axes.bytes);
  const auto gpus = devices_of(steps.front().question);
  for (std::uint32_t i = 0; i < gpus.size(); ++i)
    ranks_.push_back(std::make_unique<Rank>(gpus[i], i, static_cast<std::uint32_t>(gpus.size()), most));
  join();
}

void NcclRunner::join() {
  constexpr Seconds patience_joining{120};
  struct Joined {
    std::vector<Communicator> own;
    std::vector<int> ordinals;
    int result = success;
  };
  const auto joined = std::make_shared<Joined>();
  for (const auto& rank : ranks_) joined->ordinals.push_back(rank->gpu().ordinal());
  joined->own.resize(joined->ordinals.size());
  within(patience_joining, "joining the GPUs", [joined] {
    joined->result =
        library().init_all(joined->own.data(), static_cast<int>(joined->own.size()), joined->ordinals.data());
  });
  nccl::check(joined->result, "joining the GPUs");
  for (std::size_t i = 0; i < ranks_.size(); ++i) ranks_[i]->join(joined->own[i]);
  has_joined_ = true;
}

void NcclRunner::anew() {
  for (const auto& rank : ranks_) rank->fill(step_, seed_);
  settle();
  issue(1);
  settle();
}

void NcclRunner::prepare(const Step<Collectives>& step) {
  if (!has_joined_) join();
  step_ = step;
  seed_ += 0xD1B54A32D192ED03;
  has_graphs_ = false;
  for (const auto& rank : ranks_) rank->forget_graphs();
  {
    const Log log;
    anew();
    // Connections are made once, and kept.
    const std::int32_t path = choice_.path;
    choice_ = choice_in(log.text());
    choice_.path = std::max(choice_.path, path);
  }
  once();  // which makes NCCL leave the log
  settle();
  if (step.question.launch == CollectiveLaunch::graph) make_graphs();
}

void NcclRunner::make_graphs() {
  for (const std::uint64_t operations : {collectives::operations_a_graph, std::uint64_t{1}}) {
    try {
      for (const auto& rank : ranks_) rank->begin_capture();
      for (std::uint64_t i = 0; i < operations; ++i) once();
      for (const auto& rank : ranks_) rank->end_capture();
    } catch (const Error&) {
      for (const auto& rank : ranks_) rank->abandon_capture();
      abort();
      throw;
    }
    for (const auto& rank : ranks_) rank->make_graph(operations);
  }
  has_graphs_ = true;
  issue(collectives::operations_a_graph + 1);
  settle();
}

void NcclRunner::issue(std::uint64_t times) {
  if (!has_graphs_)
    for (std::uint64_t i = 0; i < times; ++i) once();
  else
    for (std::uint64_t left = times; left > 0;) {
      const std::uint64_t operations = left >= collectives::operations_a_graph ? collectives::operations_a_graph : 1;
      for (const auto& rank : ranks_) rank->launch(operations);
      left -= operations;
    }
}

void NcclRunner::once() {
  nccl::check(library().group_start(), "beginning a group");
  for (const auto& rank : ranks_) rank->enqueue();
  nccl::check(library().group_end(), "launching an operation", ranks_.front()->communicator());
}

void NcclRunner::abort() {
  for (const auto& rank : ranks_) rank->abort();
  has_joined_ = false;
}

void NcclRunner::settle() {
  constexpr int looks_between = 1000;
  const Seconds begin = steady_clock().now();
  try {
    int looks = 0;
    for (const auto& rank : ranks_)
      while (!rank->is_idle()) {
        if (++looks % looks_between != 0) continue;
        for (const auto& one : ranks_) one->look_for_error();
        if (steady_clock().now() - begin > patience_)
          throw Error(ErrorKind::failed,
                      fmt::format("NCCL: {} hangs: {} did not end it within {:.0f} s", name(step_.question.operation),
                                  rank->device(), patience_.count()));
      }
  } catch (const Error&) {
    abort();
    throw;
  }
}

bool NcclRunner::run(std::uint64_t repeats, std::vector<CollectiveSample>& samples) {
  // What the first operations after a pause cost is no part of a trial, as it is none of nccl-tests' times.
  constexpr std::uint64_t most_before = 3;
  if (!is_gated()) {
    issue(std::min(repeats, most_before));
    settle();
  }
  for (const auto& rank : ranks_) rank->start(is_gated());
  const Seconds begin = steady_clock().now();
  issue(repeats);
  for (const auto& rank : ranks_) rank->stop();
  for (const auto& rank : ranks_) rank->release();
  settle();
  const Seconds host = steady_clock().now() - begin;
  bool is_valid = true;  // no gate timed out
  for (std::uint32_t lane = 0; lane < ranks_.size(); ++lane) {
    CollectiveSample& s = samples.emplace_back();
    s.lane = lane;
    s.repeats = repeats;
    if (!is_gated()) s.host_us = microseconds(host);
    if (const auto device = ranks_[lane]->elapsed()) s.device_us = microseconds(*device);
    else is_valid = false;
    s.algorithm = choice_.algorithm;
    s.protocol = choice_.protocol;
    s.channels = choice_.channels;
    s.path = choice_.path;
  }
  return is_valid;
}

void NcclRunner::warm_up(Seconds duration) {
  const Seconds begin = clock().now();
  while (clock().now() - begin < duration) {
    once();
    settle();
  }
}

std::optional<std::string> NcclRunner::check(std::span<CollectiveSample> last_trial) {
  if (step_.question.in_place && has_sums(step_.question.operation)) anew();
  std::vector<collectives::WrongElements> all;
  for (const auto& rank : ranks_) all.push_back(rank->compare());
  return collectives::verdict_of(step_, all, last_trial);
}

}  // namespace npgpu::nccl

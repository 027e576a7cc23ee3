#include "netpipe/collectives/nccl_rank.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "netpipe/devices/cuda/check.hpp"
#include "npgpu/error.hpp"

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

}  // namespace npgpu::nccl

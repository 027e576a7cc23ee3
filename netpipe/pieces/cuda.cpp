// Copies of pieces on GPUs: in each way that the runtime has, and by a kernel.
#include "netpipe/pieces/cuda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "netpipe/devices/cuda/peers.hpp"
#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/host/payload.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cuda {

namespace {

// Seeds of the orders of slots: the same in every run, and different at the two ends.
constexpr std::uint64_t source_order = 0x243F6A8885A308D3, target_order = 0x13198A2E03707344;
// Copies of a trial that are issued back to back, at most: so many fit between the host and the GPU.
constexpr std::uint64_t most_in_a_row = 8192;

#if CUDA_VERSION >= 12080
// The form of CUDA 12.8. Later drivers keep it, and have another, without `failed`, which is asked for by their
// version.
using CopyBatch = CUresult (*)(CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes, std::size_t count,
                               CUmemcpyAttributes*, std::size_t* first_of_attributes, std::size_t attributes,
                               std::size_t* failed, CUstream);
constexpr unsigned batch_version = 12080;

CopyBatch copy_batch_of_driver() {
  static const CopyBatch found = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult status{};
    const cudaError_t result = cudaGetDriverEntryPointByVersion("cuMemcpyBatchAsync", &function, batch_version,
                                                                cudaEnableLegacyStream, &status);
    if (result != cudaSuccess || status != cudaDriverEntryPointSuccess) {
      (void)cudaGetLastError();
      return CopyBatch{};
    }
    return reinterpret_cast<CopyBatch>(function);
  }();
  return found;
}
#endif

Seconds now() { return std::chrono::steady_clock::now().time_since_epoch(); }

struct Times {
  Seconds host{0}, done{0};
};

// The two timed loops, compiled for each way.
template <class Copy, class Wait> Times timed(bool async, std::uint64_t repeats, const Copy& copy, const Wait& wait) {
  Times times;
  if (async) {
    const Seconds begin = now();
    for (std::uint64_t i = 0; i < repeats; ++i) copy();
    times.host = now() - begin;
    wait();
    times.done = now() - begin;
    return times;
  }
  for (std::uint64_t i = 0; i < repeats; ++i) {
    const Seconds begin = now();
    copy();
    const Seconds returned = now();
    wait();
    times.done += now() - begin;
    times.host += returned - begin;
  }
  return times;
}

// A table of numbers, in the memory of the GPU that is current.
Buffer table_of(const std::vector<std::uint32_t>& numbers) {
  if (numbers.empty()) return {};
  const Stream stream;
  Buffer table(Memory::device, numbers.size() * sizeof(std::uint32_t));
  check(cudaMemcpyAsync(table.data(), numbers.data(), table.bytes(), cudaMemcpyHostToDevice, stream.get()),
        "copying an order of pieces");
  stream.synchronize();
  return table;
}

TransferCase peers_of(const PieceCase& c) { return peer_case("cudaMemcpy", c.device, c.target); }

cudaMemcpyKind kind_of(Direction direction) {
  switch (direction) {
    case Direction::h2d: return cudaMemcpyHostToDevice;
    case Direction::d2h: return cudaMemcpyDeviceToHost;
    case Direction::d2d: return cudaMemcpyDeviceToDevice;
    default: return cudaMemcpyDefault;
  }
}

}  // namespace

std::optional<std::string> why_no_batches() {
#if CUDA_VERSION >= 12080
  if (copy_batch_of_driver()) return std::nullopt;
  return "--way batch: this driver has no cudaMemcpyBatchAsync: drivers for CUDA 12.8 and later have it";
#else
  return "--way batch: npgpu was built with a CUDA toolkit that has no cudaMemcpyBatchAsync: 12.8 and later have it";
#endif
}

PieceMemory source_memory(const PieceCase& c) {
  if (c.direction == Direction::h2d) return {};
  return {Memory::device, ordinal_or_throw(c.device), false};
}

PieceMemory target_memory(const PieceCase& c) {
  if (c.direction == Direction::d2h) return {};
  const bool peer = c.direction == Direction::peer;
  return {Memory::device, ordinal_or_throw(peer ? c.target : c.device), c.direction == Direction::d2d};
}

std::map<PieceMemory, std::uint64_t> memories_of(std::span<const Step<Pieces>> steps) {
  std::map<PieceMemory, std::uint64_t> all;
  for (const auto& [c, shape] : steps)
    for (const auto& [memory, layout] :
         {std::pair{source_memory(c), source_layout(c)}, {target_memory(c), target_layout(c)}}) {
      std::uint64_t& most = all[memory];
      most = std::max(most, PieceSlots::area_bytes(layout, shape.pieces, shape.piece_bytes));
    }
  return all;
}

PieceChecker::PieceChecker(int ordinal)
    : ordinal_(ordinal),
      stream_(stream_of(ordinal)),
      verdict_(Memory::device, sizeof(std::uint64_t)),
      readback_(Memory::pinned, sizeof(std::uint64_t)) {
  load_area_kernels();
}

void PieceChecker::fill(const PieceArea& area, PieceContent content) {
  make_current(ordinal_);
  fill_area(area, content, stream_.get());
  stream_.synchronize();
}

std::optional<std::string> PieceChecker::first_wrong(const PieceArea& area, const PieceSlots& slots) {
  make_current(ordinal_);
  auto* const verdict = reinterpret_cast<unsigned long long*>(verdict_.data());
  const auto read = [&](const void* from, std::size_t bytes) {
    check(cudaMemcpyAsync(readback_.data(), from, bytes, cudaMemcpyDefault, stream_.get()), "reading what is wrong");
    stream_.synchronize();
  };
  check(cudaMemsetAsync(verdict, 0xFF, sizeof *verdict, stream_.get()), "preparing the comparison of pieces");
  check_area(area, PieceContent::copied, verdict, stream_.get());
  read(verdict, sizeof *verdict);
  const std::uint64_t place = *reinterpret_cast<const std::uint64_t*>(readback_.data());
  if (place == UINT64_MAX) return std::nullopt;
  read(area.first - PieceSlots::guard_bytes + place, 1);
  PieceArea here = area;  // with the table that the host can read
  here.piece_in = slots.piece_in().empty() ? nullptr : slots.piece_in().data();
  return slots.sentence(place, area.piece_bytes, byte_of_area(here, PieceContent::copied, place),
                        std::to_integer<std::uint8_t>(readback_.data()[0]));
}

CudaPieceRunner::CudaPieceRunner(std::span<const Step<Pieces>> steps)
    : gpu_(ordinal_or_throw(steps.front().question.device)),
      stream_(stream_of(gpu_.ordinal())),
      kernel_(gpu_.ordinal()),
      most_bytes_(memories_of(steps)),
      seed_(payload::fresh_seed()) {}

PieceChecker& CudaPieceRunner::checker(int ordinal) {
  const auto known = checkers_.find(ordinal);
  return known != checkers_.end() ? known->second : checkers_.try_emplace(ordinal, ordinal).first->second;
}

void CudaPieceRunner::lay_out(End& end, PieceLayout layout, const PieceMemory& where) {
  const bool is_source = &end == &source_;
  end.ordinal = where.ordinal < 0 ? gpu_.ordinal() : where.ordinal;
  make_current(end.ordinal);
  const auto most = most_bytes_.find(where);
  if (most == most_bytes_.end()) throw Error(ErrorKind::usage, title(case_) + ": the runner was not opened for it");
  Buffer& memory = memories_[where];
  if (!memory.data()) memory = Buffer(where.kind, most->second);
  end.slots = PieceSlots(layout, shape_.pieces, shape_.piece_bytes, is_source ? source_order : target_order);
  end.piece_in = table_of(end.slots.piece_in());
  end.area = {memory.data() + PieceSlots::guard_bytes,
              shape_.piece_bytes,
              end.slots.pitch(),
              end.slots.slots(),
              reinterpret_cast<const std::uint32_t*>(end.piece_in.data()),
              seed_};
  gpu_.make_current();
  end.slot_of = table_of(end.slots.slot_of());
}

void CudaPieceRunner::make_lists() {
  to_.clear();
  from_.clear();
  sizes_.assign(shape_.pieces, shape_.piece_bytes);
  for (std::uint32_t i = 0; i < shape_.pieces; ++i) {
    to_.push_back(target_.area.first + target_.slots.offset(i));
    from_.push_back(source_.area.first + source_.slots.offset(i));
  }
}

void CudaPieceRunner::prepare(const Step<Pieces>& step) {
  gpu_.make_current();
  wait();
  graph_ = {};
  case_ = step.question;
  shape_ = step.axes;
  kind_ = kind_of(case_.direction);
  if (case_.direction == Direction::peer) set_access(peers_of(case_));
  lay_out(source_, source_layout(case_), source_memory(case_));
  lay_out(target_, target_layout(case_), target_memory(case_));
  make_lists();
  checker(source_.ordinal).fill(source_.area, PieceContent::source);
  gpu_.make_current();
  if (shape_.way == PieceWay::graph) {
    cuda::check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "capturing copies");
    copy_one_by_one();
    cudaGraph_t captured = nullptr;
    cuda::check(cudaStreamEndCapture(stream_.get(), &captured), "capturing copies");
    graph_ = ExecutableGraph(Graph(captured));
    cuda::check(cudaGraphUpload(graph_.get(), stream_.get()), "uploading a graph");
  }
  copy();  // nothing is done for the first time in a trial
  wait();
  checker(target_.ordinal).fill(target_.area, PieceContent::armed);
  gpu_.make_current();
}

void CudaPieceRunner::copy_one_by_one() const {
  for (std::uint32_t i = 0; i < shape_.pieces; ++i)
    cuda::check(cudaMemcpyAsync(to_[i], from_[i], shape_.piece_bytes, kind_, stream_.get()), "cudaMemcpyAsync");
}

void CudaPieceRunner::copy_planes() const {
  const auto [rows, planes] = planes_of(shape_.pieces);
  cudaMemcpy3DParms all{};
  all.srcPtr = cudaPitchedPtr{source_.area.first, source_.slots.pitch(), shape_.piece_bytes, rows};
  all.dstPtr = cudaPitchedPtr{target_.area.first, target_.slots.pitch(), shape_.piece_bytes, rows};
  all.extent = {shape_.piece_bytes, rows, planes};
  all.kind = kind_;
  cuda::check(cudaMemcpy3DAsync(&all, stream_.get()), "cudaMemcpy3DAsync");
}

void CudaPieceRunner::copy_batch() {
#if CUDA_VERSION >= 12080
  CUmemcpyAttributes in_order{};
  in_order.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  std::size_t from_the_first = 0, failed = 0;
  static_assert(sizeof(CUdeviceptr) == sizeof(void*));
  cuda::check(
      copy_batch_of_driver()(reinterpret_cast<CUdeviceptr*>(to_.data()), reinterpret_cast<CUdeviceptr*>(from_.data()),
                             sizes_.data(), sizes_.size(), &in_order, &from_the_first, 1, &failed, stream_.get()),
      "cudaMemcpyBatchAsync");
#endif
}

void CudaPieceRunner::copy() {
  switch (shape_.way) {
    case PieceWay::loop: return copy_one_by_one();
    case PieceWay::copy_2d:
      return cuda::check(
          cudaMemcpy2DAsync(target_.area.first, target_.slots.pitch(), source_.area.first, source_.slots.pitch(),
                            shape_.piece_bytes, shape_.pieces, kind_, stream_.get()),
          "cudaMemcpy2DAsync");
    case PieceWay::copy_3d: return copy_planes();
    case PieceWay::batch: return copy_batch();
    case PieceWay::graph: return cuda::check(cudaGraphLaunch(graph_.get(), stream_.get()), "cudaGraphLaunch");
    case PieceWay::kernel:
      return kernel_(target_.as_pieces(), source_.as_pieces(), shape_.pieces, shape_.piece_bytes, stream_.get());
  }
}

bool CudaPieceRunner::run(std::uint64_t repeats, std::vector<PieceSample>& samples) {
  gpu_.make_current();
  if (quiet_.settle()) {  // caches of the other core know nothing of the driver
    copy();
    wait();
  }
  if (quiet_.is_shared()) disturbed_by(Cause::core_shared);
  const Times times = timed(
      case_.async, repeats, [this] { copy(); }, [this] { wait(); });
  PieceSample& sample = samples.emplace_back();
  sample.repeats = repeats;
  sample.host_us = microseconds(times.host);
  sample.done_us = microseconds(times.done);
  return true;
}

std::optional<std::string> CudaPieceRunner::check(std::span<PieceSample> last_trial) {
  wait();
  const auto wrong = checker(target_.ordinal).first_wrong(target_.area, target_.slots);
  gpu_.make_current();
  for (PieceSample& sample : last_trial) sample.intact = wrong ? 0 : 1;
  return wrong;
}

std::uint64_t CudaPieceRunner::max_repeats() const {
  return case_.async ? std::max<std::uint64_t>(1, most_in_a_row / shape_.pieces) : 0;
}

}  // namespace npgpu::cuda

namespace npgpu {

namespace {

class CudaPieces final : public Backend<Pieces> {
 public:
  std::string_view name() const override { return "pieces"; }
  std::string_view device_kind() const override { return "cuda"; }
  std::string_view summary() const override {
    return "copies of many pieces, each way of the CUDA runtime's and a kernel";
  }

  std::optional<std::string> refuses(const Step<Pieces>& step) const override {
    if (auto why = why_no_pieces(step)) return why;
    if (auto why = cuda::why_not_there(step.question.device)) return why;
    if (step.question.direction == Direction::peer) {
      if (auto why = cuda::why_not_there(step.question.target)) return why;
      const int from = cuda::ordinal_or_throw(step.question.device), to = cuda::ordinal_or_throw(step.question.target);
      if (!cuda::can_see(from, to))
        return fmt::format("{} cannot see the memory of {}, says the driver, and pieces go straight there",
                           step.question.device, step.question.target);
    }
    return step.axes.way == PieceWay::batch ? cuda::why_no_batches() : std::nullopt;
  }
  MemoryNeed needs(std::span<const Step<Pieces>> steps) const override {
    MemoryNeed need;
    for (const auto& [memory, bytes] : cuda::memories_of(steps))
      if (memory.kind == Memory::device) need.device_bytes = saturating_plus(need.device_bytes, bytes);
      else need.host_bytes = saturating_plus(need.host_bytes, bytes);
    return need;
  }
  MemoryNeed available(const PieceCase& c) const override {
    return {host::free_host_memory(), cuda::free_memory(cuda::ordinal_or_throw(c.device))};
  }
  std::unique_ptr<Runner<Pieces>> open(std::span<const Step<Pieces>> steps) const override {
    return std::make_unique<cuda::CudaPieceRunner>(steps);
  }
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(Backend<npgpu::Pieces>, npgpu::CudaPieces)

// Collectives by NCCL: each GPU's communicator, stream, buffers and timer, and the runner of all GPUs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "netpipe/collectives/nccl.hpp"
#include "netpipe/collectives/values.hpp"
#include "netpipe/devices/cuda/gate.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "npgpu/vocabulary/device.hpp"

namespace npgpu::nccl {

// Operations that may wait behind a gate. A launch of NCCL takes several entries of a stream: its kernel, and events
// between streams of its own.
constexpr std::uint64_t fits_behind_gate = 100;

class Rank {
 public:
  // Buffers of so many bytes. The calling thread is bound near the first GPU.
  Rank(const std::string& device, std::uint32_t rank, std::uint32_t ranks, std::uint64_t bytes);
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  const std::string& device() const { return device_; }
  const cuda::Gpu& gpu() const { return gpu_; }
  Communicator communicator() const { return communicator_.get(); }
  void join(Communicator own) { communicator_.reset(own); }
  // Ends operations that hang. join() again before the next operation.
  void abort();

  // Writes the operand, and poison where the result will be. In stream order, as all below.
  void fill(const Step<Collectives>&, std::uint64_t seed);
  // REQUIRES: between the group calls of all ranks; fill().
  void enqueue();
  // What is enqueued between them becomes a graph of so many operations. It is made, by make_graph(), when the captures
  // of all ranks have ended: a thread that captures may do little else. launch() enqueues it.
  void begin_capture();
  void end_capture();
  void make_graph(std::uint64_t operations);
  void launch(std::uint64_t operations);
  void forget_graphs() { graphs_.clear(); }
  // Ends the capture of an attempt that failed.
  void abandon_capture();
  void start(bool gated);
  void stop();
  void release();
  // Nothing if its gate timed out. REQUIRES: is_idle().
  std::optional<Seconds> elapsed();
  // Throws Error.
  bool is_idle() const;
  // Throws Error where NCCL says that the operation failed.
  void look_for_error() const;

  // Waits. What is wrong with the result.
  collectives::WrongElements compare();
  std::byte* result() const;  // on the device

 private:
  struct Destroy {
    void operator()(Communicator) const;
  };

  std::byte* operand() const;

  std::string device_;
  std::uint32_t rank_, ranks_;
  cuda::Gpu gpu_;
  cuda::Stream stream_;
  cuda::StreamTimer events_, gated_;
  cuda::StreamTimer* timer_ = nullptr;  // of this trial
  cuda::Buffer send_, receive_, wrong_;
  std::unique_ptr<struct ncclComm, Destroy> communicator_;
  std::optional<cuda::Graph> captured_{};
  std::map<std::uint64_t, cuda::ExecutableGraph> graphs_{};  // by their operations; they end before the communicator
  Step<Collectives> step_;
  collectives::Values values_;
  collectives::Part part_;
};

// Collectives of all GPUs by this process: one thread launches each operation on all of them, in a group.

class NcclRunner final : public Runner<Collectives> {
 public:
  // `patience`: with an operation or a trial, of which the longest takes a second or two. Throws Error.
  explicit NcclRunner(std::span<const Step<Collectives>>, Seconds patience = Seconds{60});

  // Operands are written, and the operation is done: its kernels are loaded, the GPUs connected, and graphs made.
  void prepare(const Step<Collectives>&) override;
  bool run(std::uint64_t repeats, std::vector<CollectiveSample>&) override;
  // In place, each operation's sums were the next one's operands: it is done once more.
  std::optional<std::string> check(std::span<CollectiveSample> last_trial) override;
  std::uint64_t max_repeats() const override { return is_gated() ? fits_behind_gate : 0; }
  double work() const override { return Collectives::work(step_.question, step_.axes); }
  std::uint64_t bytes() const override { return step_.axes.bytes; }
  void warm_up(Seconds) override;
  const Clock& clock() const override { return steady_clock(); }
  Telemetry telemetry() override { return ranks_.front()->gpu().telemetry(); }
  std::string binding() const override { return ranks_.front()->gpu().binding(); }

  Rank& rank(std::size_t number) { return *ranks_.at(number); }

 private:
  bool is_gated() const { return step_.question.timing == Timing::gated; }
  void join();
  void anew();                      // operands are written, and the operation is done once
  void issue(std::uint64_t times);  // operations are enqueued as the step says
  void once();                      // an operation is enqueued on each GPU
  void make_graphs();
  // Throws Error, and ends what hangs, where an operation failed or takes too long.
  void settle();
  void abort();

  Seconds patience_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  bool has_joined_ = false, has_graphs_ = false;
  Step<Collectives> step_;
  std::uint64_t seed_ = 0;
  Choice choice_;
};

}  // namespace npgpu::nccl

// The copies of pieces of one GPU, and the memory that they go between.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/host/quiet_core.hpp"
#include "netpipe/pieces/kernels.hpp"
#include "netpipe/pieces/slots.hpp"
#include "npgpu/vocabulary/pieces.hpp"

namespace npgpu::cuda {

// Why the driver has no batches of copies; nothing if it has.
std::optional<std::string> why_no_batches();

// Memory that an end lies in: pinned, a GPU's, or a second part of it, which copies within the GPU go to.
struct PieceMemory {
  Memory kind = Memory::pinned;
  int ordinal = -1;  // of a GPU
  bool is_second = false;
  auto operator<=>(const PieceMemory&) const = default;
};
PieceMemory source_memory(const PieceCase&);
PieceMemory target_memory(const PieceCase&);
// Bytes of each that these steps need.
std::map<PieceMemory, std::uint64_t> memories_of(std::span<const Step<Pieces>>);

// One GPU's stream for filling and comparing, and what that needs.
class PieceChecker {
 public:
  explicit PieceChecker(int ordinal);
  void fill(const PieceArea&, PieceContent);
  // One sentence for the first byte that is wrong.
  std::optional<std::string> first_wrong(const PieceArea&, const PieceSlots&);
  int ordinal() const { return ordinal_; }

 private:
  int ordinal_;
  Stream stream_;
  Buffer verdict_, readback_;
};

class CudaPieceRunner final : public Runner<Pieces> {
 public:
  explicit CudaPieceRunner(std::span<const Step<Pieces>>);

  void prepare(const Step<Pieces>&) override;
  bool run(std::uint64_t repeats, std::vector<PieceSample>&) override;
  std::optional<std::string> check(std::span<PieceSample> last_trial) override;
  std::uint64_t max_repeats() const override;
  double work() const override { return Pieces::work(case_, shape_); }
  std::uint64_t bytes() const override { return shape_.bytes(); }
  const Clock& clock() const override { return steady_clock(); }
  Telemetry telemetry() override { return gpu_.telemetry(); }
  std::string binding() const override { return gpu_.binding() + "; " + quiet_.text(); }

  // For tests that spoil it: the target's memory, and where its pieces are.
  std::byte* target() const { return target_.area.first; }
  const PieceSlots& target_slots() const { return target_.slots; }

 private:
  // One end as the prepared point has it.
  struct End {
    Buffer slot_of, piece_in;  // on the GPU that copies, and on the one that fills and compares
    PieceSlots slots;
    PieceArea area;
    int ordinal = -1;  // of the GPU that fills and compares it
    PieceEnd as_pieces() const {
      return {area.first, slots.pitch(), reinterpret_cast<const std::uint32_t*>(slot_of.data())};
    }
  };

  void lay_out(End&, PieceLayout, const PieceMemory&);
  void make_lists();
  void copy();  // the operation
  void copy_one_by_one() const;
  void copy_planes() const;
  void copy_batch();
  void wait() const { stream_.synchronize(); }
  PieceChecker& checker(int ordinal);

  Gpu gpu_;
  host::QuietCore quiet_;  // of those that the binding leaves
  Stream stream_;
  PieceKernel kernel_;
  std::map<int, PieceChecker> checkers_;
  const std::map<PieceMemory, std::uint64_t> most_bytes_;
  std::map<PieceMemory, Buffer> memories_;
  std::uint64_t seed_;

  PieceCase case_;
  PieceShape shape_;
  End source_, target_;
  cudaMemcpyKind kind_ = cudaMemcpyDefault;
  std::vector<void*> to_, from_;  // of each piece
  std::vector<std::size_t> sizes_;
  ExecutableGraph graph_;
};

}  // namespace npgpu::cuda

// What the GPU does with pieces: it copies them, and it fills and compares the memory that they lie in.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace npgpu::cuda {

// The pieces of one end. `slot_of`: in device memory; null: piece k is in slot k.
struct PieceEnd {
  std::byte* first = nullptr;
  std::uint64_t pitch = 0;
  const std::uint32_t* slot_of = nullptr;
};

// Copies pieces, of memory that the GPU sees. Loads and stores are of 16 bytes where the addresses and the piece's size
// allow it, else of 8, 4, 2 or 1.
class PieceKernel {
 public:
  explicit PieceKernel(int ordinal);  // of that GPU, which is made current; loads the kernels
  // In stream order, not waited for.
  void operator()(const PieceEnd& to, const PieceEnd& from, std::uint32_t pieces, std::uint64_t piece_bytes,
                  cudaStream_t) const;

 private:
  unsigned multiprocessors_;
};

// The memory of one end: slots with or without a piece, between two guards. `piece_in`: in device memory; null: slot k
// holds piece k.
struct PieceArea {
  std::byte* first = nullptr;  // of slot 0
  std::uint64_t piece_bytes = 0, pitch = 0, slots = 0;
  const std::uint32_t* piece_in = nullptr;
  std::uint64_t seed = 0;  // of the payload
};
// What every byte of it is to be.
enum class PieceContent {
  source,  // payload, and margins elsewhere
  armed,   // the payload's complement, and guards elsewhere
  copied,  // payload, and guards elsewhere
};

// In stream order, not waited for.
void fill_area(const PieceArea&, PieceContent, cudaStream_t);
// Writes the place of the first byte that is not what it is to be, counted from the guard's first byte, into `verdict`,
// which held all ones.
void check_area(const PieceArea&, PieceContent, unsigned long long* verdict, cudaStream_t);
// Loads the kernels.
void load_area_kernels();
// What a byte is to be, by its place as check_area() has it.
std::uint8_t byte_of_area(const PieceArea& with_host_table, PieceContent, std::uint64_t place);

}  // namespace npgpu::cuda

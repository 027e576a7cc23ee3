#include <algorithm>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/host/payload.hpp"
#include "netpipe/pieces/kernels.hpp"
#include "netpipe/pieces/slots.hpp"

namespace npgpu::cuda {

namespace {

constexpr unsigned piece_threads = 256;
// Words that a thread loads before it stores the first.
constexpr unsigned words_in_flight = 4;
constexpr unsigned most_lanes = 32, blocks_of_multiprocessor = 8;

// `1 << lane_bits` threads copy a part of one piece, words_in_flight words each.
template <class Word>
__global__ void __launch_bounds__(piece_threads)
    copy_pieces(PieceEnd to, PieceEnd from, std::uint64_t words, std::uint64_t parts_of_piece, std::uint64_t parts,
                unsigned lane_bits) {
  const std::uint64_t thread = blockIdx.x * std::uint64_t{piece_threads} + threadIdx.x;
  const std::uint64_t step = (std::uint64_t{gridDim.x} * piece_threads) >> lane_bits;
  const unsigned lanes = 1u << lane_bits, lane = threadIdx.x & (lanes - 1);
  for (std::uint64_t part = thread >> lane_bits; part < parts; part += step) {
    const std::uint64_t piece = part / parts_of_piece;
    const std::uint64_t first = (part - piece * parts_of_piece) * lanes * words_in_flight + lane;
    const std::uint64_t source_slot = from.slot_of ? from.slot_of[piece] : piece;
    const std::uint64_t target_slot = to.slot_of ? to.slot_of[piece] : piece;
    const Word* const source = reinterpret_cast<const Word*>(from.first + source_slot * from.pitch);
    Word* const target = reinterpret_cast<Word*>(to.first + target_slot * to.pitch);
    Word held[words_in_flight];
#pragma unroll
    for (unsigned k = 0; k < words_in_flight; ++k)
      if (first + k * lanes < words) held[k] = source[first + k * lanes];
#pragma unroll
    for (unsigned k = 0; k < words_in_flight; ++k)
      if (first + k * lanes < words) target[first + k * lanes] = held[k];
  }
}

template <class Word>
void launch_copy(const PieceEnd& to, const PieceEnd& from, std::uint32_t pieces, std::uint64_t piece_bytes,
                 unsigned multiprocessors, cudaStream_t stream) {
  const std::uint64_t words = piece_bytes / sizeof(Word);
  unsigned lane_bits = 0;
  while ((1u << lane_bits) < most_lanes && (std::uint64_t{words_in_flight} << lane_bits) < words) ++lane_bits;
  const std::uint64_t of_part = std::uint64_t{words_in_flight} << lane_bits;
  const std::uint64_t parts_of_piece = (words + of_part - 1) / of_part, parts = parts_of_piece * pieces;
  const std::uint64_t wanted = ((parts << lane_bits) + piece_threads - 1) / piece_threads;
  const auto blocks = static_cast<unsigned>(
      std::clamp<std::uint64_t>(wanted, 1, std::uint64_t{multiprocessors} * blocks_of_multiprocessor));
  copy_pieces<Word><<<blocks, piece_threads, 0, stream>>>(to, from, words, parts_of_piece, parts, lane_bits);
  check(cudaGetLastError(), "launching a copy of pieces");
}

template <class... Words> void load_copies() {
  cudaFuncAttributes unused;
  (check(cudaFuncGetAttributes(&unused, copy_pieces<Words>), "loading the kernels that copy pieces"), ...);
}

// The pattern of devices/host/payload.hpp; each piece has a seed of its own.
__host__ __device__ std::uint64_t payload_word(std::uint64_t seed, std::uint64_t i) {
  const std::uint64_t x = seed + i * 0x9E3779B97F4A7C15;
  return x ^ (x >> 29);
}

constexpr auto guard = static_cast<std::uint8_t>(payload::guard_value);
constexpr auto margin = static_cast<std::uint8_t>(payload::margin_value);
constexpr std::uint64_t guard_bytes = PieceSlots::guard_bytes;

template <class Word> __host__ __device__ Word content_at(const PieceArea& a, PieceContent content, std::uint64_t at) {
  const Word elsewhere = static_cast<Word>(0x0101010101010101 * (content == PieceContent::source ? margin : guard));
  if (at < guard_bytes || at >= guard_bytes + a.slots * a.pitch) return elsewhere;
  const std::uint64_t slot = (at - guard_bytes) / a.pitch, place = at - guard_bytes - slot * a.pitch;
  const std::uint32_t piece = a.piece_in ? a.piece_in[slot] : static_cast<std::uint32_t>(slot);
  if (place >= a.piece_bytes || piece == PieceSlots::empty) return elsewhere;
  const std::uint64_t word = payload_word(a.seed + piece * payload::slot_seed_step, place / 8);
  const Word right = static_cast<Word>(word >> (8 * (place % 8)));
  return content == PieceContent::armed ? static_cast<Word>(~right) : right;
}

template <class Word> __global__ void fill_kernel(PieceArea a, PieceContent content, std::uint64_t words) {
  Word* const first = reinterpret_cast<Word*>(a.first - guard_bytes);
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < words;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    first[i] = content_at<Word>(a, content, i * sizeof(Word));
}

template <class Word>
__global__ void check_kernel(PieceArea a, PieceContent content, std::uint64_t words, unsigned long long* verdict) {
  const Word* const first = reinterpret_cast<const Word*>(a.first - guard_bytes);
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < words;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    const std::uint64_t difference = static_cast<Word>(first[i] ^ content_at<Word>(a, content, i * sizeof(Word)));
    if (difference)
      atomicMin(verdict, static_cast<unsigned long long>(i * sizeof(Word) +
                                                         (__ffsll(static_cast<long long>(difference)) - 1) / 8));
  }
}

// Pieces of whole words are handled in words.
template <class Visit> void with_words(const PieceArea& a, Visit visit) {
  const std::uint64_t bytes = a.slots * a.pitch + 2 * guard_bytes;
  const bool whole = a.piece_bytes % 8 == 0 && a.pitch % 8 == 0;
  const std::uint64_t words = whole ? bytes / 8 : bytes;
  const auto blocks = static_cast<unsigned>(std::clamp<std::uint64_t>((words + 255) / 256, 1, 4096));
  if (whole) visit(std::uint64_t{}, words, blocks);
  else visit(std::uint8_t{}, words, blocks);
}

}  // namespace

PieceKernel::PieceKernel(int ordinal)
    : multiprocessors_(static_cast<unsigned>(attribute(cudaDevAttrMultiProcessorCount, ordinal))) {
  make_current(ordinal);
  load_copies<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, uint4>();
}

void PieceKernel::operator()(const PieceEnd& to, const PieceEnd& from, std::uint32_t pieces, std::uint64_t piece_bytes,
                             cudaStream_t stream) const {
  const std::uint64_t all = reinterpret_cast<std::uintptr_t>(to.first) | reinterpret_cast<std::uintptr_t>(from.first) |
                            to.pitch | from.pitch | piece_bytes;
  if (all % 16 == 0) launch_copy<uint4>(to, from, pieces, piece_bytes, multiprocessors_, stream);
  else if (all % 8 == 0) launch_copy<std::uint64_t>(to, from, pieces, piece_bytes, multiprocessors_, stream);
  else if (all % 4 == 0) launch_copy<std::uint32_t>(to, from, pieces, piece_bytes, multiprocessors_, stream);
  else if (all % 2 == 0) launch_copy<std::uint16_t>(to, from, pieces, piece_bytes, multiprocessors_, stream);
  else launch_copy<std::uint8_t>(to, from, pieces, piece_bytes, multiprocessors_, stream);
}

void fill_area(const PieceArea& a, PieceContent content, cudaStream_t stream) {
  with_words(a, [&]<class Word>(Word, std::uint64_t words, unsigned blocks) {
    fill_kernel<Word><<<blocks, 256, 0, stream>>>(a, content, words);
  });
  check(cudaGetLastError(), "filling the memory of pieces");
}

void check_area(const PieceArea& a, PieceContent content, unsigned long long* verdict, cudaStream_t stream) {
  with_words(a, [&]<class Word>(Word, std::uint64_t words, unsigned blocks) {
    check_kernel<Word><<<blocks, 256, 0, stream>>>(a, content, words, verdict);
  });
  check(cudaGetLastError(), "comparing the memory of pieces");
}

void load_area_kernels() {
  cudaFuncAttributes unused;
  for (const void* kernel : {reinterpret_cast<const void*>(fill_kernel<std::uint64_t>),
                             reinterpret_cast<const void*>(fill_kernel<std::uint8_t>),
                             reinterpret_cast<const void*>(check_kernel<std::uint64_t>),
                             reinterpret_cast<const void*>(check_kernel<std::uint8_t>)})
    check(cudaFuncGetAttributes(&unused, kernel), "loading the kernels that compare pieces");
}

std::uint8_t byte_of_area(const PieceArea& with_host_table, PieceContent content, std::uint64_t place) {
  return content_at<std::uint8_t>(with_host_table, content, place);
}

}  // namespace npgpu::cuda

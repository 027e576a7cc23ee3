// The memory test of a GPU. What is free but a reserve for others is taken in pieces until the driver gives no more:
// one piece of all of it is not to be had where memory is in use here and there.
#include <algorithm>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/soak/memory_test.hpp"
#include "netpipe/soak/memory_test_kernels.hpp"
#include "npgpu/vocabulary/device.hpp"

namespace npgpu::soak {

namespace {

constexpr std::uint64_t piece_bytes = GiB, least_piece = 2 * MiB,
                        reserve = 512 * MiB;  // for other loads of this process and for the driver

class CudaMemoryTest {
 public:
  CudaMemoryTest(int ordinal, std::uint64_t most) : stream_(cuda::stream_of(ordinal)) {
    wrong_ = cuda::Buffer(Memory::device, sizeof(cuda::WrongWords));
    const std::uint64_t free = cuda::free_memory(ordinal);
    std::uint64_t left = std::min(most, free > reserve ? free - reserve : 0) / word_bytes / 2 * word_bytes * 2;
    for (std::uint64_t piece = piece_bytes; left >= least_piece && piece >= least_piece;) {
      const std::uint64_t bytes = std::min(piece, left);
      try {
        pieces_.emplace_back(Memory::device, bytes);
        left -= bytes;
      } catch (const Error& e) {
        if (e.kind() != ErrorKind::no_memory) throw;
        piece /= 2;
      }
    }
    if (pieces_.empty())
      throw Error(ErrorKind::no_memory, "no memory of cuda:" + std::to_string(ordinal) + " is free to be tested");
    for (const cuda::Buffer& piece : pieces_) tested_.bytes += piece.bytes();
  }

  MemoryTested run(const MemoryTestOptions& options) {
    std::vector<Piece> places;
    for (const cuda::Buffer& piece : pieces_)
      places.push_back({reinterpret_cast<std::uint64_t>(piece.data()), piece.bytes()});
    for (const Pass& pass : options.passes) {
      if (options.stop && options.stop()) break;
      tested_.writing += timed([&](cuda::Buffer& piece, std::uint64_t first) {
        cuda::write_words(pass.pattern, pass.number, piece.data(), piece.bytes() / word_bytes, first, stream_.get());
      });
      tested_.written += static_cast<double>(tested_.bytes);
      if (options.written) options.written(pass, places);
      cuda::check(cudaMemsetAsync(wrong_.data(), 0, wrong_.bytes(), stream_.get()), "preparing the memory test");
      tested_.reading += timed([&](cuda::Buffer& piece, std::uint64_t first) {
        cuda::compare_words(pass.pattern, pass.number, piece.data(), piece.bytes() / word_bytes, first,
                            reinterpret_cast<cuda::WrongWords*>(wrong_.data()), stream_.get());
      });
      tested_.read += static_cast<double>(tested_.bytes);
      take_wrong(pass.pattern);
    }
    return tested_;
  }

 private:
  template <class Enqueue> Seconds timed(Enqueue enqueue) {
    stream_.synchronize();
    begin_.record(stream_.get());
    std::uint64_t first = 0;
    for (cuda::Buffer& piece : pieces_) {
      enqueue(piece, first);
      first += piece.bytes() / word_bytes;
    }
    end_.record(stream_.get());
    stream_.synchronize();
    return cuda::Event::between(begin_, end_);
  }

  void take_wrong(MemoryPattern pattern) {
    static_assert(cuda::WrongWords::most == most_words);
    auto found = std::make_unique<cuda::WrongWords>();
    cuda::check(cudaMemcpyAsync(found.get(), wrong_.data(), sizeof *found, cudaMemcpyDeviceToHost, stream_.get()),
                "reading what the memory test found");
    stream_.synchronize();
    tested_.mismatches += found->count;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(found->count, most_words); ++i) {
      const cuda::WrongWordRecord& one = found->words[i];
      if (tested_.words.size() < most_words)
        tested_.words.push_back({pattern, one.address, one.expected, one.found, one.again == one.found});
    }
  }

  cuda::Stream stream_;
  cuda::Event begin_, end_;
  cuda::Buffer wrong_;
  std::vector<cuda::Buffer> pieces_;
  MemoryTested tested_;
};

class CudaTester final : public MemoryTester {
 public:
  std::string_view rank() const override { return "cuda"; }
  MemoryTested test(const std::string& device, const MemoryTestOptions& options) const override {
    const int ordinal = cuda::ordinal_or_throw(device);
    cuda::make_current(ordinal);
    return CudaMemoryTest(ordinal, options.most_bytes).run(options);
  }
};

}  // namespace

}  // namespace npgpu::soak

NPGPU_REGISTERED(soak::MemoryTester, npgpu::soak::CudaTester)

// Products of warp groups by the columns of B (compute capability 9.0): see shapes.hpp; the kernels are in kernels.cu.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <vector>

#include "probes/cuda.hpp"
#include "probes/wgmma/kernels.hpp"
#include "probes/wgmma/shapes.hpp"

namespace npgpu::cuda {

namespace {

// Numbers in the form of a type. All are so small that no type rounds them.
class Encoded {
 public:
  explicit Encoded(DataType type) : type_(type) {}
  void add(int number) {
    const auto value = static_cast<float>(number);
    switch (type_) {
      case DataType::fp16: return append_bytes(__float2half(value));
      case DataType::bf16: return append_bytes(__float2bfloat16(value));
      case DataType::fp8: return append_bytes(__nv_fp8_e4m3(value));
      case DataType::int8: return append_bytes(static_cast<std::int8_t>(number));
      default: return append_bytes(value);  // tf32 is read from an fp32's upper bits
    }
  }
  Buffer on_device(cudaStream_t stream) const {
    Buffer buffer(Memory::device, bytes_.size());
    cuda::check(cudaMemcpyAsync(buffer.data(), bytes_.data(), bytes_.size(), cudaMemcpyHostToDevice, stream),
                "filling the tiles");
    cuda::check(cudaStreamSynchronize(stream), "filling the tiles");  // before the bytes go
    return buffer;
  }

 private:
  template <class T> void append_bytes(T value) {
    const auto* const begin = reinterpret_cast<const unsigned char*>(&value);
    bytes_.insert(bytes_.end(), begin, begin + sizeof value);
  }
  DataType type_;
  std::vector<unsigned char> bytes_;
};

class WgmmaRunner final : public SumsRunner {
 public:
  using SumsRunner::SumsRunner;
  double work() const override { return wgmma::work(question(), shape()); }

 private:
  void set_up() override {
    bench().gpu().make_current();
    const ProbeCase& c = question();
    const tensor::Range range = wgmma::range_of(shape().operands, c.operation, c.type);
    const unsigned kept = wgmma::kept(c.type), depth = wgmma::depth(c.operation, c.type);
    Encoded a(c.type), minus_a(c.type), b(c.type);
    for (unsigned row = 0; row < wgmma::rows; ++row)
      for (unsigned j = 0; j < kept; ++j) a.add(tensor::a0(row, j, range)), minus_a.add(-tensor::a0(row, j, range));
    for (unsigned column = 0; column < shape().n; ++column)
      for (unsigned k = 0; k < depth; ++k) b.add(tensor::b(k, column, range));
    a_ = a.on_device(stream()), minus_a_ = minus_a.on_device(stream()), b_ = b.on_device(stream());
    expect(range);
    make_ready();
  }
  // Computes each thread's word after no repeat or two, and what the first adds.
  void expect(const tensor::Range& range) {
    const ProbeCase& c = question();
    even_.assign(shape().threads, 0);
    odd_more_.assign(shape().threads, 0);
    for (unsigned thread = 0; thread < shape().threads; ++thread)
      for (unsigned i = 0; i < shape().n / 2; ++i) {
        const unsigned row = thread / 32 % 4 * tensor::warp_rows + tensor::row_of(thread % 32, i);
        const unsigned column = tensor::column_of(thread % 32, i);
        int product = 0;
        for (unsigned j = 0; j < wgmma::kept(c.type); ++j)
          product += tensor::a0(row, j, range) * tensor::b(wgmma::row_of_b(c.operation, j), column, range);
        const auto weighed = [&](int value) { return tensor::weight(i) * static_cast<std::uint32_t>(value); };
        even_[thread] += weighed(tensor::first(thread, i) + product);
        odd_more_[thread] += weighed(static_cast<int>(wgmma::products) * product);
      }
  }
  ProbeSample timed(std::uint32_t repeats) override {
    const GroupTiles tiles{
        .a = a_.data(), .minus_a = minus_a_.data(), .b = b_.data(), .repeats = repeats, .results = results()};
    const GroupKernel kernel = group_kernel(question(), shape().n);
    BlockRecord* const records = bench().record(shape().blocks);
    const std::uint32_t launch = bench().launch();
    return bench().time_kernel(
        repeats, [&] { kernel<<<shape().blocks, shape().threads, 0, stream()>>>(tiles, records, launch); });
  }
  std::uint32_t expected(std::uint32_t, std::uint32_t thread, std::uint64_t repeats) const override {
    return even_[thread] + (repeats % 2 ? odd_more_[thread] : 0);
  }

  Buffer a_, minus_a_, b_;
  std::vector<std::uint32_t> even_, odd_more_;
};

std::optional<std::string> lacks_wgmma(const ProbeCase& c) {
  if (capability_of(c) == 90) return std::nullopt;
  return c.device + " has no wgmma, which only compute capability 9.0 has";
}
Limit limit_of_groups(const ProbeCase& c, const Layout& l) {
  const Limit dense = limit_of_tensor_cores(c, l);
  if (c.operation != Operation::wgmma_sparse || !(dense.per_s > 0)) return dense;
  return {2 * dense.per_s, dense.source + " * 2, A being sparse"};
}

const Cuda wgmma_probe({{.name = "wgmma",
                         .open = runs<WgmmaRunner>,
                         .lacks = lacks_wgmma,
                         .limit = limit_of_groups,
                         .takes = [](const ProbeCase&, Operands operands) { return operands != Operands::pattern; }}});

}  // namespace
}  // namespace npgpu::cuda

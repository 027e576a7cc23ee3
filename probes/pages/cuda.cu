// One thread's chase through pages; see shapes.hpp. Loads go past L1, which would hold the lines of small sets.

#include <string>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "probes/cuda_sums.hpp"
#include "probes/latency/permutation.hpp"
#include "probes/pages/shapes.hpp"

namespace npgpu::cuda {

namespace {

constexpr unsigned unrolled_loads = 16;

struct PageChase {
  std::uint64_t begin;  // address
  std::uint32_t loads;
  std::uint64_t* end;
  BlockRecord* records;
  std::uint32_t launch;
};

__global__ void chase_pages(PageChase c) {
  const BlockClock clock(true);
  std::uint64_t p = c.begin;
#pragma unroll 1
  for (std::uint32_t loads = c.loads; loads >= unrolled_loads; loads -= unrolled_loads) {
#pragma unroll
    for (unsigned i = 0; i < unrolled_loads; ++i) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p)::"memory");
  }
  *c.end = p;
  clock.write(c.records, c.launch);
}

__device__ std::byte* element(std::byte* memory, std::uint64_t page) {
  return memory + page * pages::page_bytes + pages::place_in_page(page);
}

__global__ void link_pages(std::byte* memory, Permutation order) {
  const std::uint64_t count = order.count();
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    *reinterpret_cast<std::byte**>(element(memory, order.at(i))) = element(memory, order.at(i + 1 < count ? i + 1 : 0));
}

class PagesRunner final : public CudaProbeRunner {
 public:
  PagesRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : CudaProbeRunner(probe, steps),
        memory_(Memory::device, std::max(max_bytes(), pages::page_bytes)),
        end_(Memory::device, sizeof(std::uint64_t)) {}
  double work() const override { return pages::loads_of_repeat; }

 private:
  void set_up() override {
    bench().gpu().make_current();
    order_ = Permutation(shape().bytes / pages::page_bytes);
    walked_ = 0;
    link_pages<<<256, 256, 0, stream()>>>(memory_.data(), order_);
    cuda::check(cudaGetLastError(), "laying out the chase");
    timed(0);
    timed(2 * order_.count() / pages::loads_of_repeat + 1);  // L2 has the set's lines then, as far as it holds them
  }
  ProbeSample launch(std::uint64_t repeats) override {
    bench().gpu().make_current();
    return timed(repeats);
  }
  // Goes on where the last run ended.
  ProbeSample timed(std::uint64_t repeats) {
    const std::uint64_t loads = repeats * pages::loads_of_repeat;
    if (loads > UINT32_MAX) throw Error(ErrorKind::usage, "probe pages: at most 2^32 - 1 loads of a run");
    cuda::check(cudaMemsetAsync(end_.data(), 0, end_.bytes(), stream()), "poisoning the result");
    const PageChase chase{.begin = address(),
                          .loads = static_cast<std::uint32_t>(loads),
                          .end = reinterpret_cast<std::uint64_t*>(end_.data()),
                          .records = bench().record(1),
                          .launch = bench().launch()};
    const ProbeSample sample = bench().time_kernel(repeats, [&] { chase_pages<<<1, 1, 0, stream()>>>(chase); });
    walked_ += loads;
    return sample;
  }
  // Of the element where the chase is.
  std::uint64_t address() const {
    const std::uint64_t page = order_.at(walked_ % order_.count());
    return reinterpret_cast<std::uint64_t>(memory_.data()) + page * pages::page_bytes + pages::place_in_page(page);
  }
  std::optional<std::string> wrong_result() override {
    bench().gpu().make_current();
    std::uint64_t found = 0;
    cuda::check(cudaMemcpyAsync(&found, end_.data(), sizeof found, cudaMemcpyDeviceToHost, stream()),
                "reading where the chase ended");
    cuda::check(cudaStreamSynchronize(stream()), "reading where the chase ended");
    if (found == address()) return std::nullopt;
    return "after " + std::to_string(walked_) + " loads the chase is not on the page where its order leads";
  }

  Buffer memory_, end_;
  Permutation order_{1};
  std::uint64_t walked_ = 0;  // since the set was laid out
};

class PagesProbe final : public ProbeOf<CudaProbe, PagesRunner> {
 public:
  std::string_view name() const override { return "pages"; }
  std::optional<std::string> refuses_shape(const ProbeCase&, const Shape& shape) const override {
    return pages::refuses(shape);
  }
  std::vector<Shape> shapes(const ProbeCase& c) const override { return pages::shapes(context(c).layout); }

 private:
  std::vector<ProbeCase> questions(const std::string& device) const override { return {pages::only_case(device)}; }
  std::optional<std::string> refuses_question(const ProbeCase& c) const override {
    if (c == pages::only_case(c.device)) return std::nullopt;
    return "probe pages has the operation chase, dependent, of addresses (fp64) in global memory";
  }
  Limit limit(const ProbeCase&, int) const override { return {not_measured, "none: a latency has no peak"}; }
};

}  // namespace
}  // namespace npgpu::cuda

NPGPU_REGISTERED(Probe, npgpu::cuda::PagesProbe)

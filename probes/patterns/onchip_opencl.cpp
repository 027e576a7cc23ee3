// Reads of local memory by an OpenCL device's work-items, by stride: its bandwidth, and its banks. As on CUDA
// (probes/patterns/onchip.cu), where local memory is called shared. OpenCL has no word for caches of global memory, and
// no load that goes through one of them or past it: l1 and l2 have no kernel here.
#include "probes/opencl.hpp"
#include "probes/patterns/patterns.hpp"
#include "probes/walks.hpp"

namespace npgpu::opencl {

namespace {

constexpr const char* reads_source = R"cl(
__kernel void read_words(uint factor, uint words, uint span, uint stride, uint steps, __local uint* memory,
                         __global uint* results) {
  for (uint i = get_local_id(0); i < words; i += get_local_size(0)) memory[i] = factor * i;
  barrier(CLK_LOCAL_MEM_FENCE);
  __local const uint* const own = memory + get_local_id(0) % 32 * stride + get_local_id(0) / 32;
  uint base = 0, sum = 0;
  for (uint step = 0; step < steps; ++step) {
    __local const uint* const at = own + base;
    const uint x0 = at[0], x1 = at[1], x2 = at[2], x3 = at[3], x4 = at[4], x5 = at[5], x6 = at[6], x7 = at[7];
    sum += ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7));
    base += 8;
    if (base >= span) base = 0;
  }
  results[get_global_id(0)] = sum;
}
)cl";
static_assert(patterns::ilp_of_words == 8);

class OpenclOnchipRunner final : public OpenclSumsRunner {
 public:
  using OpenclSumsRunner::OpenclSumsRunner;
  double work() const override { return static_cast<double>(threads()) * shape().ilp * shape().access_bytes; }

 private:
  std::uint32_t span() const { return patterns::span_words(shape(), Space::shared); }
  void set_up() override {
    kernel_.emplace(kernel(reads_source, {}, "read_words"));
    make_ready();
  }
  ProbeSample timed(std::uint32_t steps) override {
    kernel_->set(cl_uint{pattern_word(1)}, static_cast<cl_uint>(shape().bytes / 4), cl_uint{span()},
                 cl_uint{shape().stride}, cl_uint{steps}, Local{shape().bytes}, results());
    return time([&] { enqueue(*kernel_, {.groups = shape().blocks, .items = shape().threads}); });
  }
  std::uint32_t expected(std::uint32_t, std::uint32_t thread, std::uint64_t steps) const override {
    const std::uint64_t loads = steps * shape().ilp, own = thread % 32 * std::uint64_t{shape().stride} + thread / 32;
    const std::uint64_t bases = shape().ilp * sum_of_cycle(0, steps, span() / shape().ilp);
    return pattern_word(1) *
           static_cast<std::uint32_t>(loads * own + shape().ilp * bases + steps * sum_below(shape().ilp));
  }

  std::optional<Kernel> kernel_;
};

std::vector<ProbeCase> local_memory(const std::string& device) {
  return {{.probe = "onchip", .device = device, .operation = Operation::read, .space = Space::shared}};
}
std::optional<std::string> refuses_onchip(const ProbeCase& c) {
  if (auto why = why_no_local_memory(c.device)) return why;
  if (c == local_memory(c.device).front()) return std::nullopt;
  return "by OpenCL probe onchip reads fp32 words, streaming, in the space shared, which OpenCL calls local memory";
}

const OpenCl onchip_by_opencl({{.name = "onchip",
                                .open = runs<OpenclOnchipRunner>,
                                .cases = local_memory,
                                .refuses_case = refuses_onchip,
                                .limit = [](const ProbeCase& c, const Layout&) {
                                  return nvidia_capability(c.device)
                                             ? limit_of_banks(layout_of(c.device, c.type))
                                             : Limit{not_measured,
                                                     "unknown: OpenCL does not tell what local memory sends"};
                                }}});

}  // namespace
}  // namespace npgpu::opencl

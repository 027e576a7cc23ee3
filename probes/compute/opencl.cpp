// Multiply-adds in the registers of an OpenCL device: x = x*a + a, `ilp` chains per work-item, nothing else in the
// loop.
//
// The kernel's text has every step written out, because whether a loop is unrolled is the compiler's choice. `a` is an
// argument, so that no compiler can shorten the chain: with a = 1 a chain counts its own steps exactly, x0 + n; where
// the type cannot count so far, a = -1 makes x alternate between x0 and -1 - x0, and the number of steps is odd in
// every repeat. Of int32 the two a's are two arguments: x*a + a would be (x + 1)*a to a compiler, which is two
// instructions. On a CPU a shape's threads are the elements of a vector. One lane has one chain there: a compiler may
// put chains of single elements side by side into a vector.
#include "probes/opencl.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "netpipe/devices/opencl/inventory.hpp"
#include "netpipe/engine/algorithms.hpp"
#include "probes/host/probe.hpp"
#include "probes/shapes.hpp"

namespace npgpu::opencl {

namespace {

struct Element {
  const char *name, *bits;  // types of OpenCL C
  unsigned bytes;
  std::uint64_t counts_to;
};

std::optional<Element> element_of(DataType type) {
  if (type == DataType::fp32) return Element{"float", "uint", 4, 1u << 24};
  if (type == DataType::fp64) return Element{"double", "ulong", 8, std::uint64_t{1} << 53};
  if (type == DataType::int32) return Element{"uint", "uint", 4, ~std::uint64_t{0}};
  if (type == DataType::fp16) return Element{"half", "ushort", 2, 0};
  return std::nullopt;
}

constexpr std::uint32_t gpu_ilps[] = {1, 2, 4, 8}, cpu_ilps[] = {1, 2, 4, 8, 12};
constexpr std::uint32_t best_cpu_ilp = 8;
bool is_one_of(std::span<const std::uint32_t> list, std::uint32_t value) {
  return std::ranges::find(list, value) != list.end();
}

// Steps of one chain in one repeat: odd.
constexpr std::uint64_t steps_of_chain(std::uint32_t ilp) { return (512 / ilp) | 1; }

constexpr std::uint32_t starts = 16;  // different first values

// `width`: elements of a work-item's variable. They are lanes of their own where `has_lanes`, else all the same.
std::string chains_source(DataType type, std::uint32_t width, std::uint32_t ilp, bool has_lanes) {
  const Element e = *element_of(type);
  const auto wide = [&](const char* name) { return width > 1 ? name + std::to_string(width) : name; };
  const std::string variable = wide(e.name);
  const std::string bits = has_lanes || width == 1 ? wide(e.bits) : "uint";  // a pair of fp16 is a word
  std::string text;
  if (type == DataType::fp64) text += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
  if (type == DataType::fp16) text += "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n";
  text += fmt::format("__kernel void chains(int a0, int b0, uint rounds, __global {}* results) {{\n",
                      has_lanes ? e.bits : bits);
  text += fmt::format("const {0} a = ({0})(({1})a0), b = ({0})(({1})b0);\n", variable, e.name);
  if (has_lanes && width > 1) {
    std::string lanes;
    for (std::uint32_t lane = 0; lane < width; ++lane) lanes += (lane ? ", " : "") + std::to_string(lane);
    text += fmt::format("const int{0} start = ((int{0})({1}) + (int)get_global_id(0) * {0}) & {2};\n", width, lanes,
                        starts - 1);
    for (std::uint32_t i = 0; i < ilp; ++i) text += fmt::format("{0} x{1} = convert_{0}(start + {1});\n", variable, i);
  } else {
    text += fmt::format("const int start = (int)get_global_id(0) & {};\n", starts - 1);
    for (std::uint32_t i = 0; i < ilp; ++i)
      text += fmt::format("{0} x{1} = ({0})(({2})(start + {1}));\n", variable, i, e.name);
  }
  text += "for (uint round = 0; round < rounds; ++round) {\n";
  const bool fused = !is_whole_number(type);
  for (std::uint64_t step = 0; step < steps_of_chain(ilp); ++step) {
    for (std::uint32_t i = 0; i < ilp; ++i)
      text += fused ? fmt::format("x{0} = fma(x{0}, a, a); ", i) : fmt::format("x{0} = x{0} * a + b; ", i);
    text += '\n';
  }
  text += "}\n";
  text += fmt::format("{0} all = as_{0}(x0)", bits);
  for (std::uint32_t i = 1; i < ilp; ++i) text += fmt::format(" ^ as_{}(x{})", bits, i);
  text += ";\n";
  text += has_lanes && width > 1 ? fmt::format("vstore{}(all, get_global_id(0), results);\n", width)
                                 : "results[get_global_id(0)] = all;\n";
  return text + "}\n";
}

// The bits of a whole number that fp16 holds exactly.
std::uint16_t half_bits(std::int64_t value) {
  if (value == 0) return 0;
  const auto single = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const std::uint32_t exponent = (single >> 23 & 0xff) - 127 + 15;
  return static_cast<std::uint16_t>(single >> 16 & 0x8000u) | static_cast<std::uint16_t>(exponent << 10) |
         static_cast<std::uint16_t>(single >> 13 & 0x3ffu);
}

std::uint64_t bits_of(DataType type, std::int64_t value) {
  if (type == DataType::fp32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (type == DataType::fp64) return std::bit_cast<std::uint64_t>(static_cast<double>(value));
  if (type == DataType::fp16) return half_bits(value);
  return static_cast<std::uint32_t>(value);
}

// What the chains of a thread that began at `start` leave.
std::uint64_t left_by(DataType type, std::uint32_t start, std::uint32_t ilp, int a, std::uint64_t steps) {
  std::uint64_t all = 0;
  for (std::uint32_t i = 0; i < ilp; ++i) {
    const std::int64_t x0 = start + i;
    all ^= bits_of(type, a == 1 ? x0 + static_cast<std::int64_t>(steps) : steps % 2 ? -1 - x0 : x0);
  }
  return all;
}

class OpenclComputeRunner final : public OpenclProbeRunner {
 public:
  using OpenclProbeRunner::OpenclProbeRunner;
  double work() const override {
    return 2.0 * static_cast<double>(items()) * width() * shape().ilp *
           static_cast<double>(steps_of_chain(shape().ilp));
  }

 private:
  bool is_pair() const { return !is_cpu() && question().type == DataType::fp16; }
  std::uint32_t width() const { return is_cpu() ? shape().threads : is_pair() ? 2 : 1; }
  std::uint64_t threads() const { return std::uint64_t{shape().blocks} * shape().threads; }
  std::uint64_t items() const { return is_cpu() ? shape().blocks : threads(); }
  std::uint64_t result_bytes() const { return threads() * (is_pair() ? 4 : element_of(question().type)->bytes); }

  void set_up() override {
    const std::string source = chains_source(question().type, width(), shape().ilp, is_cpu());
    kernel_.emplace(kernel(source, {}, "chains"));
    make_room(results_, result_bytes());
    timed(0);  // a driver may finish a kernel at its first launch
  }
  ProbeSample launch(std::uint64_t repeats) override {
    if (repeats > UINT32_MAX) throw Error(ErrorKind::usage, "probe compute: at most 2^32 - 1 repeats");
    steps_ = repeats * steps_of_chain(shape().ilp);
    a_ = steps_ + 64 < element_of(question().type)->counts_to ? 1 : -1;
    bench().fill(results_, poison);
    return timed(static_cast<std::uint32_t>(repeats));
  }
  ProbeSample timed(std::uint32_t rounds) {
    kernel_->set(a_, a_, rounds, results_);
    return time([&] { enqueue(*kernel_, {.groups = shape().blocks, .items = is_cpu() ? 1 : shape().threads}); });
  }
  std::optional<std::string> wrong_result() override {
    std::uint64_t right[starts];
    for (std::uint32_t start = 0; start < starts; ++start) {
      right[start] = left_by(question().type, start, shape().ilp, a_, steps_);
      if (is_pair()) right[start] *= 0x10001;
    }
    const auto found = read<std::byte>(results_, result_bytes());
    const std::uint64_t bytes = result_bytes() / threads();
    for (std::uint64_t thread = 0; thread < threads(); ++thread)
      if (std::memcmp(found.data() + thread * bytes, &right[thread % starts], bytes) != 0)
        return fmt::format("the chains of thread {} of {} are not what {} steps leave", thread, threads(), steps_);
    return std::nullopt;
  }

  std::optional<Kernel> kernel_;
  Buffer results_;
  std::uint64_t steps_ = 0;  // of one chain in the last run
  int a_ = 1;
};

std::optional<std::string> refuses_compute(const ProbeCase& c) {
  if (auto why = refuses_gpu_compute(c)) return why;
  if (!element_of(c.type)) return fmt::format("OpenCL C has no arithmetic of {}", npgpu::name(c.type));
  const auto needs_extension = [&](DataType type, const char* extension) -> std::optional<std::string> {
    if (c.type != type || has_extension(find_or_throw(c.device).device, extension)) return std::nullopt;
    return fmt::format("{} has no arithmetic of {} by OpenCL: its driver lacks {}", c.device, npgpu::name(type),
                       extension);
  };
  if (auto why = needs_extension(DataType::fp64, "cl_khr_fp64")) return why;
  return needs_extension(DataType::fp16, "cl_khr_fp16");
}
std::optional<std::string> refuses_chains(const ProbeCase& c, const Shape& shape) {
  const bool cpu = opencl::is_cpu(c.device);
  if (!(cpu ? is_one_of(cpu_ilps, shape.ilp) : is_one_of(gpu_ilps, shape.ilp)))
    return std::to_string(shape.ilp) + " chains per thread: it takes 1, 2, 4 or 8, and 12 on a CPU";
  if (std::uint64_t{shape.blocks} * shape.threads > 0x7fffffff) return "more threads than a check can number";
  if (!cpu) return std::nullopt;
  const Layout l = layout_of(c.device, c.type);
  if (shape.threads != 1 && shape.threads != l.lanes)
    return fmt::format("{} lanes of {}; this CPU's vectors have {}", shape.threads, npgpu::name(c.type), l.lanes);
  if (shape.threads == 1 && shape.ilp > 1 && l.lanes > 1)
    return "one lane has one chain on a CPU: a compiler may put several into a vector";
  return std::nullopt;
}
std::vector<Shape> cpu_shapes(const ProbeCase& c) {
  const Layout l = layout_of(c.device, c.type);
  std::vector<Shape> all{{.blocks = 1, .threads = 1}, {.blocks = l.units, .threads = 1}};
  for (const std::uint32_t blocks : {1u, l.units})
    for (const std::uint32_t ilp : cpu_ilps) all.push_back({.blocks = blocks, .threads = l.lanes, .ilp = ilp});
  for (const std::uint32_t blocks : cores_one_by_one(l.units)) {
    all.push_back({.blocks = blocks, .threads = l.lanes, .ilp = best_cpu_ilp});
    all.push_back({.blocks = blocks, .threads = 1});
  }
  return all;
}
std::vector<Shape> shapes_of_compute(const ProbeCase& c, const Layout& l) {
  std::vector<Shape> all = opencl::is_cpu(c.device) ? cpu_shapes(c) : compute_shapes(l);
  for (Shape& shape : all) shape.one_block_per_sm = false;
  return each_once(std::move(all));
}

const OpenCl compute_by_opencl({{.name = "compute",
                                 .open = runs<OpenclComputeRunner>,
                                 .shapes = shapes_of_compute,
                                 .refuses_case = refuses_compute,
                                 .refuses = refuses_chains,
                                 .limit = [](const ProbeCase& c, const Layout&) {
                                   return arithmetic_limit(c.device, c.type);
                                 }}});

}  // namespace
}  // namespace npgpu::opencl

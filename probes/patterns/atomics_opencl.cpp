// Atomic additions of 1 to words of an OpenCL device's global or local memory: all work-items at one word (stride 0),
// or each at its own. As on CUDA (probes/patterns/atomics.cu): add leaves the old value unused, fetch uses it.
#include <fmt/format.h>

#include "probes/opencl.hpp"
#include "probes/patterns/patterns.hpp"
#include "probes/walks.hpp"

namespace npgpu::opencl {

namespace {

// LOCAL and FETCH are 0 or 1. The addend is an argument, so that no compiler counts the adders instead.
constexpr const char* additions_source = R"cl(
#if LOCAL
#define AT (own + place)
#else
#define AT (words + place)
#endif
#if FETCH
#define ADD sum += atomic_add(AT, addend);
#else
#define ADD atomic_add(AT, addend);
#endif

__kernel void add_words(volatile __global uint* words, uint own_words, uint stride, uint addend, uint steps,
                        volatile __local uint* own, __global uint* results) {
#if LOCAL
  for (uint i = get_local_id(0); i < own_words; i += get_local_size(0)) own[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  const ulong place = get_local_id(0) * (ulong)stride;
#else
  const ulong place = get_global_id(0) * (ulong)stride;
#endif
  uint sum = 0;
  for (uint step = 0; step < steps; ++step) { ADD ADD ADD ADD ADD ADD ADD ADD }
  results[get_global_id(0)] = sum;
#if LOCAL
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = get_local_id(0); i < own_words; i += get_local_size(0))
    words[get_group_id(0) * (ulong)own_words + i] = own[i];
#endif
}
)cl";
constexpr unsigned words_of_a_thread = patterns::ilp_of_words;
static_assert(words_of_a_thread == 8);

class OpenclAtomicsRunner final : public OpenclSumsRunner {
 public:
  using OpenclSumsRunner::OpenclSumsRunner;
  double work() const override { return static_cast<double>(threads()) * words_of_a_thread; }

 private:
  bool local() const { return question().space == Space::shared; }
  bool fetches() const { return question().operation == Operation::fetch; }
  std::uint32_t blocks_of_words() const { return local() ? shape().blocks : 1; }
  std::uint64_t own_words() const { return patterns::atomic_words(shape(), question().space); }
  void set_up() override {
    kernel_.emplace(
        kernel(additions_source, fmt::format("-DLOCAL={:d} -DFETCH={:d}", local(), fetches()), "add_words"));
    make_room(words_, blocks_of_words() * own_words() * sizeof(std::uint32_t));
    make_ready();
  }
  ProbeSample timed(std::uint32_t steps) override {
    bench().fill(words_, 0);
    kernel_->set(words_, static_cast<cl_uint>(own_words()), cl_uint{shape().stride}, cl_uint{1}, cl_uint{steps},
                 Local{local() ? own_words() * sizeof(std::uint32_t) : sizeof(std::uint32_t)}, results());
    steps_ = steps;
    return time([&] { enqueue(*kernel_, {.groups = shape().blocks, .items = shape().threads}); });
  }
  // The old values of words that one thread has by itself; those of a common word come in any order, and only their sum
  // is known.
  std::uint32_t expected(std::uint32_t, std::uint32_t, std::uint64_t steps) const override {
    return fetches() ? static_cast<std::uint32_t>(sum_below(steps * words_of_a_thread)) : 0;
  }
  std::optional<std::string> wrong_result() override {
    const auto words = read<std::uint32_t>(words_, blocks_of_words() * own_words());
    if (auto why = patterns::wrong_words(shape(), question().space, steps_, words)) return why;
    if (shape().stride != 0 || !fetches()) return OpenclSumsRunner::wrong_result();
    return patterns::wrong_old_values(shape(), question().space, steps_, read<std::uint32_t>(results(), threads()));
  }

  std::optional<Kernel> kernel_;
  Buffer words_;
  std::uint32_t steps_ = 0;  // of the last run
};

std::optional<std::string> refuses_atomics(const ProbeCase& c) {
  if (opencl::is_cpu(c.device)) return "a CPU's core does additions one after the other: work-items are no lanes there";
  return std::nullopt;
}
std::optional<std::string> lacks_atomics(const ProbeCase& c) {
  return c.space == Space::shared ? why_no_local_memory(c.device) : std::nullopt;
}

const OpenCl atomics_by_opencl({{.name = "atomics",
                                 .open = runs<OpenclAtomicsRunner>,
                                 .refuses_case = refuses_atomics,
                                 .lacks = lacks_atomics,
                                 .limit = [](const ProbeCase&, const Layout&) -> Limit {
                                   return {not_measured, "unknown: OpenCL gives no rate of atomics"};
                                 },
                                 .needs = [](std::span<const ProbeStep> steps) -> MemoryNeed {
                                   return {0, patterns::atomic_bytes(steps)};
                                 }}});

}  // namespace
}  // namespace npgpu::opencl

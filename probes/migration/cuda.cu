// Memory whose pages the driver moves, on a GPU. What is timed is one use of all bytes, or of one word of every stride;
// before it pages are put where the shape says, and everything is waited for. So a repeat is a launch, and launches do
// not wait behind a gate: times of small sets have the launch in them.
//
// Results: what is read adds up to what was written there; what is written is read by the host after the trial; a
// prefetch leaves all words as they were.
#include <chrono>
#include <thread>

#include "netpipe/devices/cuda/check.hpp"
#include "probes/cuda.hpp"
#include "probes/migration/shapes.hpp"

namespace npgpu::cuda {

namespace {

using Word = std::uint32_t;
constexpr Word factor = 0x9E3779B1;  // odd: 2^32 words in a row differ
constexpr std::uint64_t page_bytes = 4096;

__global__ void __launch_bounds__(migration::threads) read_all(const uint4* memory, std::uint64_t count, Word* sum) {
  Word own = 0;
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
  for (; i + 3 * step < count; i += 4 * step) {
    uint4 x[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) x[k] = __ldcg(memory + i + k * step);
#pragma unroll
    for (int k = 0; k < 4; ++k) own += x[k].x + x[k].y + x[k].z + x[k].w;
  }
  for (; i < count; i += step) {
    const uint4 x = __ldcg(memory + i);
    own += x.x + x.y + x.z + x.w;
  }
  atomicAdd(sum, own);
}

__global__ void __launch_bounds__(migration::threads) write_all(uint4* memory, std::uint64_t count, Word offset) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count; i += step) {
    const Word at = factor * static_cast<Word>(4 * i) + offset;
    memory[i] = {at, at + factor, at + 2 * factor, at + 3 * factor};
  }
}

// Each address waits for what the last load brought, which masked with zero adds nothing.
__global__ void touch(const Word* memory, std::uint64_t touches, std::uint64_t stride, Word zero, Word* sum) {
  Word all = 0;
  std::uint64_t at = 0;
#pragma unroll 1
  for (std::uint64_t i = 0; i < touches; ++i) {
    const Word word = __ldcg(memory + at);
    all += word;
    at += stride + (word & zero);
  }
  *sum = all;
}

class MigrationRunner final : public CudaProbeRunner {
 public:
  MigrationRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : CudaProbeRunner(probe, steps), sum_(Memory::device, sizeof(Word)) {}
  double work() const override { return migration::work(question(), shape()); }

 private:
  void set_up() override {
    bench().gpu().make_current();
    allocate();
    for (std::uint64_t i = 0; i < count(); ++i) words()[i] = factor * static_cast<Word>(i);
    offset_ = 0;
    // The driver loads kernels at their first launch, which no trial should wait for.
    read_all<<<1, 32, 0, stream()>>>(nullptr, 0, sum());
    write_all<<<1, 32, 0, stream()>>>(nullptr, 0, 0);
    touch<<<1, 1, 0, stream()>>>(nullptr, 0, 0, 0, sum());
    cuda::check(cudaStreamSynchronize(stream()), "loading the kernels");
  }
  void allocate() {
    memory_ = {};
    pageable_ = {};
    if (question().space == Space::pageable) pageable_ = host::PageableBuffer(shape().bytes, 0);
    else memory_ = Buffer(question().space == Space::host ? Memory::pinned : Memory::managed, shape().bytes);
  }
  std::byte* data() const { return pageable_.data() ? pageable_.data() : memory_.data(); }
  Word* words() const { return reinterpret_cast<Word*>(data()); }
  std::uint64_t count() const { return shape().bytes / sizeof(Word); }
  Word* sum() const { return reinterpret_cast<Word*>(sum_.data()); }
  int ordinal() const { return bench().gpu().ordinal(); }

  // Not timed.
  void put_pages() {
    const auto say = [&](cudaMemoryAdvise advice, bool host) {
      advise(data(), shape().bytes, advice, host, ordinal());
    };
    switch (shape().pages) {
      case Pages::fixed: break;
      case Pages::device: prefetch_to_device(data(), shape().bytes, ordinal(), stream()); break;
      case Pages::host: to_host(); break;
      case Pages::untouched: {
        allocate();
        // The driver clears freed pages in the background, which slows others' accesses (docs/calls.md).
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        break;
      }
      case Pages::in_place:
        to_host();
        say(cudaMemAdviseSetPreferredLocation, true);
        say(cudaMemAdviseSetAccessedBy, false);
        break;
      case Pages::copied:
        say(cudaMemAdviseUnsetReadMostly, false);
        to_host();
        say(cudaMemAdviseSetReadMostly, false);
        break;
    }
    clear_sum();
  }
  void to_host() {
    if (question().space == Space::managed) return prefetch_to_host(data(), shape().bytes, ordinal(), stream());
    for (std::uint64_t at = 0; at < shape().bytes; at += page_bytes)
      std::ignore = static_cast<const volatile std::byte&>(data()[at]);
  }
  void clear_sum() {
    cuda::check(cudaMemsetAsync(sum(), 0, sizeof(Word), stream()), "clearing the sum");
    cuda::check(cudaStreamSynchronize(stream()), "waiting until pages are where they should be");
  }

  ProbeSample launch(std::uint64_t repeats) override {
    bench().gpu().make_current();
    Seconds host{0}, device{0};
    for (std::uint64_t i = 0; i < repeats; ++i) {
      put_pages();
      const Seconds begin = steady_clock().now();
      begin_.record(stream());
      use();
      end_.record(stream());
      cuda::check(cudaStreamSynchronize(stream()), "waiting for the use of pages");
      host += steady_clock().now() - begin;
      device += Event::between(begin_, end_);
      if (question().operation != Operation::write) read_sum();
    }
    ProbeSample sample;
    sample.repeats = repeats;
    sample.host_us = microseconds(host);
    if (question().operation != Operation::host_read) sample.device_us = microseconds(device);
    return sample;
  }
  void use() {
    const auto accesses = shape().bytes / migration::access_bytes;
    auto* const vectors = reinterpret_cast<uint4*>(data());
    switch (question().operation) {
      case Operation::read: read_all<<<shape().blocks, shape().threads, 0, stream()>>>(vectors, accesses, sum()); break;
      case Operation::write:
        write_all<<<shape().blocks, shape().threads, 0, stream()>>>(vectors, accesses, ++offset_);
        break;
      case Operation::chase:
        touch<<<1, 1, 0, stream()>>>(words(), migration::touches(shape()), shape().stride, 0, sum());
        break;
      case Operation::prefetch:
        if (shape().pages == Pages::host) prefetch_to_device(data(), shape().bytes, ordinal(), stream());
        else prefetch_to_host(data(), shape().bytes, ordinal(), stream());
        break;
      default: host_sum_ = sum_of_all(); break;
    }
    cuda::check(cudaGetLastError(), "using pages");
  }
  Word sum_of_all() const {
    Word all = 0;
    for (std::uint64_t i = 0; i < count(); ++i) all += words()[i];
    return all;
  }
  void read_sum() {
    if (question().operation == Operation::host_read) return;
    cuda::check(cudaMemcpyAsync(&host_sum_, sum(), sizeof(Word), cudaMemcpyDeviceToHost, stream()), "reading the sum");
    cuda::check(cudaStreamSynchronize(stream()), "reading the sum");
  }
  std::optional<std::string> wrong_result() override {
    if (question().operation == Operation::prefetch) {
      int place = cudaInvalidDeviceId;
      cuda::check(cudaMemRangeGetAttribute(&place, sizeof place, cudaMemRangeAttributeLastPrefetchLocation, data(),
                                           shape().bytes),
                  "asking where pages were brought");
      if (place != (shape().pages == Pages::host ? ordinal() : cudaCpuDeviceId)) return "pages were not brought there";
    }
    if (question().operation == Operation::prefetch || question().operation == Operation::write) {
      for (std::uint64_t i = 0; i < count(); ++i)
        if (words()[i] != factor * static_cast<Word>(i) + offset_)
          return "word " + std::to_string(i) + " of " + std::to_string(count()) + " is not what was written there";
      return std::nullopt;
    }
    Word right = 0;
    if (question().operation == Operation::chase)
      for (std::uint64_t i = 0; i < migration::touches(shape()); ++i)
        right += factor * static_cast<Word>(i * shape().stride);
    else
      for (std::uint64_t i = 0; i < count(); ++i) right += factor * static_cast<Word>(i);
    if (host_sum_ == right) return std::nullopt;
    return "what was read does not add up to what is there";
  }

  Buffer sum_, memory_;
  host::PageableBuffer pageable_;
  Event begin_, end_;
  Word offset_ = 0;    // of the words that were written last
  Word host_sum_ = 0;  // of the last repeat
};

std::optional<std::string> lacks_migration(const ProbeCase& c) {
  const auto has = [&](cudaDeviceAttr which) { return maybe_attribute(which, ordinal_or_throw(c.device)).value_or(0); };
  if (c.space == Space::managed && !has(cudaDevAttrConcurrentManagedAccess))
    return c.device + " does not move pages when they are used: managed memory moves as a whole at each launch";
  if (c.space == Space::pageable && !has(cudaDevAttrPageableMemoryAccess))
    return c.device + " cannot read the host's pageable memory: its driver has neither HMM nor ATS here";
  return std::nullopt;
}

const Cuda migration_probe({{.name = "migration",
                             .open = runs<MigrationRunner>,
                             .lacks = lacks_migration,
                             .needs = [](std::span<const ProbeStep> steps) -> MemoryNeed {
                               return {max_bytes_of(steps), max_bytes_of(steps)};
                             }}});

}  // namespace
}  // namespace npgpu::cuda

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <semaphore>
#include <system_error>
#include <thread>
#include <type_traits>

#include "netpipe/devices/host/memory.hpp"
#include "netpipe/jobs/partition/runner.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::partition {

namespace {

// Fortran's: n, right sides, below, on and above the diagonal, right sides, their stride, result.
template <class Real> using Gtsv = void (*)(const int*, const int*, Real*, Real*, Real*, Real*, const int*, int*);

}  // namespace

Lapack::Lapack() {
  for (const char* library : {"liblapack.so.3", "libopenblas.so.0", "libopenblas.so"}) {
    void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);  // held as long as the process
    if (!handle) continue;
    sgtsv_ = dlsym(handle, "sgtsv_");
    dgtsv_ = dlsym(handle, "dgtsv_");
    if (sgtsv_ && dgtsv_) {
      text_ = fmt::format("compared with gtsv of {} up to {} unknowns", library, max_size);
      return;
    }
  }
  sgtsv_ = dgtsv_ = nullptr;
  text_ = "not compared with LAPACK: there is no liblapack.so.3 and no libopenblas.so.0";
}

template <> std::map<std::uint64_t, std::vector<float>>& Lapack::known() { return known_fp32_; }
template <> std::map<std::uint64_t, std::vector<double>>& Lapack::known() { return known_fp64_; }

template <class Real> const std::vector<Real>& Lapack::solution(std::uint64_t size) {
  std::vector<Real>& x = known<Real>()[size];
  if (!x.empty()) return x;
  std::vector<Real> below(size), on(size), above(size), right(size);
  for (std::uint64_t i = 0; i < size; ++i) {
    const Row<Real> row = row_of<Real>(i);
    if (i > 0) below[i - 1] = row.a;
    on[i] = row.b;
    above[i] = row.c;
    right[i] = row.d;
  }
  const int n = static_cast<int>(size), one = 1;
  int info = 0;
  void* const symbol = std::is_same_v<Real, float> ? sgtsv_ : dgtsv_;
  reinterpret_cast<Gtsv<Real>>(symbol)(&n, &one, below.data(), on.data(), above.data(), right.data(), &n, &info);
  if (info != 0) throw Error(ErrorKind::failed, fmt::format("LAPACK's gtsv gave up: info {}", info));
  return x = std::move(right);
}

template <class Real> std::optional<std::string> Lapack::differs(const Real* x, std::uint64_t size) {
  if (!dgtsv_ || size > max_size) return std::nullopt;
  const std::vector<Real>& wanted = solution<Real>(size);
  // The inverse's norm is at most 1, because |b| >= |a| + |c| + 1; a matrix' is below 3.
  double largest = 0, worst = 0;
  std::uint64_t where = 0;
  for (std::uint64_t i = 0; i < size; ++i) {
    largest = std::max(largest, std::abs(double{wanted[i]}));
    const double off = std::abs(double{x[i]} - double{wanted[i]});
    if (off <= worst) continue;  // not where it is no number
    worst = off;
    where = i;
    if (!std::isfinite(off)) break;
  }
  const double allowed = 256.0 * std::numeric_limits<Real>::epsilon() * largest;
  if (worst <= allowed) return std::nullopt;
  return fmt::format("x[{}] is {}, and LAPACK's is {}: {:.2g} apart, and {:.2g} is allowed", where, x[where],
                     wanted[where], worst, allowed);
}

template std::optional<std::string> Lapack::differs(const float*, std::uint64_t);
template std::optional<std::string> Lapack::differs(const double*, std::uint64_t);

// The partition method on this machine's processors: a thread for each stream. The "device" is a second set of arrays,
// and copies are memcpy, so that a run does the same stages with the same buffers as on a GPU.

namespace {

Seconds now() { return std::chrono::steady_clock::now().time_since_epoch(); }

// Threads that wait for work, one for each stream.
class Threads {
 public:
  ~Threads() {
    leave_ = true;
    for (auto& member : members_) member->begin.release();
    for (auto& member : members_) member->thread.join();
  }
  void grow(std::size_t count) {
    try {
      while (members_.size() < count) {
        auto member = std::make_unique<Member>();
        member->thread = std::thread([this, m = member.get(), number = members_.size()] { live(*m, number); });
        members_.push_back(std::move(member));
      }
    } catch (const std::system_error& error) {
      throw Error(ErrorKind::failed, fmt::format("no thread for each of {} streams: {}", count, error.what()));
    }
  }
  // Calls work(0) to work(count - 1), each on its thread, and waits for all. `work` must not throw.
  void each(std::size_t count, std::function<void(std::size_t)> work) {
    work_ = std::move(work);
    for (std::size_t i = 0; i < count; ++i) members_[i]->begin.release();
    for (std::size_t i = 0; i < count; ++i) members_[i]->end.acquire();
  }

 private:
  struct Member {
    std::thread thread;
    std::binary_semaphore begin{0}, end{0};
  };
  void live(Member& self, std::size_t number) {
    for (;;) {
      self.begin.acquire();
      if (leave_) return;
      work_(number);
      self.end.release();
    }
  }
  std::vector<std::unique_ptr<Member>> members_;
  std::function<void(std::size_t)> work_;
  std::atomic<bool> leave_ = false;
};

template <class Real> void run_kernel(const ChunkWork& work) {
  for (std::uint64_t i = 0; i < work.systems.count; ++i)
    if (work.is_stage3) stage3<Real>(work.systems, i);
    else stage1<Real>(work.systems, i);
}

class HostPartitionRunner final : public PartitionRunner {
 public:
  HostPartitionRunner(const Backend<Partitions>& backend, std::span<const PartitionStep> steps)
      : PartitionRunner(backend) {
    const auto bytes = buffer_bytes(steps);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      buffers_[i] = host::Pages(bytes[i]);
      device_buffers_[i] = host::Pages(bytes[i]);
      host_[i] = buffers_[i].data();
      device_[i] = device_buffers_[i].data();
    }
  }
  std::string binding() const override { return "a thread for each stream, not bound; solutions " + lapack_.text(); }

 private:
  void set_up() override {
    if (question().type == Precision::fp64) fill<double>();
    else fill<float>();
    threads_.grow(shape().streams);
    parts_.clear();
    for (const PipelinePart& part : partition_pipeline(question().type, shape()))
      parts_.push_back(work_of(part, step(), host_, device_));
  }
  template <class Real> void fill() {
    Real* arrays[4];
    for (std::size_t i = 0; i < 4; ++i) arrays[i] = reinterpret_cast<Real*>(host_[i]);
    for (std::uint64_t i = 0; i < shape().size; ++i) {
      const Row<Real> row = row_of<Real>(i);
      arrays[0][i] = row.a;
      arrays[1][i] = row.b;
      arrays[2][i] = row.c;
      arrays[3][i] = row.d;
    }
  }
  // All that a run has to write is no number before it.
  void poison() {
    const auto bytes = buffer_bytes(std::array{step()});
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      std::memset(device_[i], 0xff, bytes[i]);
      if (i >= buffer_named("interface")) std::memset(host_[i], 0xff, bytes[i]);
    }
  }

  std::optional<PartitionSample> launch() override {
    poison();
    const Seconds begin = now();
    const Stages first = run_part(parts_[0]);
    const Seconds part_end = now();
    solve_interface(host_);
    const Seconds host_end = now();
    const Stages third = run_part(parts_[1]);
    return sample_of(now() - begin, host_end - part_end, std::array{first, third});
  }

  // The times of its stages, where they are timed.
  Stages run_part(const std::vector<ChunkWork>& part) {
    const bool by_stages = question().timed == PartitionTiming::stages;
    std::array<Seconds, 3> spent{};
    threads_.each(shape().streams, [&](std::size_t stream) {
      for (const ChunkWork& work : part) {
        if (work.stream != stream) continue;
        const Seconds begin = by_stages ? now() : Seconds{0};
        if (work.stage != Stage::kernel) std::memcpy(work.to, work.from, work.bytes);
        else if (question().type == Precision::fp64) run_kernel<double>(work);
        else run_kernel<float>(work);
        if (by_stages) spent[static_cast<std::size_t>(work.stage)] += now() - begin;  // in one stream, of one thread
      }
    });
    return {spent[0], spent[1], spent[2]};
  }

  std::optional<std::string> wrong_result() override {
    const double residual = question().type == Precision::fp64 ? residual_of<double>() : residual_of<float>();
    return wrong_solution(residual, host_[buffer_named("x")], lapack_);
  }
  template <class Real> double residual_of() const {
    const auto at = [&](const char* buffer) { return reinterpret_cast<const Real*>(host_[buffer_named(buffer)]); };
    return backward_error(at("a"), at("b"), at("c"), at("d"), at("x"), shape().size);
  }

  std::array<host::Pages, partition_buffers.size()> buffers_, device_buffers_;
  Addresses host_{}, device_{};
  std::vector<std::vector<ChunkWork>> parts_;
  Threads threads_;
  Lapack lapack_;
};

class HostPartitions final : public Backend<Partitions> {
 public:
  std::string_view name() const override { return "partition"; }
  std::string_view device_kind() const override { return "host"; }
  std::string_view summary() const override { return "tridiagonal partition method, a thread for each stream"; }
  std::optional<std::string> refuses(const PartitionStep& step) const override {
    constexpr std::uint32_t max_threads = 256;
    if (auto why = npgpu::refuses(step)) return why;
    if (step.axes.streams > max_threads)
      return fmt::format("{} streams: each is a thread here, and {} are taken", step.axes.streams, max_threads);
    return std::nullopt;
  }
  MemoryNeed needs(std::span<const PartitionStep> steps) const override {
    MemoryNeed need;
    for (const std::uint64_t bytes : buffer_bytes(steps)) need.host_bytes += 2 * bytes;
    return need;
  }
  MemoryNeed available(const PartitionCase&) const override { return {host::free_host_memory(), UINT64_MAX}; }
  std::unique_ptr<Runner<Partitions>> open(std::span<const PartitionStep> steps) const override {
    return std::make_unique<HostPartitionRunner>(*this, steps);
  }
};

}  // namespace

}  // namespace npgpu::partition

NPGPU_REGISTERED(Backend<npgpu::Partitions>, npgpu::partition::HostPartitions)

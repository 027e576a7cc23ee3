#include "probes/gemm/blas_threads.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "probes/gemm/blas.hpp"
#include "probes/gemm/gemm.hpp"

namespace npgpu {

namespace {

constexpr int size_of_search = 512;  // of the product by which the library's threads are found
constexpr Seconds length_of_search{0.03};

}  // namespace

// Threads that ended since, as those of some libraries do where the process forks, are looked for again.
void BlasThreads::take(std::uint32_t count) {
  const auto there = thread_times();
  const bool all_there = std::ranges::all_of(
      pinned_, [&](int id) { return std::ranges::find(there, id, &ThreadTime::id) != there.end(); });
  if (threads_ == count && all_there) return;
  threads_ = count;
  if (blas().set_threads) blas().set_threads(static_cast<int>(threads_));
  std::vector<float> a(size_of_search * size_of_search, 1), b = a, c = a;
  const Shape square = gemm::square(size_of_search);
  const gemm::Call call = gemm::call_of(square, gemm::all_columns(square));
  int caller = 0;
  const auto search = [&] {
    const Seconds begin = steady_clock().now();
    while (steady_clock().now() - begin < length_of_search) blas().multiply(a.data(), b.data(), c.data(), call);
  };
  each([&] {
    caller = static_cast<int>(gettid());
    search();  // the library makes its threads here, and those of a larger number fall asleep
  });
  const auto before = thread_times();
  const Seconds begin = steady_clock().now();
  each(search);
  const Seconds wall = steady_clock().now() - begin;
  pinned_ = threads_at_work(before, thread_times(), caller, wall.count(), threads_ - 1);
  for (std::size_t i = 0; i < pinned_.size(); ++i) host::pin_other_thread(pinned_[i], cpus_[i + 1]);
}

ProbeSample BlasThreads::run(const std::function<void()>& work) {
  ProbeSample sample = caller_.run([&](unsigned) { work(); });
  // The caller's own cpu is one of them.
  std::map<int, std::uint32_t> on_cpu{{static_cast<int>(cpus_.front()), sample.max_blocks_on_unit}};
  for (const int id : pinned_) ++on_cpu[host::last_cpu(id)];
  sample.units = static_cast<std::uint32_t>(on_cpu.size());
  for (const auto& [cpu, threads] : on_cpu) sample.max_blocks_on_unit = std::max(sample.max_blocks_on_unit, threads);
  return sample;
}

std::string BlasThreads::binding() const {
  return fmt::format("the library's threads, one a core: cpus {}", fmt::join(cpus_, ", "));
}

}  // namespace npgpu

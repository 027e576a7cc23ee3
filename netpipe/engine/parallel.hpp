// Independent work on all processors of this process.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace npgpu {

// Calls work(0) to work(n - 1), several at once, and returns when all are done. Throws what the first of them threw, in
// the order of their numbers.
template <class Work> void in_parallel(std::size_t n, const Work& work) {
  std::vector<std::exception_ptr> thrown(n);
  std::atomic<std::size_t> next{0};
  const auto go_on = [&] {
    for (std::size_t i = next++; i < n; i = next++) try {
        work(i);
      } catch (...) {
        thrown[i] = std::current_exception();
      }
  };
  {
    std::vector<std::jthread> others;
    const std::size_t processors = std::max(1u, std::thread::hardware_concurrency());
    for (std::size_t i = 1; i < std::min(n, processors); ++i) others.emplace_back(go_on);
    go_on();
  }
  for (const std::exception_ptr& one : thrown)
    if (one) std::rethrow_exception(one);
}

}  // namespace npgpu

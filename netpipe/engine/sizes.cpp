#include <set>

#include "npgpu/error.hpp"
#include "npgpu/schedule.hpp"

namespace npgpu {

std::vector<std::uint64_t> sweep_sizes(std::uint64_t start, std::uint64_t end, std::uint64_t p) {
  if (start < 1) throw Error(ErrorKind::usage, "--start must be at least 1 byte");
  if (end < start)
    throw Error(ErrorKind::usage,
                "--end (" + std::to_string(end) + ") is smaller than --start (" + std::to_string(start) + ")");

  std::set<std::uint64_t> sizes{start};
  const auto add = [&](std::uint64_t centre, std::uint64_t step) {
    if (centre < start || centre > end) return;
    sizes.insert(centre);
    if (p > 0 && step > p + 1) {
      if (centre - p >= start) sizes.insert(centre - p);
      if (centre + p > centre) sizes.insert(centre + p);
    }
  };
  // The step from 2^k to 1.5*2^k and from there to 2^(k+1) is 2^(k-1) both times.
  for (int k = 0; k < 64; ++k) {
    const std::uint64_t power = std::uint64_t{1} << k;
    if (power > end) break;
    const std::uint64_t step = power / 2;
    add(power, step);
    if (step > 0 && power <= end - step) add(power + step, step);
  }
  return {sizes.begin(), sizes.end()};
}

}  // namespace npgpu

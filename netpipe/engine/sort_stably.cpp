#include "netpipe/engine/sort_stably.hpp"

#include <algorithm>
#include <numeric>

namespace npgpu {

std::vector<std::size_t> places_in_order(std::size_t size,
                                         const std::function<bool(std::size_t, std::size_t)>& comes_before) {
  std::vector<std::size_t> places(size);
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return comes_before(a, b); });
  return places;
}

}  // namespace npgpu

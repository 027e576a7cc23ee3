// std::ranges::stable_sort of a vector, with the algorithm compiled once: the standard's is some 10 KB of machine code
// for each type of element. Not for what sorts in a hurry.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace npgpu {

// The places 0 to size - 1 in the order of `comes_before`; those of which neither comes first keep theirs.
std::vector<std::size_t> places_in_order(std::size_t size,
                                         const std::function<bool(std::size_t, std::size_t)>& comes_before);

template <class T, class Compare = std::ranges::less, class Projection = std::identity>
void sort_stably(std::vector<T>& all, Compare compare = {}, Projection projection = {}) {
  const auto key = [&](std::size_t place) -> decltype(auto) { return std::invoke(projection, all[place]); };
  std::vector<T> sorted;
  sorted.reserve(all.size());
  for (const std::size_t place :
       places_in_order(all.size(), [&](std::size_t a, std::size_t b) { return std::invoke(compare, key(a), key(b)); }))
    sorted.push_back(std::move(all[place]));
  all = std::move(sorted);
}

}  // namespace npgpu

// A list in which nothing stands twice.
#pragma once

#include <set>
#include <vector>

namespace npgpu {

// The first of equals, in the order in which they stand.
template <class T> std::vector<T> each_once(std::vector<T> all) {
  std::set<T> seen;
  std::erase_if(all, [&](const T& one) { return !seen.insert(one).second; });
  return all;
}

}  // namespace npgpu

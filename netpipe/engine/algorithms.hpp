// What the standard's algorithms lack: lists in which nothing stands twice, stable sorting in one place, work on all
// processors, numbers from outside, and comma-separated values.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <istream>
#include <limits>
#include <numbers>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace npgpu {

// What a foreign library says, which may say nothing.
inline std::string said(const char* text) { return text ? text : "no reason given"; }

// The first of equals, in the order in which they stand.
template <class T> std::vector<T> each_once(std::vector<T> all) {
  std::set<T> seen;
  std::erase_if(all, [&](const T& one) { return !seen.insert(one).second; });
  return all;
}

// std::ranges::stable_sort of a vector, with the algorithm compiled once: the standard's is some 10 KB of machine code
// for each type of element. Not for what sorts in a hurry.
//
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

// Reasons that a device gives for lower clocks, over many readings.
class FrequentReasons {
 public:
  void add(std::uint64_t reasons) {
    ++readings_;
    for (std::size_t bit = 0; bit < counts_.size(); ++bit) counts_[bit] += reasons >> bit & 1;
  }
  // Those that one reading in four has, or more: what was before is seen for a while. None of no readings.
  std::uint64_t value() const {
    constexpr std::uint64_t often = 4;
    std::uint64_t all = 0;
    for (std::size_t bit = 0; bit < counts_.size(); ++bit)
      if (counts_[bit] * often >= readings_) all |= std::uint64_t{readings_ > 0} << bit;
    return all;
  }

 private:
  std::array<std::uint64_t, 64> counts_{};  // readings that had each
  std::uint64_t readings_ = 0;
};

// Calls work(0) to work(n - 1), several at once on all processors of this process, and returns when all are done.
// Throws what the first of them threw, in the order of their numbers.
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

// A whole number out of a figure that may be anything: traces, specs and references come from outside. Towards zero, as
// a cast, where that is defined; the nearest there is for what is beyond, and 0 for NaN.
template <class Integer> constexpr Integer saturated(double value) {
  using Limits = std::numeric_limits<Integer>;
  // The largest integers are not doubles; what they round to is one more.
  if (value >= static_cast<double>(Limits::max())) return Limits::max();
  if (value <= static_cast<double>(Limits::min())) return Limits::min();
  return value == value ? static_cast<Integer>(value) : Integer{0};
}

// One normally distributed number of mean 0 and deviation 1, from two of `uniform()`, which gives numbers in (0, 1]
// (Box & Muller 1958; the second number of their pair is dropped).
template <class Uniform> double normal(Uniform&& uniform) {
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

// One record of comma-separated values (RFC 4180), which may go over several lines where a quoted field does; false at
// the end.
inline bool read_csv_record(std::istream& file, std::vector<std::string>& fields) {
  fields.assign(1, "");
  bool quoted = false, any = false;
  for (char c; file.get(c);) {
    any = true;
    if (quoted) {
      if (c != '"') fields.back() += c;
      else if (file.peek() == '"') fields.back() += static_cast<char>(file.get());
      else quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      fields.emplace_back();
    } else if (c == '\n') {
      return true;
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return any;
}

}  // namespace npgpu

// The two loops that time calls, whatever the API.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "npgpu/vocabulary/call.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

struct CallTimes {
  Seconds host{0};
  std::optional<Seconds> done;
  double slowed = not_measured;  // of frees
};

inline Seconds call_clock() { return std::chrono::steady_clock::now().time_since_epoch(); }

// The two timed loops, compiled for each call. `wait` returns when what `call` asked for is done; Nothing: it asks for
// nothing. `tidy` runs after each call, outside its time; alone only.
struct Nothing {
  void operator()() const {}
};
template <class Operation, class Wait = Nothing, class Tidy = Nothing>
CallTimes timed_call(Spacing spacing, std::uint64_t repeats, const Operation& call, const Wait& wait = {},
                     const Tidy& tidy = {}) {
  constexpr bool waits = !std::is_same_v<Wait, Nothing>;
  CallTimes times;
  if (spacing == Spacing::alone) {
    Seconds done{0};
    for (std::uint64_t i = 0; i < repeats; ++i) {
      const Seconds begin = call_clock();
      call();
      const Seconds returned = call_clock();
      if constexpr (waits) {
        wait();
        done += call_clock() - begin;
      }
      times.host += returned - begin;
      tidy();
    }
    if constexpr (waits) times.done = done;
  } else {
    const Seconds begin = call_clock();
    for (std::uint64_t i = 0; i < repeats; ++i) call();
    times.host = call_clock() - begin;
    if constexpr (waits) {
      wait();
      times.done = call_clock() - begin;
    }
  }
  return times;
}

}  // namespace npgpu

#include "netpipe/devices/host/quiet_core.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "netpipe/devices/host/facts.hpp"
#include "netpipe/devices/host/topology.hpp"
#include "npgpu/vocabulary/device.hpp"

namespace npgpu::host {

namespace {

constexpr double quiet = 1.25;  // between the 6.9/5.4 of busy cores and the 6.4/5.4 of a quiet one whose clock is lower
constexpr int warm_up = 40;     // loops: some 200 us, in which a core's clock has risen
constexpr std::size_t few = 4;  // cores

Seconds eight_chains() {
  constexpr int rounds = 8000;
  std::uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
  const Seconds begin = steady_clock().now();
  for (int i = 0; i < rounds; ++i) {
    a += 3, b ^= 5, c += 7, d ^= 11, e += 13, f ^= 17, g += 19, h ^= 23;
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));  // rounds stay rounds
  }
  return steady_clock().now() - begin;
}

std::string list_of(const std::vector<unsigned>& cpus) {
  const Bitmap all(hwloc_bitmap_alloc());
  for (const unsigned cpu : cpus) hwloc_bitmap_set(all.get(), cpu);
  return cpu_list(all.get());
}

}  // namespace

CoreAccess CoreAccess::of_this_thread() {
  CoreAccess access;
  const std::shared_ptr<hwloc_bitmap_s> before(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  // Where the system does not say, it could not be given back.
  if (hwloc_get_cpubind(this_machine(), before.get(), HWLOC_CPUBIND_THREAD) == 0) access.cpus = core_cpus();
  access.pin = pin_thread;
  access.unpin = [before] { hwloc_set_cpubind(this_machine(), before.get(), HWLOC_CPUBIND_THREAD); };
  access.loop = eight_chains;
  access.where = [] { return static_cast<unsigned>(std::max(0, ::sched_getcpu())); };
  static const auto least = std::make_shared<Seconds>(0);
  access.least = least;
  return access;
}

QuietCore::QuietCore(CoreAccess access) : access_(std::move(access)) {
  if (access_.cpus.empty()) {
    text_ = "on any core, quiet or not: the system does not say which there are";
  } else if (access_.cpus.size() == 1) {
    text_ = fmt::format("one core only: cpu {}", access_.cpus.front());
  } else if (!access_.pin(access_.cpus.front())) {
    text_ = fmt::format("on any core, quiet or not: the system refuses cpu {}: {}", access_.cpus.front(),
                        std::strerror(errno));
    access_.cpus.clear();
  } else {
    text_ = fmt::format("one quiet core of {} at a time", list_of(access_.cpus));
    access_.unpin();  // threads that are started before the first settle() may run where they like
  }
}

QuietCore::~QuietCore() {
  if (access_.cpus.size() > 1) access_.unpin();
}

Seconds QuietCore::timed() {
  const Seconds time = access_.loop();
  Seconds& least = *access_.least;
  least = least == Seconds{0} ? time : std::min(least, time);
  return time;
}

// The first loop on another core meets cold caches, and any may meet an interrupt.
Seconds QuietCore::timed_here() {
  const Seconds time = timed();
  return is_quiet(time) ? time : std::min(time, timed());
}

bool QuietCore::is_quiet(Seconds time) const { return time <= quiet * *access_.least; }

bool QuietCore::go_to(std::size_t core) {
  if (!access_.pin(access_.cpus[core])) return false;
  at_ = core;
  return true;
}

void QuietCore::look_at_all() {
  std::size_t best = 0;
  for (std::size_t core = 0; core < access_.cpus.size(); ++core) {
    if (!go_to(core)) continue;
    for (int i = 0; i < warm_up; ++i)
      if (const Seconds before = *access_.least; timed() < before || before == Seconds{0}) best = core;
  }
  go_to(best);
}

bool QuietCore::settle() {
  if (access_.cpus.size() < 2) {
    is_shared_ = !is_quiet(timed_here());
    return false;
  }
  const bool first = !std::exchange(is_settled_, true);
  if (*access_.least == Seconds{0}) {
    look_at_all();
  } else if (first) {
    const auto here = access_.where ? std::ranges::find(access_.cpus, access_.where()) : access_.cpus.end();
    go_to(here == access_.cpus.end() ? 0 : static_cast<std::size_t>(here - access_.cpus.begin()));
  }
  Seconds min_slow = timed_here();
  std::size_t best = at_;
  const std::size_t begin = at_, count = access_.cpus.size();
  if (!is_shared_) next_ = (begin + 1) % count;
  const std::size_t most = is_shared_ ? std::min(few, count) : count;
  for (std::size_t tried = 0; !is_quiet(min_slow) && tried < most; ++tried, next_ = (next_ + 1) % count) {
    if (next_ == begin || !go_to(next_)) continue;
    const Seconds time = timed_here();
    if (time < min_slow) min_slow = time, best = at_;
  }
  if (at_ != best) go_to(best);
  is_shared_ = !is_quiet(min_slow);
  return first || at_ != begin;
}

}  // namespace npgpu::host

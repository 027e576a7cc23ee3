#include "probes/host/threads.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <system_error>

#include "netpipe/devices/host/facts.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

namespace {

constexpr int chains_timed = 4;
constexpr int rounds = 1024, adds_of_round = 64;
constexpr int looks_for_highest = 64;
constexpr double agreement = 0.02;

// Both operands are registers: some cores add small constants while renaming, in no time at all.
void add_chain() {
  std::uint64_t x = 1;
  const std::uint64_t one = 1;
  for (int i = 0; i < rounds; ++i) {
#if defined(__x86_64__)
    asm volatile(".rept 64\n\tadd %1, %0\n\t.endr" : "+r"(x) : "r"(one) : "cc");
#elif defined(__aarch64__)
    asm volatile(".rept 64\n\tadd %0, %0, %1\n\t.endr" : "+r"(x) : "r"(one));
#endif
  }
}

constexpr unsigned spins_before_yield = 20000;  // then the awaited thread may need this very cpu

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

Seconds cpu_time_of_thread() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

}  // namespace

double core_clock_hz() {
#if defined(__x86_64__) || defined(__aarch64__)
  Seconds least{1e9};
  for (int i = 0; i < chains_timed; ++i) {
    const Seconds begin = steady_clock().now();
    add_chain();
    least = std::min(least, steady_clock().now() - begin);
  }
  return rounds * adds_of_round / least.count();
#else
  return not_measured;
#endif
}

double highest_core_clock_hz() {
  double highest = not_measured;
  for (int i = 0; i < looks_for_highest; ++i) highest = std::fmax(highest, core_clock_hz());
  return highest;
}

double steady_hz(double before, double after) {
  const double mean = (before + after) / 2;
  return std::abs(before - after) <= agreement * mean ? mean : not_measured;
}

ProbeSample sample_of(const std::vector<Turn>& turns) {
  ProbeSample sample;
  const Turn& longest = *std::ranges::max_element(turns, {}, [](const Turn& t) { return t.end - t.begin; });
  sample.host_us = microseconds(std::ranges::max_element(turns, {}, &Turn::end)->end -
                                std::ranges::min_element(turns, {}, &Turn::begin)->begin);
  sample.cycles = longest.ran.count() * longest.hz;

  std::map<int, std::uint32_t> blocks_on;
  for (const Turn& turn : turns) {
    if (turn.cpu_before < 0 || turn.cpu_after < 0) return sample;  // units are not known
    ++blocks_on[turn.cpu_before];
    if (turn.cpu_after != turn.cpu_before) ++blocks_on[turn.cpu_after];
  }
  sample.units = static_cast<std::uint32_t>(blocks_on.size());
  for (const auto& [cpu, blocks] : blocks_on) sample.max_blocks_on_unit = std::max(sample.max_blocks_on_unit, blocks);
  return sample;
}

PinnedThreads::PinnedThreads(const std::vector<unsigned>& cpus) : members_(cpus.size()) {
  try {
    for (unsigned i = 0; i < members_.size(); ++i)
      members_[i].thread = std::thread([this, i, cpu = cpus[i]] { live(members_[i], i, cpu); });
  } catch (const std::system_error& error) {
    join_all();
    throw Error(ErrorKind::failed, fmt::format("no thread for each of {} cores: {}", cpus.size(), error.what()));
  }
  each([](unsigned) {});  // all are pinned once they have answered
  const bool pinned = std::all_of(members_.begin(), members_.end(), [](const Member& m) { return m.pinned; });
  binding_ =
      fmt::format("{}: cpus {}", pinned ? "one thread a core" : "not bound, the system refuses", fmt::join(cpus, ", "));
}

PinnedThreads::~PinnedThreads() { join_all(); }

void PinnedThreads::join_all() {
  {
    const std::lock_guard lock(mutex_);
    leave_ = true;
  }
  wake_.notify_all();
  for (Member& member : members_)
    if (member.thread.joinable()) member.thread.join();
}

void PinnedThreads::live(Member& self, unsigned block, unsigned cpu) {
  self.pinned = host::pin_thread(cpu);
  for (std::uint64_t seen = 0;;) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return leave_ || rounds_ != seen; });
    if (leave_) return;
    seen = rounds_;
    const auto& work = *work_;
    const bool timed = timed_;
    lock.unlock();
    if (timed) self.turn = timed_turn(block, work);
    else work(block);
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

Turn PinnedThreads::timed_turn(unsigned block, const std::function<void(unsigned)>& work) {
  Turn turn;
  const double hz_before = core_clock_hz();
  meet();
  turn.cpu_before = sched_getcpu();
  const Seconds ran_before = cpu_time_of_thread();
  turn.begin = steady_clock().now();
  work(block);
  turn.end = steady_clock().now();
  turn.ran = std::min(cpu_time_of_thread() - ran_before, turn.end - turn.begin);
  turn.cpu_after = sched_getcpu();
  turn.hz = steady_hz(hz_before, core_clock_hz());
  return turn;
}

void PinnedThreads::meet() {
  arrived_.fetch_add(1);
  for (unsigned spins = 0; arrived_.load(std::memory_order_acquire) < members_.size(); ++spins) {
    if (spins < spins_before_yield) pause_briefly();
    else std::this_thread::yield();
  }
}

ProbeSample PinnedThreads::round(const std::function<void(unsigned)>& work, bool timed) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  timed_ = timed;
  arrived_ = 0;
  busy_ = size();
  ++rounds_;
  wake_.notify_all();
  done_.wait(lock, [&] { return busy_ == 0; });
  if (!timed) return {};
  std::vector<Turn> turns;
  for (const Member& m : members_) turns.push_back(m.turn);
  return sample_of(turns);
}

}  // namespace npgpu

// In which order unlike jobs end soonest: a flow shop of three machines, copy in, kernel and copy out, whose times come
// from the simulation. Beyond two machines the problem is NP-hard, so that long lists are searched, not solved.
#include <algorithm>
#include <numeric>

#include "npgpu/error.hpp"
#include "npgpu/sequence.hpp"

namespace npgpu {

namespace {

using JobOrder = std::vector<std::size_t>;

constexpr std::size_t few_enough = 7;      // 5040 orders
constexpr std::size_t max_tried = 20'000;  // orders simulated of a long list
constexpr std::size_t max_work = 500'000;  // chunks in all of them: half a second or less
constexpr double sooner = 1 - 1e-9;        // less is rounding

class OrderSearch {
 public:
  OrderSearch(std::span<const PlannedJob> jobs, const StreamCosts& costs) : jobs_(jobs), costs_(costs) {}
  std::size_t tried() const { return tried_; }
  const JobOrder& best() const { return best_; }

  // Of all jobs, or of those named only. An order of all that ends sooner than any before is the best then.
  double total(const JobOrder& order) {
    std::vector<PlannedJob> planned;
    for (const std::size_t job : order) planned.push_back(jobs_[job]);
    const double time = simulate_sequence(planned, costs_).total.count();
    ++tried_;
    for (const PlannedJob& one : planned) work_ += one.chunks;
    if (order.size() == jobs_.size() && (best_.empty() || time < sooner * best_time_)) best_time_ = time, best_ = order;
    return time;
  }
  void try_all() {
    JobOrder order = given();
    do total(order);
    while (std::next_permutation(order.begin(), order.end()));
  }
  void search() {
    total(given());
    total(by_johnson());
    if (work_of_insertion() < max_work) total(by_insertion());
    while (has_time() && improve()) {
    }
  }
  JobOrder given() const {
    JobOrder order(jobs_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    return order;
  }

 private:
  // Each job at all places of the order so far, which has a third of all chunks on average.
  double work_of_insertion() const {
    double chunks = 0;
    for (const PlannedJob& one : jobs_) chunks += one.chunks;
    return static_cast<double>(jobs_.size() * jobs_.size()) / 3 * chunks;
  }
  bool has_time() const { return tried_ < max_tried && work_ < max_work; }
  Stages whole(std::size_t job) const { return chunk_times(jobs_[job].job, 1, costs_); }
  // Two machines: copy in and kernel, kernel and copy out.
  JobOrder by_johnson() const {
    JobOrder first, last;
    for (const std::size_t job : given()) {
      const Stages t = whole(job);
      (t.h2d < t.d2h ? first : last).push_back(job);
    }
    std::ranges::stable_sort(first, {}, [&](std::size_t job) { return whole(job).h2d + whole(job).kernel; });
    std::ranges::stable_sort(last, std::greater<>(),
                             [&](std::size_t job) { return whole(job).kernel + whole(job).d2h; });
    first.insert(first.end(), last.begin(), last.end());
    return first;
  }
  // The longest job first, each other one where it lengthens the rest least.
  JobOrder by_insertion() {
    JobOrder jobs = given(), order;
    std::ranges::stable_sort(jobs, std::greater<>(), [&](std::size_t job) { return whole(job).sum(); });
    for (const std::size_t job : jobs) {
      JobOrder least;
      double time = 0;
      for (std::size_t at = 0; at <= order.size(); ++at) {
        JobOrder tried = order;
        tried.insert(tried.begin() + static_cast<std::ptrdiff_t>(at), job);
        const double t = total(tried);
        if (least.empty() || t < sooner * time) time = t, least = tried;
      }
      order = least;
    }
    return order;
  }
  // The first better order that moving one job or swapping two gives.
  bool improve() {
    const JobOrder from = best_;
    const auto found = [&](const JobOrder& order) {
      total(order);
      return best_ != from;
    };
    for (std::size_t a = 0; a < from.size(); ++a)
      for (std::size_t b = 0; b < from.size() && has_time(); ++b) {
        if (a == b) continue;
        JobOrder moved = from;
        moved.erase(moved.begin() + static_cast<std::ptrdiff_t>(a));
        moved.insert(moved.begin() + static_cast<std::ptrdiff_t>(b), from[a]);
        if (found(moved)) return true;
        JobOrder swapped = from;
        std::swap(swapped[a], swapped[b]);
        if (a < b && found(swapped)) return true;
      }
    return false;
  }

  std::span<const PlannedJob> jobs_;
  const StreamCosts& costs_;
  JobOrder best_;
  double best_time_ = 0;
  std::size_t tried_ = 0, work_ = 0;
};

}  // namespace

SequenceAdvice best_order(std::span<const PlannedJob> jobs, const StreamCosts& costs) {
  if (jobs.empty()) throw Error(ErrorKind::usage, "no job to put in an order");
  OrderSearch search(jobs, costs);
  SequenceAdvice a;
  a.all = jobs.size() <= few_enough;
  if (a.all) search.try_all();
  else search.search();
  a.order = search.best();
  a.tried = search.tried();
  a.given = simulate_sequence(jobs, costs);
  std::vector<PlannedJob> ordered;
  for (const std::size_t job : a.order) ordered.push_back(jobs[job]);
  a.run = simulate_sequence(ordered, costs);
  for (const PlannedJob& one : jobs) a.apart += simulate_total(one.job, one.chunks, costs, one.order).total;
  return a;
}

}  // namespace npgpu

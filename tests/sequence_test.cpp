// Unlike jobs one after the other, with times that can be added up by hand.
#include "npgpu/sequence.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "npgpu/error.hpp"

namespace sequence_test {

using namespace npgpu;

namespace {

// 1 kB takes 1 us either way.
StreamCosts plain() {
  StreamCosts costs;
  costs.copy_h2d = costs.copy_d2h = Curve::line(Seconds{0}, Seconds{1e-9});
  return costs;
}

// So many us on each of the three.
PlannedJob job(double in, double kernel, double out, std::uint32_t chunks = 1) {
  return {"",
          {.in_bytes = static_cast<std::uint64_t>(in * 1000),
           .out_bytes = static_cast<std::uint64_t>(out * 1000),
           .kernel = from_microseconds(kernel)},
          chunks};
}

double total_us(const std::vector<PlannedJob>& jobs, const StreamCosts& costs = plain()) {
  return microseconds(simulate_sequence(jobs, costs).total);
}

}  // namespace

TEST_CASE("two jobs overlap: the second is copied in while the first computes") {
  // In 0-10 and 10-30; kernels 10-40 and 40-45; out 40-45 and 45-55.
  const std::vector<PlannedJob> two{job(10, 30, 5), job(20, 5, 10)};
  const SequenceRun run = simulate_sequence(two, plain());
  CHECK(microseconds(run.total) == doctest::Approx(55));
  REQUIRE(run.ends.size() == 2);
  CHECK(microseconds(run.ends[0]) == doctest::Approx(45));
  CHECK(microseconds(run.ends[1]) == doctest::Approx(55));
  CHECK(microseconds(run.busy.copy_in) == doctest::Approx(30));
  CHECK(microseconds(run.busy.compute) == doctest::Approx(35));
  // The other way round: in 0-20 and 20-30; kernels 20-25 and 30-60; out 25-35 and 60-65.
  CHECK(total_us({two[1], two[0]}) == doctest::Approx(65));
}

TEST_CASE("one job alone is what the other simulator says, split or not, with all its costs") {
  StreamCosts costs = plain();
  costs.issue = {Seconds{2.13e-6}, Seconds{5.31e-6}, Seconds{3.17e-6}};  // no operation ends as another is issued
  costs.gap = {Seconds{1e-6}, Seconds{2e-6}, Seconds{1.5e-6}};
  SUBCASE("a latency that all are charged") {}
  SUBCASE("a latency of those that wait only") { costs.latency_of_waiting_only = true; }
  costs.latency = {Seconds{4e-6}, Seconds{6e-6}, Seconds{1e-6}};
  costs.submit = Seconds{7e-6};
  costs.duplex_slowdown_h2d = 1.06;
  costs.duplex_slowdown_d2h = 1.09;
  costs.duplex_extra_gap = Seconds{0.5e-6};
  costs.gap_ahead_of_kernel = Seconds{1.1e-6};
  costs.gap_behind_kernel = Seconds{0.4e-6};
  SUBCASE("calls that always take as long") {}
  SUBCASE("calls that vary") { costs.call_factors = {0.83, 0.91, 1.07, 1.13, 1.41}; }
  for (const int engines : {1, 2})
    for (const Compute compute : {Compute::shared, Compute::serial})
      for (const Order order : {Order::breadth_first, Order::depth_first})
        for (const std::uint32_t n : {1u, 2u, 5u, 16u})
          for (const double length : {1.0, 0.02}) {  // of the shorter, operations are over before the next is issued
            costs.copy_engines = engines;
            costs.compute = compute;
            PlannedJob one = job(400 * length, 300 * length, 200 * length, n);
            one.order = order;
            CAPTURE(n);
            CAPTURE(engines);
            CHECK(total_us({one}, costs) ==
                  doctest::Approx(microseconds(simulate_total(one.job, n, costs, order).total)).epsilon(1e-9));
          }
}

TEST_CASE("kernels that leave room run beside each other, those that need the device do not") {
  PlannedJob half = job(0, 100, 0);
  half.job.blocks = 10;
  half.job.slots = 20;
  // One wave takes 100 us whatever its blocks; ten of twenty slots are half of the device.
  CHECK(total_us({half, half}) <= 200);
  CHECK(total_us({job(0, 100, 0), job(0, 100, 0)}) == doctest::Approx(200));
}

TEST_CASE("the best of two orders is found, with both totals, and each job waited for is slower") {
  const std::vector<PlannedJob> bad{job(20, 5, 10), job(10, 30, 5)};
  const SequenceAdvice a = best_order(bad, plain());
  CHECK(a.order == std::vector<std::size_t>{1, 0});
  CHECK(microseconds(a.run.total) == doctest::Approx(55));
  CHECK(microseconds(a.given.total) == doctest::Approx(65));
  CHECK(microseconds(a.apart) == doctest::Approx(80));
  CHECK(a.all);
  CHECK(a.tried == 2);
  CHECK_THROWS_AS(best_order({}, plain()), Error);
}

TEST_CASE("Johnson's rule is optimal for two machines: a long list of copies in and kernels") {
  // Without copies out the makespan of Johnson's order is a lower bound of all orders (Johnson 1954).
  std::mt19937_64 random(7);
  std::vector<PlannedJob> jobs;
  for (int i = 0; i < 12; ++i)
    jobs.push_back(job(1 + static_cast<double>(random() % 50), 1 + static_cast<double>(random() % 50), 0));
  std::vector<PlannedJob> first, last;
  const auto in = [](const PlannedJob& j) { return static_cast<double>(j.job.in_bytes) / 1000; };
  const auto kernel = [](const PlannedJob& j) { return microseconds(j.job.kernel); };
  for (const PlannedJob& j : jobs) (in(j) < kernel(j) ? first : last).push_back(j);
  std::ranges::sort(first, {}, in);
  std::ranges::sort(last, std::greater<>(), kernel);
  first.insert(first.end(), last.begin(), last.end());
  const SequenceAdvice a = best_order(jobs, plain());
  CHECK_FALSE(a.all);
  CHECK(microseconds(a.run.total) == doctest::Approx(total_us(first)));
  CHECK(a.run.total <= a.given.total);
}

TEST_CASE("three machines: no order of seven is better than the one found, and longer lists are no worse than given") {
  std::mt19937_64 random(3);
  const auto made = [&](int count) {
    std::vector<PlannedJob> jobs;
    for (int i = 0; i < count; ++i)
      jobs.push_back(job(static_cast<double>(1 + random() % 40), static_cast<double>(1 + random() % 40),
                         static_cast<double>(1 + random() % 40)));
    return jobs;
  };
  const auto few = made(6);
  const SequenceAdvice a = best_order(few, plain());
  std::vector<std::size_t> order(few.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  double least = 1e9;
  do {
    std::vector<PlannedJob> jobs;
    for (const std::size_t i : order) jobs.push_back(few[i]);
    least = std::min(least, total_us(jobs));
  } while (std::next_permutation(order.begin(), order.end()));
  CHECK(a.tried == 720);
  CHECK(microseconds(a.run.total) == doctest::Approx(least));

  const auto many = made(25);
  const SequenceAdvice b = best_order(many, plain());
  CHECK_FALSE(b.all);
  CHECK(b.run.total < b.given.total);
  auto sorted = b.order;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) CHECK(sorted[i] == i);
  // Not below what the busiest machine has to do, with the least before and behind it.
  double work[3] = {0, 0, 0};
  for (const PlannedJob& j : many) {
    const Stages t = chunk_times(j.job, 1, plain());
    work[0] += microseconds(t.h2d), work[1] += microseconds(t.kernel), work[2] += microseconds(t.d2h);
  }
  CHECK(microseconds(b.run.total) >= *std::max_element(work, work + 3));
}

}  // namespace sequence_test

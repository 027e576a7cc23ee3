// Models of the literature for a job, and what they choose, in numbers that can be checked by hand.
#include <doctest/doctest.h>

#include "made_chunks.hpp"
#include "made_jobs.hpp"
#include "npgpu/model/advice.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace closed_forms_test {

using namespace npgpu;

namespace {

const std::vector<std::uint32_t> counts = stream_counts(64);

ModelInputs inputs(double h2d, double kernel, double d2h) {
  ModelInputs in{ms(h2d, kernel, d2h)};
  in.t_sc = Seconds{1e-4};
  in.gap = Seconds{5e-5};
  in.unsplit = in.whole.sum();
  return in;
}

}  // namespace

TEST_CASE("each model's number of streams: by its equation, or where its time is the least") {
  const ModelInputs in = inputs(6, 8, 10);
  const auto chosen = [&](StreamModel model) { return choice_of(model, in, counts); };
  CHECK(chosen(StreamModel::best_practices).streams == 64);  // 16 + 8/n
  CHECK(in_ms(chosen(StreamModel::best_practices).time) == doctest::Approx(16.125));
  CHECK_FALSE(chosen(StreamModel::best_practices).optimum);
  CHECK(*chosen(StreamModel::cc1).optimum == doctest::Approx(2));  // (2): 16/(16 - 8)
  CHECK(chosen(StreamModel::cc1).streams == 2);
  CHECK(in_ms(chosen(StreamModel::cc1).time) == doctest::Approx(16.2));
  // (8): sqrt(6/0.1) = 7.7; with 7 it is 19.557 ms, with 8 19.55.
  CHECK(*chosen(StreamModel::cc2).optimum == doctest::Approx(7.746).epsilon(1e-4));
  CHECK(chosen(StreamModel::cc2).streams == 8);
  CHECK(in_ms(chosen(StreamModel::cc2).time) == doctest::Approx(19.55));
  // 10 + 14/n + (n - 1) 0.05: sqrt(14/0.05) = 16.7.
  CHECK(chosen(StreamModel::van_werkhoven).streams == 17);
  CHECK(in_ms(chosen(StreamModel::van_werkhoven).time) == doctest::Approx(10 + 14.0 / 17 + 0.8));
  CHECK(chosen(StreamModel::cc1).times.size() == 64);
  CHECK(in_ms(chosen(StreamModel::cc1).times[0]) == doctest::Approx(24.1));  // 8 + 16 + 0.1
}

TEST_CASE("Gomez-Luna et al. 2012: (2) is not an optimum where kernel and transfers are alike") {
  const ModelInputs in = inputs(6, 15.9, 10);
  const StreamModelChoice printed = choice_of(StreamModel::cc1, in, stream_counts(256)),
                          corrected = choice_of(StreamModel::cc1_corrected, in, stream_counts(256));
  CHECK(*printed.optimum == doctest::Approx(160));
  CHECK(in_ms(printed.time) == doctest::Approx(32));  // 16 + 160 * 0.1
  CHECK(*corrected.optimum == doctest::Approx(12.649).epsilon(1e-4));
  CHECK(corrected.streams == 13);
  CHECK(corrected.time == *std::ranges::min_element(corrected.times));
  // Beyond the candidates the last one counts, also where streams cost nothing.
  CHECK(choice_of(StreamModel::cc1, in, counts).streams == 64);
  ModelInputs free = inputs(6, 20, 10);
  free.t_sc = Seconds{0};
  CHECK(choice_of(StreamModel::cc1_corrected, free, counts).streams == 64);
}

TEST_CASE("Veneva & Imamura 2025: (7) is found again from jobs that follow it") {
  // 1 B takes 1 ns each way, and the kernel as long as a copy. 2e-5 us a byte, 30 us log10 n, and 7 us are left.
  const auto us_of = [](double x, double n) {
    return 3 * x - (n - 1) / n * 2 * x + (n > 1 ? 2e-5 * 2000 * x + 30 * std::log10(n) + 7 : 0);
  };
  JobSeries series = jobs_of();
  for (int i = 1; i <= 10; ++i)
    for (const std::uint32_t n : {1u, 2u, 4u, 8u}) add_job(series, split_job(100'000 * i, n, n), {us_of(100.0 * i, n)});
  Trace trace;
  trace.of<Jobs>().push_back(series);
  const MeasuredCosts costs = plain_costs();
  std::vector<MeasuredWorkload> workloads = workloads_of(trace);
  REQUIRE(workloads.size() == 10);
  const auto fit = fit_overheads(workloads, costs);
  REQUIRE(fit);
  CHECK(fit->small[0] == doctest::Approx(2e-5));
  CHECK(fit->small[1] == doctest::Approx(30));
  CHECK(fit->small[2] == doctest::Approx(7));
  const Job job{.in_bytes = 200'000, .out_bytes = 200'000, .kernel = Seconds{200e-6}};
  const ModelInputs in = model_inputs(job, costs, fit);
  CHECK(microseconds(time_of(StreamModel::veneva_small, in, 4)) == doctest::Approx(us_of(200, 4)));
  CHECK(microseconds(time_of(StreamModel::veneva_small, in, 1)) == doctest::Approx(600));
  workloads.pop_back();
  CHECK_FALSE(fit_overheads(workloads, costs));  // too few
}

TEST_CASE("chunks of whole items: all as many, or the last one with one less") {
  std::vector<std::uint64_t> whole;
  for (std::uint64_t n = 1; n <= 30; ++n)
    if (keeps_items_whole(24, n)) whole.push_back(n);
  CHECK(whole == std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 8, 12, 24});  // 5 of 25
  CHECK(keeps_items_whole(97, 49));                                         // 48 of two, and one of one
  CHECK_FALSE(keeps_items_whole(97, 3));
  CHECK(keeps_items_whole(0, 7));  // no items
}

}  // namespace closed_forms_test

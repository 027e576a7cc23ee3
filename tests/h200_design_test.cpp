// A real H200: costs from one trace, 205 workloads from another, used to fit nothing. Holds what predictions are good
// for.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "npgpu/advice.hpp"
#include "score.hpp"

namespace h200_design_test {

using namespace npgpu;

namespace {

Trace kept(const char* name) { return read_trace(std::filesystem::path(NPGPU_SOURCE_DIR) / "data/traces" / name); }

}  // namespace

TEST_CASE("a real H200: its costs, and 205 workloads predicted from them") {
  const auto costs = stream_costs(kept("h200_streams.h5"));
  REQUIRE(costs.size() == 1);
  CHECK(costs[0].usable);
  CHECK(costs[0].costs.copy_engines == 2);
  CHECK(costs[0].costs.queues.h2d == 4);
  CHECK(costs[0].costs.queues.kernel == 8);  // CUDA_DEVICE_MAX_CONNECTIONS is not set
  CHECK(costs[0].costs.queues.d2h == 4);
  REQUIRE(costs[0].kernels.size() == 3);
  for (const KernelTimes& kernel : costs[0].kernels)
    CHECK(kernel.oldest_first == (kernel.workload == Workload::compute ? 1 : 0));
  CHECK(costs[0].costs.copy_h2d(64.0 * MiB).count() == doctest::Approx(64.0 * MiB / 55.5e9).epsilon(0.01));

  const auto workloads = workloads_of(kept("h200_design.h5"));
  CHECK(workloads.size() == 205);
  const Evaluation e = evaluate(workloads, costs[0]);
  const ModelScore& ours = e.models.front();
  CHECK(ours.fitted == 0);
  CHECK(ours.error.median <= 0.03);
  CHECK(ours.error.p95 <= 0.10);
  CHECK(ours.regret.median <= 0.01);
  CHECK(ours.regret.p95 <= 0.03);
  // What is advised, the fewest streams within 1 % of the best predicted, costs no more than this.
  CHECK(ours.advised_regret.median <= 0.015);
  CHECK(ours.advised_regret.p95 <= 0.04);
  // The errors that predictions are printed with are these. Where they are not, these belong into
  // netpipe/model/jobs/known_errors.cpp.
  Evaluation all = e;
  const auto small = stream_costs(kept("h200_small_streams.h5"));
  REQUIRE(small.size() == 1);
  const Evaluation more = evaluate(workloads_of(kept("h200_small_design.h5")), small[0]);
  all.workloads.insert(all.workloads.end(), more.workloads.begin(), more.workloads.end());
  const ModelErrors now = errors_by_length(all, "now"), &known = known_errors();
  REQUIRE(now.classes.size() == known.classes.size());
  for (std::size_t i = 0; i < now.classes.size(); ++i) {
    const Spread& error = now.classes[i].error;
    CAPTURE(i);
    CAPTURE(now.classes[i].workloads);
    CAPTURE(error.median);
    CAPTURE(error.p95);
    CAPTURE(error.most);
    CHECK(known.classes[i].workloads == now.classes[i].workloads);
    CHECK(std::abs(known.classes[i].error.median / now.classes[i].error.median - 1) < 0.1);
    CHECK(std::abs(known.classes[i].error.p95 / now.classes[i].error.p95 - 1) < 0.1);
    CHECK(std::abs(known.classes[i].error.most / now.classes[i].error.most - 1) < 0.1);
  }
  CHECK(costs[0].costs.gap_behind_kernel.count() == doctest::Approx(0.45e-6).epsilon(0.05));
  // No model of the literature is nearer to the times, the fitted ones included.
  for (const ModelScore& m : e.models) {
    if (m.model.starts_with("simulator")) continue;
    CAPTURE(m.model);
    CHECK_FALSE(m.error.median < ours.error.median);
    CHECK_FALSE(m.error.p95 < ours.error.p95);
  }
  CHECK(score(e, "n = 1").regret.median > 0.1);
}

// Costs with the gap ahead of kernels and with longer kernels of few warps, and jobs that other H200s ran on other
// days.
TEST_CASE("a real H200: costs of one predict jobs of others") {
  const auto costs = stream_costs(kept("h200_blind_costs_5.h5"));
  REQUIRE(costs.size() == 1);
  CHECK(costs[0].missing.empty());
  CHECK(costs[0].costs.gap_ahead_of_kernel.count() == doctest::Approx(1.13e-6).epsilon(0.05));
  const auto compute = std::ranges::find(costs[0].kernels, Workload::compute, &KernelTimes::workload);
  REQUIRE(compute != costs[0].kernels.end());
  const auto share = [&](double blocks) {
    return (compute->time_of_many(blocks) - compute->time_of_few(blocks)) /
           (compute->time_of_many(1) - compute->time_of_few(1));
  };
  // A multiprocessor's four schedulers have 1 to 4 warps each. 64 iterations alone say 0.82 in place of 0.7.
  CHECK(share(0.25) == doctest::Approx(0.3).epsilon(0.05));
  CHECK(share(0.5) == doctest::Approx(0.47).epsilon(0.05));
  CHECK(share(0.75) == doctest::Approx(0.7).epsilon(0.05));
  for (const char* design : {"h200_blind_design.h5", "h200_placed_design.h5", "h200_blind_design_2.h5",
                             "h200_blind_design_3.h5", "h200_blind_design_4.h5"}) {
    CAPTURE(design);
    const Evaluation e = evaluate(workloads_of(kept(design)), costs[0]);
    CHECK(e.models.front().error.median <= 0.02);
    CHECK(e.models.front().error.p95 <= 0.08);
    CHECK(e.models.front().regret.median <= 0.003);
    CHECK(e.models.front().cross_validated.mean <= 0.01);
  }
}

// Measured in turn on one H200 whose host was quiet, with a seed that the model had not seen; and its costs with the
// jobs of another one.
TEST_CASE("a real H200: a blind test on a quiet host") {
  const auto costs = stream_costs(kept("h200_blind_costs_6.h5"));
  REQUIRE(costs.size() == 1);
  CHECK(costs[0].missing.empty());
  REQUIRE(costs[0].costs.call_factors.size() == 9);
  CHECK(std::ranges::is_sorted(costs[0].costs.call_factors));
  CHECK(costs[0].costs.call_factors[4] == doctest::Approx(1).epsilon(0.001));
  CHECK(costs[0].costs.call_factors[8] - costs[0].costs.call_factors[0] == doctest::Approx(0.22).epsilon(0.15));
  const Evaluation own = evaluate(workloads_of(kept("h200_blind_design_6.h5")), costs[0]);
  CHECK(own.workloads.size() == 100);
  CHECK(own.models.front().error.median <= 0.013);
  CHECK(own.models.front().error.p95 <= 0.06);
  CHECK(own.models.front().regret.median <= 0.003);
  CHECK(own.calls.value == doctest::Approx(1).epsilon(0.01));
  const Evaluation others = evaluate(workloads_of(kept("h200_blind_design_7.h5")), costs[0]);
  CHECK(others.models.front().error.median <= 0.015);
  CHECK(others.models.front().error.p95 <= 0.08);
}

// The same jobs in two runs on one H200. Costs of another one choose for small jobs as well as the other run's times
// do.
TEST_CASE("a real H200: small jobs measured twice") {
  const auto costs = stream_costs(kept("h200_blind_costs_6.h5"));
  const Evaluation first = evaluate(workloads_of(kept("h200_again_a.h5")), costs[0]),
                   second = evaluate(workloads_of(kept("h200_again_b.h5")), costs[0]);
  std::vector<double> measured, predicted;
  for (const WorkloadScore& w : second.workloads) {
    const JobShape& job = w.workload.job;
    if (job.bytes_in + job.bytes_out >= MiB) continue;
    const auto other = std::ranges::find_if(first.workloads, [&](const WorkloadScore& o) {
      return o.workload.question == w.workload.question && o.workload.job.bytes_in == job.bytes_in &&
             o.workload.job.bytes_out == job.bytes_out;
    });
    REQUIRE(other != first.workloads.end());
    const auto at = std::ranges::find(w.workload.streams, other->best) - w.workload.streams.begin();
    const auto least = std::ranges::min(w.workload.time_us, {}, &Estimate::value).value;
    measured.push_back(w.workload.time_us.at(static_cast<std::size_t>(at)).value / least - 1);
    predicted.push_back(w.simulator().regret);
  }
  CHECK(measured.size() == 32);
  CHECK(spread_of(measured).p95 == doctest::Approx(0.057).epsilon(0.02));
  CHECK(spread_of(predicted).p95 <= spread_of(measured).p95 + 1e-3);
  CHECK(spread_of(predicted).median <= 0.001);
}

// 131 blocks of `increment`, 27 ms with one on each of 132 multiprocessors. In 5 or 8 chunks they are 135 or 136
// blocks, some multiprocessors have two, and the job takes 66 ms in place of 30.
TEST_CASE("a real H200: blocks stay on the multiprocessor where they were placed") {
  const auto costs = stream_costs(kept("h200_blind_costs_2.h5"));
  REQUIRE(costs.size() == 1);
  const Evaluation e = evaluate(workloads_of(kept("h200_placed_design.h5")), costs[0]);
  CHECK(e.workloads.size() == 100);
  CHECK(e.models.front().error.median <= 0.02);
  // The costs are from another machine's host, whose calls took longer.
  CHECK(e.calls.value == doctest::Approx(0.95).epsilon(0.01));
  REQUIRE(e.models.at(1).model == "simulator, host as it was");
  CHECK(e.models[1].error.p95 <= 0.08);
  const auto as_fast = stream_costs(kept("h200_run_b.h5"));  // of a host with calls as fast as these jobs'
  REQUIRE(as_fast.size() == 1);
  CHECK(evaluate(workloads_of(kept("h200_placed_design.h5")), as_fast[0]).models.front().error.p95 <= 0.07);
  const auto found =
      std::ranges::find(e.workloads, 131u * 2048u, [](const WorkloadScore& w) { return w.workload.job.kernel_bytes; });
  REQUIRE(found != e.workloads.end());
  for (std::size_t i = 0; i < found->workload.streams.size(); ++i) {
    const std::uint32_t n = found->workload.streams[i];
    const double predicted = found->simulator().predicted_us[i], measured = found->workload.time_us[i].value;
    CAPTURE(n);
    if (n == 1 || n == 2 || n == 3 || n == 4 || n == 6 || n == 11 || n == 12) CHECK(measured < 31e3);
    if (n == 5 || n == 8) CHECK(measured > 60e3);
    if (n <= 6 || n == 8 || n == 11 || n == 12) CHECK(predicted == doctest::Approx(measured).epsilon(0.05));
  }
}

}  // namespace h200_design_test

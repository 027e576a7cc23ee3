// Plans: what is left out, how long they take, and which points are visited again.
#include "tests/made_campaign.hpp"

namespace plan_test {

using namespace made_campaign;
using namespace npgpu;
using namespace npgpu::cli;

TEST_CASE("each reason to leave something out is told once, with the number of points") {
  Made made;
  const MadeBackend backend(made);
  Plan plan;
  add<Jobs>(plan, backend, made_device(),
            {step(Workload::memory, 1), step(Workload::memory, 128), step(Workload::memory, 256)});
  REQUIRE(plan.left_out.size() == 1);
  CHECK(plan.left_out[0] == "jobs made:0 memory breadth-first pooled: too many streams (and 1 more point)");
  CHECK(plan.points() == 1);
  CHECK(plan.cases() == 1);
  add<Jobs>(plan, backend, made_device(), {step(Workload::memory, 128)});
  CHECK(plan.left_out.back() == "jobs made:0 memory breadth-first pooled: too many streams");
}

TEST_CASE("a batch that needs more memory than is free is left out, with what would help") {
  Made made;
  const MadeBackend backend(made, {2 * GiB, 0});
  Plan plan;
  add<Jobs>(plan, backend, made_device(), {step(Workload::memory, 1)});
  REQUIRE(plan.left_out.size() == 1);
  CHECK(plan.left_out[0] ==
        "jobs made:0 memory breadth-first pooled: needs 2 GiB of host memory, and 1 GiB are free: measure smaller "
        "jobs (--bytes-in, --bytes-out)");
  CHECK(plan.points() == 0);
  const MadeBackend all_of_it(made, {GiB, GiB});
  add<Jobs>(plan, all_of_it, made_device(), {step(Workload::memory, 1)});
  CHECK(plan.points() == 1);
}

TEST_CASE("the guess of the time stays between a point's least trials and its budget") {
  Made made;
  const MadeBackend backend(made);
  DeviceInfo host = made_device();
  host.simulated = false;
  host.id = "host";
  const Batch<Jobs> batch{&backend, host, {step(Workload::memory, 1)}, {}};
  Repetition how{.is_classic = false, .classic = {}, .adaptive = {}};
  const double guessed = campaign::guess(batch, batch.steps[0], how).count();
  CHECK(guessed > how.adaptive.trial.count() * how.adaptive.min_trials);
  CHECK(guessed < how.adaptive.budget.count());
  host.simulated = true;
  CHECK(campaign::guess(Batch<Jobs>{&backend, host, batch.steps, {}}, batch.steps[0], how).count() < 0.01);
}

TEST_CASE(
    "the guess of a whole plan: GPUs that measure side by side take as long as the slowest, and the host comes on "
    "top") {
  Made made;
  const MadeBackend backend(made);
  MeasureOptions options = options_for("never.h5");
  const auto guessed = [&](std::initializer_list<std::pair<const char*, std::uint32_t>> devices, bool side_by_side) {
    Plan plan;
    for (const auto& [id, points] : devices) {
      DeviceInfo device = made_device();
      device.id = id;
      std::vector<JobStep> steps;
      for (std::uint32_t chunks = 1; chunks <= points; ++chunks) steps.push_back(step(Workload::memory, chunks));
      add<Jobs>(plan, backend, device, steps);
    }
    options.side_by_side = side_by_side;
    return guess(plan, options).count();
  };
  const double one = guessed({{"made:0", 1}}, false);
  REQUIRE(one > 0);
  for (const auto& [side_by_side, points] : {std::pair{false, 6}, {true, 5}})
    CHECK(guessed({{"made:0", 1}, {"made:1", 3}, {"host", 2}}, side_by_side) == doctest::Approx(points * one));
}

TEST_CASE("converged is what has its published interval within the tolerance, and visits go where they narrow it") {
  Repetition how{.is_classic = false, .classic = {}, .adaptive = {}, .rounds = 6};
  const ByVisit steady{{5}, {5.001}, {4.999}, {5}, {5}, {5}}, wide{{5}, {5.3}, {4.7}, {5.1}, {4.9}, {5}};
  const DriftByTime none{}, much{{0.02, 0.02, 0.02, 0.02}}, more{{0.1, 0.1, 0.1, 0.1}};
  CHECK(how.standing(Stop::not_converged, steady, none).stop == Stop::converged);
  // Half a width of 3.9 %, that every visit of the class shares.
  const auto shared = how.standing(Stop::converged, steady, much);
  CHECK(shared.stop == Stop::not_converged);
  CHECK_FALSE(shared.visits_narrow_it);
  const auto own = how.standing(Stop::converged, wide, much);
  CHECK(own.stop == Stop::not_converged);
  CHECK_FALSE(own.visits_narrow_it);
  CHECK(how.standing(Stop::converged, wide, none).visits_narrow_it);
  CHECK_FALSE(how.standing(Stop::converged, wide, more).visits_narrow_it);
  CHECK(how.standing(Stop::converged, {{5}, {5}}, none).stop == Stop::not_converged);  // too few visits
  // Every round is visited; beyond them only what is not converged and becomes narrower.
  CHECK(how.wants_visit(5, {Stop::converged, false}, Seconds{0}));
  CHECK(how.wants_visit(6, {Stop::not_converged, true}, Seconds{0}));
  CHECK_FALSE(how.wants_visit(6, {Stop::not_converged, false}, Seconds{0}));
  CHECK_FALSE(how.wants_visit(6, {Stop::converged, true}, Seconds{0}));
  how.rounds = 1;
  CHECK(how.standing(Stop::trials, wide, more).stop == Stop::trials);
}

}  // namespace plan_test

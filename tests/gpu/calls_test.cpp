// Every call on this machine's first GPU: timed, done, checked.
#include <doctest/doctest.h>

#include <cmath>

#include "npgpu/vocabulary/call.hpp"

namespace calls_test {

using namespace npgpu;

namespace {

const Backend<Calls>& backend_for(const DeviceInfo& device) {
  const Backend<Calls>* backend = nullptr;
  for (const auto& one : backends<Calls>())
    if (one->device_kind() == devices::kind_of(device.id)) backend = one.get();
  REQUIRE(backend);
  return *backend;
}

}  // namespace

TEST_CASE("every call is timed, and its work is done") {
  const DeviceInfo device = devices::gpus().front();
  const Backend<Calls>& backend = backend_for(device);
  const auto steps = all_calls(device);
  const auto runner = backend.open(steps);
  for (const Step<Calls>& step : steps) {
    if (backend.refuses(step)) continue;
    CAPTURE(title(step.question));
    CAPTURE(text_of(step.axes));
    runner->prepare(step);
    std::vector<CallSample> samples;
    CHECK(runner->run(2, samples));
    REQUIRE(samples.size() == 1);
    const auto wrong = runner->check(samples);
    CHECK_MESSAGE(!wrong, wrong.value_or(""));
    CHECK(samples[0].intact == 1);
    CHECK(samples[0].host_us > 0);
    if (!std::isnan(samples[0].done_us)) CHECK(samples[0].done_us >= samples[0].host_us);
  }
}

TEST_CASE("more kernels take longer: a chain the device, in launches and as a graph") {
  const DeviceInfo device = devices::gpus().front();
  const Backend<Calls>& backend = backend_for(device);
  for (const Call call : {Call::launches, Call::graph_launch}) {
    double last = 0;
    for (const std::uint32_t nodes : {1u, 64u, 1024u}) {
      const Step<Calls> step{{device.id, call, Spacing::alone, GraphForm::chain}, {.blocks = 1, .nodes = nodes}};
      const auto runner = backend.open({&step, 1});
      runner->prepare(step);
      std::vector<CallSample> samples;
      CHECK(runner->run(5, samples));
      CHECK(samples[0].done_us > last);
      last = samples[0].done_us;
    }
  }
}

TEST_CASE("what follows freed memory is over at some time, and a pool that keeps its memory is followed by nothing") {
  const DeviceInfo device = devices::gpus().front();
  const Backend<Calls>& backend = backend_for(device);
  for (const Step<Calls>& step : calls_of_frees(device)) {
    if (step.axes.bytes > GiB) continue;
    CAPTURE(title(step.question));
    const auto runner = backend.open({&step, 1});
    runner->prepare(step);
    devices::settle(device.id);  // what the one before freed is cleared
    const bool is_quiet = step.question.call == Call::pool_free;
    int followed = 0;
    for (int time = 0; time < (is_quiet ? 5 : 1); ++time) {
      std::vector<CallSample> samples;
      CHECK(runner->run(1, samples));
      REQUIRE(samples.size() == 1);
      CHECK(samples[0].host_us > 0);
      CHECK(samples[0].done_us >= samples[0].host_us);
      if (std::isnan(samples[0].slowed)) continue;
      CHECK(samples[0].slowed > 1);
      ++followed;
    }
    if (is_quiet) CHECK(followed <= 2);  // others of the host may slow some reads
  }
}

}  // namespace calls_test

// Calls on simulated devices, whose truth is exact, and what the model says of them.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "changed_spec.hpp"
#include "npgpu/vocabulary/call.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace calls_test {

using namespace npgpu;

namespace {

// data/devices/plain.json with costs of calls and no noise, in a file of its own.
class Device : public ChangedSpec {
 public:
  explicit Device(const nlohmann::json& changes = nlohmann::json::object())
      : ChangedSpec("plain", [&](nlohmann::json& spec) {
          spec.erase("noise");
          spec["host"] = {
              {"copy_us", 5}, {"copy_async_us", 2}, {"launch_us", 3}, {"record_us", 0.5}, {"synchronize_us", 1}};
          auto& hardware = spec["hardware"];
          hardware = {{"sms", 4},
                      {"kernel_latency_us", 2},
                      {"empty_kernel_us", 1.5},
                      {"call_launch_us", 3},
                      {"call_argument_byte_us", 0.001},
                      {"call_graph_launch_us", 4},
                      {"graph_chain_kernel_us", 0.5},
                      {"graph_fork_kernel_us", 0.25},
                      {"call_graph_instantiate_us", 10},
                      {"graph_instantiate_kernel_us", 2}};
          hardware.update(changes);
        }) {}
};

const Backend<Calls>& backend() {
  for (const auto& one : backends<Calls>())
    if (one->device_kind() == "sim") return *one;
  throw Error(ErrorKind::failed, "no backend");
}

CallSample run(const Step<Calls>& step, std::uint64_t repeats) {
  const auto runner = backend().open({&step, 1});
  runner->prepare(step);
  std::vector<CallSample> samples;
  CHECK(runner->run(repeats, samples));
  REQUIRE(samples.size() == 1);
  CHECK_FALSE(runner->check(samples));
  CHECK(samples[0].intact == 1);
  return samples[0];
}

}  // namespace

TEST_CASE("a launch alone is its call, and done after its kernel and the wait") {
  const Device device;
  const CallSample s = run({{device.id(), Call::launch, Spacing::alone}, {.blocks = 1}}, 10);
  CHECK(s.host_us == doctest::Approx(10 * 3.0));
  CHECK(s.done_us == doctest::Approx(10 * (3 + 2 + 1.5 + 1)));
}

TEST_CASE("launches back to back take the longer of calls and kernels") {
  const Device device;
  const CallSample calls = run({{device.id(), Call::launch, Spacing::back_to_back}, {.blocks = 1}}, 100);
  CHECK(calls.host_us == doctest::Approx(300));
  CHECK(calls.done_us ==
        doctest::Approx(300 + 1));  // the last kernel has ended 3.5 us after its call, calls go on at 3
  const Device slow(nlohmann::json{{"empty_kernel_us", 5}});
  CHECK(run({{slow.id(), Call::launch, Spacing::back_to_back}, {.blocks = 1}}, 100).done_us ==
        doctest::Approx(3 + 2 + 500 + 1));
}

TEST_CASE("arguments cost by their bytes") {
  const Device device;
  CHECK(run({{device.id(), Call::launch, Spacing::alone}, {.bytes = 4000, .blocks = 1}}, 1).host_us ==
        doctest::Approx(7));
}

TEST_CASE("a small copy from pageable memory returns before it is done, and one within the device always does") {
  const Device device(
      nlohmann::json{{"call_copy_in_us", 9}, {"call_copy_within_us", 4}, {"early_return_bytes", 65536}});
  const auto copy = [&](Call call, std::uint64_t bytes) {
    return run({{device.id(), call, Spacing::alone}, {.bytes = bytes}}, 1);
  };
  CHECK(copy(Call::copy_in, 64 * KiB).host_us == doctest::Approx(9));
  CHECK(copy(Call::copy_in, 64 * KiB).done_us > 10);
  const CallSample large = copy(Call::copy_in, MiB);
  CHECK(large.done_us == doctest::Approx(large.host_us + 3));  // the latency and the wait
  CHECK(copy(Call::copy_within, 64 * MiB).host_us == doctest::Approx(4));
  CHECK(copy(Call::copy_within, 64 * MiB).done_us > 5);
}

TEST_CASE("a chain costs the device, a fork the call, and instantiating both") {
  const Device device;
  const auto graph = [&](Call call, GraphForm form) {
    return run({{device.id(), call, Spacing::alone, form}, {.blocks = 1, .nodes = 64}}, 1);
  };
  CHECK(graph(Call::graph_launch, GraphForm::chain).host_us == doctest::Approx(4));
  CHECK(graph(Call::graph_launch, GraphForm::chain).done_us == doctest::Approx(4 + 2 + 64 * 0.5 + 1));
  CHECK(graph(Call::graph_launch, GraphForm::fork).host_us == doctest::Approx(4 + 64 * 0.25));
  CHECK(graph(Call::graph_instantiate, GraphForm::chain).host_us == doctest::Approx(10 + 64 * 2));
  CHECK(std::isnan(graph(Call::graph_instantiate, GraphForm::chain).done_us));
}

TEST_CASE("what a spec does not say is refused with the key that is missing") {
  const Device device;
  const auto why = backend().refuses({{device.id(), Call::memset, Spacing::alone}, {.bytes = 4}});
  REQUIRE(why);
  CHECK(why->find("call_memset_us") != std::string::npos);
  CHECK_FALSE(backend().refuses({{device.id(), Call::launch, Spacing::alone}, {.blocks = 1}}));
}

TEST_CASE("the plan asks for every call, alone first, and for graphs of 1 to 1024 kernels") {
  const Device device;
  auto steps = all_calls(devices::find(device.id()));
  CHECK(std::ranges::none_of(steps, [](const auto& s) { return frees_memory(s.question.call); }));
  std::ranges::move(calls_of_frees(devices::find(device.id())), std::back_inserter(steps));
  for (std::size_t i = 0; i < static_cast<std::size_t>(Call::process_free); ++i)  // from there on it does not ask
    CHECK(std::any_of(steps.begin(), steps.end(),
                      [&](const auto& s) { return s.question.call == static_cast<Call>(i); }));
  CHECK(std::any_of(steps.begin(), steps.end(), [](const auto& s) { return s.axes.nodes == 1024; }));
  CHECK(std::any_of(steps.begin(), steps.end(),
                    [](const auto& s) { return s.axes.blocks == 400; }));  // 100 for each of 4
  const std::set<Step<Calls>> once(steps.begin(), steps.end());
  CHECK(once.size() == steps.size());
}

TEST_CASE("a free is done when the driver has cleared what it freed, and derive finds how fast that is") {
  const Device device({{"call_free_us", 100}, {"clears_gb_s", 400}, {"clearing_slows", 1.25}});
  const Step<Calls> step{{device.id(), Call::free, Spacing::alone, GraphForm::none}, {.bytes = GiB}};
  CHECK_FALSE(backend().refuses(step));
  const CallSample sample = run(step, 1);
  CHECK(sample.host_us == doctest::Approx(100));
  CHECK(sample.done_us == doctest::Approx(100 + 2 + GiB / 400e3 + 1));  // kernel_latency_us, and the wait
  CHECK(sample.slowed == 1.25);
  // What its spec does not say is not made up.
  CHECK(backend().refuses({{device.id(), Call::managed_free, Spacing::alone, GraphForm::none}, {.bytes = GiB}}));
  for (const auto& one : calls_of_frees(devices::find(device.id()))) CHECK(one.axes.bytes >= 256 * MiB);
}

TEST_CASE("titles and shapes in words") {
  CHECK(title(CallCase{"cuda:0", Call::graph_launch, Spacing::back_to_back, GraphForm::chain}) ==
        "calls cuda:0 graph-launch back-to-back chain");
  CHECK(text_of(CallShape{.bytes = 4096, .blocks = 132}) == "4 KiB, 132 blocks");
  CHECK(text_of(CallShape{.blocks = 1, .nodes = 64}) == "64 kernels");
  CHECK(text_of(CallShape{}) == "-");
}

}  // namespace calls_test

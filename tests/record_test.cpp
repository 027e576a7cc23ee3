// A recorded application: its raw file, its step, and what would make that faster.
#include "npgpu/model/record.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "netpipe/record/raw.hpp"
#include "netpipe/record/reading.hpp"

namespace record_test {

using namespace npgpu;
using namespace npgpu::record;

namespace {

constexpr std::uint64_t us = 1000;

// A raw file, entry by entry.
struct RawBytes {
  std::string bytes;
  RawBytes() {
    RawHeader header{{}, raw_version, 4711};
    std::memcpy(header.magic, magic, sizeof magic);
    add(header);
  }
  template <class T> void add(const T& value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); }
  template <class T> void entry(Sort sort, const T& value, const std::string& text = {}) {
    add(EntryHead{sort, static_cast<std::uint32_t>(sizeof value + text.size())});
    add(value);
    bytes += text;
  }
  Recording read() const {
    const auto path = std::filesystem::temp_directory_path() / ("npgpu-record-test-" + std::to_string(::getpid()));
    std::ofstream(path, std::ios::binary) << bytes;
    const Recording all = read_raw_files(std::vector{path});
    std::filesystem::remove(path);
    return all;
  }
};

RawCopy copy(std::uint64_t start, std::uint64_t end, std::uint64_t bytes, std::uint8_t from,
             std::uint32_t correlation) {
  return {start, end, bytes, 0, 7, correlation, 0, from, 3, {}};
}
RawKernel kernel(std::uint64_t start, std::uint64_t end, std::uint32_t name, std::uint32_t correlation) {
  return {start, end, 0, 7, correlation, 0, {132, 1, 1}, {256, 1, 1}, 32, 0, 0, name};
}

// Twenty steps of 10 ms: a copy of 64 MiB that takes 6 ms, a kernel of 3.9 ms behind it, and a wait. Each begins
// 10 ms after the one before.
Trace steps(std::uint8_t from, std::uint64_t copy_us) {
  RawBytes raw;
  raw.entry(Sort::name, RawName{1}, "_Z4axpyPfS_f");
  raw.entry(Sort::name, RawName{2}, "cudaMemcpyAsync_v3020");
  raw.entry(Sort::name, RawName{3}, "cudaLaunchKernel_v7000");
  raw.entry(Sort::name, RawName{4}, "cudaStreamSynchronize_v3020");
  std::uint64_t t = 1'000'000 * us;
  for (std::uint32_t c = 0; c < 80; c += 4) {
    const bool blocks = from == 1;
    const std::uint64_t copied = t + copy_us * us, returned = blocks ? copied : t + 5 * us;
    raw.entry(Sort::call, RawCall{t, returned, 9, c + 1, 2, 0});
    raw.entry(Sort::copy, copy(t, copied, 64 * MiB, from, c + 1));
    raw.entry(Sort::call, RawCall{returned, returned + 5 * us, 9, c + 2, 3, 0});
    const std::uint64_t begins = std::max(copied, returned + 5 * us), ends = begins + 3900 * us;
    raw.entry(Sort::kernel, kernel(begins, ends, 1, c + 2));
    raw.entry(Sort::call, RawCall{returned + 5 * us, ends + 5 * us, 9, c + 3, 4, 0});
    raw.entry(Sort::wait, RawWait{returned + 5 * us, ends + 5 * us, 3, 7, c + 3, 0});
    t = ends + 95 * us;  // the application's own work
  }
  Trace trace;
  trace.of<Records>() = raw.read().series;
  return trace;
}

// Copies at 50 bytes a nanosecond: 64 MiB take 1342 us.
MeasuredCosts costs() {
  MeasuredCosts all;
  all.costs.copy_h2d = all.costs.copy_d2h = Curve::line(Seconds{0}, Seconds{2e-11});
  all.costs.issue = {Seconds{5e-6}, Seconds{5e-6}, Seconds{5e-6}};
  return all;
}

const AppAdvice* advice_of(const AppForecast& of, AppChange change) {
  for (const AppAdvice& one : of.advice)
    if (one.change == change) return &one;
  return nullptr;
}

}  // namespace

TEST_CASE("entries of a raw file become series; what is cut off is left out") {
  RawBytes raw;
  raw.entry(Sort::name, RawName{1}, "_Z4axpyPfS_f");
  raw.entry(Sort::copy, copy(1000, 3000, 4096, 2, 1));
  raw.entry(Sort::kernel, kernel(4000, 9000, 1, 2));
  raw.entry(Sort::status, RawStatus{3, 1, 0, 1});
  const Recording all = raw.read();
  REQUIRE(all.series.size() == 2);
  CHECK(title(all.series[0].question) == "copy cuda:0 pinned to device");
  CHECK(all.series[0].samples[0].start_us == 0);
  CHECK(all.series[0].samples[0].end_us == doctest::Approx(2));
  CHECK(title(all.series[1].question) == "kernel cuda:0 axpy(float*, float*, float)");
  CHECK(text_of(all.series[1].visits[0].axes) == "132x1x1 blocks of 256x1x1, 32 registers");
  CHECK(all.processes[0].pid == 4711);
  CHECK(all.processes[0].dropped == 3);
  CHECK(all.processes[0].ended);

  const std::size_t whole = raw.bytes.size();
  for (std::size_t cut = sizeof(RawHeader); cut < whole; ++cut) {
    RawBytes part = raw;
    part.bytes.resize(cut);
    CHECK_NOTHROW(part.read());
  }
  raw.bytes.resize(4);
  CHECK_THROWS_AS(raw.read(), Error);
}

TEST_CASE("the driver's calls within one of the runtime are that one's") {
  RawBytes raw;
  raw.entry(Sort::name, RawName{1}, "cudaLaunchKernel_ptsz_v7000");
  raw.entry(Sort::name, RawName{2}, "cuLaunchKernel");
  raw.entry(Sort::call, RawCall{1000, 5000, 9, 10, 1, 0});
  raw.entry(Sort::call, RawCall{2000, 4000, 9, 11, 2, 0});
  raw.entry(Sort::call, RawCall{6000, 7000, 9, 12, 2, 0});  // by itself
  raw.entry(Sort::kernel, kernel(8000, 9000, 3, 11));
  const Recording all = raw.read();
  REQUIRE(all.series.size() == 3);
  CHECK(all.series[0].question.name == "unknown");  // the kernel's name was lost
  CHECK(all.series[0].samples[0].correlation == 10);
  CHECK(all.series[1].question.name == "cuLaunchKernel");
  CHECK(all.series[1].samples.size() == 1);
  CHECK(all.series[2].question.name == "cudaLaunchKernel");
}

TEST_CASE("the step is what repeats, and takes its measured time when it is played") {
  const AppStep step = step_of(steps(1, 6000));
  REQUIRE(step.items.size() == 3);
  CHECK(step.steps == 20);
  CHECK(step.items[0].activity == Activity::copy);
  CHECK(step.items[0].blocks);
  CHECK(step.items[1].activity == Activity::kernel);
  CHECK(step.items[2].activity == Activity::wait);
  CHECK(step.time_us.value == doctest::Approx(10000));  // 6000 + 5 + 3900 + 95, the kernel behind its launch
  CHECK(step.copies_us == doctest::Approx(6000));
  CHECK(step.covered == doctest::Approx(1));
  CHECK(played_us(step) == doctest::Approx(step.time_us.value).epsilon(0.002));
}

TEST_CASE("pinned memory, and copies behind kernels") {
  const AppStep step = step_of(steps(1, 6000));
  const AppForecast of = forecast(step, costs());
  CHECK(std::abs(of.off_by) < 0.002);
  CHECK(of.pageable_us == doctest::Approx(6000));
  const AppAdvice* pin = advice_of(of, AppChange::pinned);
  REQUIRE(pin);
  CHECK(pin->step_us == doctest::Approx(1342 + 3900 + 100).epsilon(0.01));
  CHECK(pin->times.low > 1.75);
  CHECK(pin->times.high < 2.0);
  CHECK(!pin->needs_independence);
  const AppAdvice* both = advice_of(of, AppChange::behind);
  REQUIRE(both);
  CHECK(both->needs_independence);
  CHECK(both->step_us == doctest::Approx(3900 + 110).epsilon(0.01));  // of the copy nothing is left
  CHECK(of.advice.front().times.value >= of.advice.back().times.value);
}

TEST_CASE("a gain's interval holds the scatter of what goes, and a copy from pinned memory does not begin as late") {
  AppStep step = step_of(steps(1, 6000));
  const auto pinned = [&] { return *advice_of(forecast(step, costs()), AppChange::pinned); };
  const AppAdvice even = pinned();
  step.items[0].shortest_us = 5000;
  step.items[0].longest_us = 8000;
  const AppAdvice scattered = pinned();
  CHECK(scattered.times.value == even.times.value);
  // 10 ms as it is: 9 with the shortest copy, and 12 with the longest.
  CHECK(scattered.times.low == doctest::Approx(0.9 * even.times.low).epsilon(0.001));
  CHECK(scattered.times.high == doctest::Approx(1.2 * even.times.high).epsilon(0.001));
  // The time from its call until its first part is staged goes, too.
  step.items[0].device_us -= 140;
  step.items[0].lag_us += 140;
  CHECK(played_us(step) == doctest::Approx(10000).epsilon(0.002));
  CHECK(pinned().step_us == doctest::Approx(even.step_us + 5).epsilon(0.001));
}

TEST_CASE("a kernel that was launched into an idle stream starts at once behind a copy that is still under way") {
  AppStep step = step_of(steps(1, 6000));
  StepItem& kernel = step.items[1];
  REQUIRE(kernel.was_idle);
  kernel.lag_us = 50;  // from its call: the copy before it blocked the host
  CHECK(played_us(step) == doctest::Approx(10045).epsilon(0.001));
  const AppAdvice* const pin = advice_of(forecast(step, costs()), AppChange::pinned);
  REQUIRE(pin);
  CHECK(pin->step_us == doctest::Approx((1342 + 1.5 + 3900 + 105) * 10000 / 10045).epsilon(0.003));
}

TEST_CASE("on another model of device copies go by its rates, and kernels by whichever rate bounds them") {
  const AppStep step = [] {
    AppStep one = step_of(steps(2, 1342));
    one.device_name = "NVIDIA Here";
    return one;
  }();
  const auto device = [](const char* name, double lanes, double memory_gb_s, double link) {
    MeasuredCosts all = costs();
    all.device_name = name;
    all.costs.copy_h2d = Curve::line(Seconds{0}, Seconds{2e-11 / link});
    for (const auto& [key, value] :
         {std::pair{"lanes", lanes}, {"sms", 100.}, {"shader_clock_mhz", 1000.}, {"memory_gb_s", memory_gb_s}})
      all.figures[key] = {value, value, value, {}, "assumed"};
    return all;
  };
  const MeasuredCosts here = device("Here", 128, 2000, 1);
  CHECK(is_of_model(here, "NVIDIA Here"));
  CHECK(!is_of_model(here, "NVIDIA Here NVL"));

  const AppForecast same = forecast_elsewhere(step, here, here);
  REQUIRE(same.elsewhere);
  CHECK(same.elsewhere->step_us.value == doctest::Approx(step.time_us.value));
  CHECK(same.elsewhere->times.low < 1);
  CHECK(same.elsewhere->times.high > 1);
  REQUIRE(same.advice.size() == forecast(step, here).advice.size());

  // Half the link, half the memory's rate, the same lanes: kernels of 3.9 ms take up to 7.8 ms, the copy 2.684.
  const AppForecast slow = forecast_elsewhere(step, here, device("There", 128, 1000, 0.5));
  REQUIRE(slow.elsewhere);
  CHECK(slow.elsewhere->kernels_longer.low == doctest::Approx(1));
  CHECK(slow.elsewhere->kernels_longer.high == doctest::Approx(2));
  const double rest = step.time_us.value - 3900 - 1342;
  CHECK(slow.elsewhere->step_us.low == doctest::Approx((rest + 3900 + 2684) / 1.05).epsilon(0.005));
  CHECK(slow.elsewhere->step_us.high == doctest::Approx((rest + 7800 + 2684) * 1.05).epsilon(0.005));
  // Behind the kernels, the copy gains from 2684 of 6700 us, up to 2684 of 10600.
  const AppAdvice* const behind = advice_of(slow, AppChange::behind);
  REQUIRE(behind);
  CHECK(behind->times.low < (rest + 7800 + 2684) / (rest + 7800));
  CHECK(behind->times.high > (rest + 3900 + 2684) / (rest + 3900));

  // A kernel that was counted takes on another device what its figures say: here the memory bounds it.
  AppStep wide = step;
  wide.items[1].shape.grid_x = 1 << 20;
  const AppKernelCount count{"axpy", 1e6, 6e9};
  const auto of_memory = [&](const char* name, double memory_gb_s) {
    MeasuredCosts all = device(name, 128, memory_gb_s, 1);
    for (const auto& [key, value] : {std::pair{"memory_latency_cycles", 500.},
                                     {"fma_latency_cycles", 4.},
                                     {"warps", 64.},
                                     {"blocks", 32.},
                                     {"block_threads", 1024.},
                                     {"sm_bytes_per_cycle", 64.},
                                     {"memory_knee", 4.},
                                     {"schedulers", 4.},
                                     {"warp", 32.}})
      all.figures[key] = {value, value, value, {}, "assumed"};
    return all;
  };
  const MeasuredCosts near = of_memory("Here", 2000), far = of_memory("There", 1000);
  const std::vector<AppKernel> counted = kernels_of(wide, near, std::span(&count, 1));
  REQUIRE(counted.at(0).allowed);
  CHECK(counted.at(0).allowed->bound == KernelBound::memory_rate);
  const AppForecast sure = forecast_elsewhere(wide, near, far, std::span(&count, 1));
  const double longer = likely_time(far, *counts_of(wide.items[1], std::span(&count, 1))) /
                        likely_time(near, *counts_of(wide.items[1], std::span(&count, 1)));
  CHECK(longer > 1.3);
  CHECK(sure.elsewhere->step_us.value == doctest::Approx(step.time_us.value + 3900 * (longer - 1)).epsilon(0.005));
  CHECK(sure.elsewhere->step_us.high / sure.elsewhere->step_us.low == doctest::Approx(1.05 * 1.05).epsilon(0.01));
  const AppKernelCount none{"nothing", 1, 1};
  CHECK_THROWS_WITH_AS(kernels_of(step, near, std::span(&none, 1)), doctest::Contains("begins with 'nothing'"), Error);

  MeasuredCosts unknown = device("There", 128, 1000, 0.5);
  unknown.figures.clear();
  CHECK(!forecast_elsewhere(step, here, unknown).elsewhere);
  CHECK(forecast_elsewhere(step, here, unknown).advice.empty());
}

TEST_CASE("a chain of copies and a kernel, in chunks, takes what the stream model says") {
  MeasuredCosts node = costs();
  node.multiprocessors = 132, node.threads_per_multiprocessor = 2048, node.blocks_per_multiprocessor = 32;
  const auto kernel_of = [](std::uint32_t blocks) {
    return RecordShape{
        .grid_x = blocks, .grid_y = 1, .grid_z = 1, .block_x = 256, .block_y = 1, .block_z = 1, .registers = 32};
  };
  AppStep step;
  constexpr double in_us = 1342, kernel_us = 1400, out_us = 1342;
  step.items = {
      {.activity = Activity::copy,
       .call = "cudaMemcpyAsync",
       .source = RecordMemory::pinned,
       .target = RecordMemory::device,
       .shape = {.bytes = 64 * MiB},
       .stream = 7,
       .call_us = 2,
       .device_us = in_us},
      {.activity = Activity::kernel, .shape = kernel_of(1 << 20), .stream = 7, .call_us = 4, .device_us = kernel_us},
      {.activity = Activity::copy,
       .call = "cudaMemcpyAsync",
       .source = RecordMemory::device,
       .target = RecordMemory::pinned,
       .shape = {.bytes = 64 * MiB},
       .stream = 7,
       .call_us = 2,
       .device_us = out_us},
      {.activity = Activity::wait,
       .name = "cudaDeviceSynchronize",
       .stream = UINT32_MAX,
       .call_us = 1,
       .blocks = true,
       .after = {{2, 0}}}};
  for (StepItem& one : step.items) one.shortest_us = one.longest_us = one.device_us;
  const double whole = played_us(step);
  step.time_us = {whole, whole, whole, "us", ""};
  const AppForecast of = forecast(step, node);
  const AppAdvice* const chunks = advice_of(of, AppChange::chunks);
  REQUIRE(chunks);
  CHECK(chunks->needs_independence);
  Job job{.in_bytes = 64 * MiB, .out_bytes = 64 * MiB};
  job.kernel = Seconds{kernel_us * 1e-6};
  const double best = microseconds(choose_streams(job, node.costs, Order::depth_first, stream_counts(64)).time);
  CHECK(chunks->step_us == doctest::Approx(best).epsilon(0.1));
  CHECK(chunks->times.low > 1);
  CHECK(chunks->times.high < 3);
  // What follows in the stream waits for all parts, and so does the step's wait.
  CHECK(of.played.back().timeline.step_us >= kernel_us);

  // Fewer blocks than multiprocessors: a part of them takes as long as all, beside the others. Only a copy is hidden.
  step.items[1].shape.grid_x = 100;
  const AppForecast few = forecast(step, node);
  const AppAdvice* const gains_less = advice_of(few, AppChange::chunks);
  REQUIRE(gains_less);
  CHECK(gains_less->step_us == doctest::Approx(in_us + kernel_us).epsilon(0.1));
  CHECK(gains_less->times.high < chunks->times.low);
}

TEST_CASE("kernels of few blocks go side by side as far as there are multiprocessors") {
  MeasuredCosts node = costs();
  node.multiprocessors = 132;
  AppStep step;
  const StepItem kernel{.activity = Activity::kernel,
                        .shape = {.grid_x = 40, .grid_y = 1, .grid_z = 1, .block_x = 256, .block_y = 1, .block_z = 1},
                        .stream = 7,
                        .call_us = 2,
                        .device_us = 100};
  step.items.assign(4, kernel);
  step.items.push_back({.activity = Activity::wait,
                        .name = "cudaDeviceSynchronize",
                        .stream = UINT32_MAX,
                        .call_us = 1,
                        .blocks = true,
                        .after = {{3, 0}}});
  for (StepItem& one : step.items) one.shortest_us = one.longest_us = one.device_us;
  const double whole = played_us(step);
  step.time_us = {whole, whole, whole, "us", ""};
  const AppForecast of = forecast(step, node);
  const AppAdvice* const three = advice_of(of, AppChange::side_by_side);
  REQUIRE(three);
  CHECK(three->what == "3 kernels of few blocks side by side");
  CHECK(three->step_us == doctest::Approx(whole - 200).epsilon(0.03));  // the fourth waits for them
  CHECK(three->times.low < whole / (whole - 100));
  for (StepItem& one : step.items) one.shape.grid_x = 100;
  CHECK(!advice_of(forecast(step, node), AppChange::side_by_side));
}

TEST_CASE("a host that never waits is no faster than what it asks for") {
  AppStep step;
  step.items.assign(
      10, {.activity = Activity::kernel, .call = "cudaLaunchKernel", .gap_us = 5, .call_us = 5, .device_us = 3});
  step.time_us = {100, 100, 100, "us", ""};
  CHECK(played_us(step) == doctest::Approx(100));
  const AppForecast of = forecast(step, costs());
  const AppAdvice* const graph = advice_of(of, AppChange::graph);
  REQUIRE(graph);
  CHECK(graph->step_us >= 30);
  CHECK(graph->step_us < 60);
  CHECK(graph->times.high < 100 / 30. * 1.1);
  double kernels = 0;
  for (const AppSpan& span : of.played.at(1).timeline.spans)
    if (!span.on_host) kernels += span.end_us - span.start_us;
  CHECK(kernels == doctest::Approx(30).epsilon(0.15));  // in the step that is shown
}

TEST_CASE("a played step is shown: what the host and the device do at which time") {
  const AppForecast of = forecast(step_of(steps(1, 6000)), costs());
  REQUIRE(of.played.size() == 2);
  CHECK(of.played[0].what == "as it is");
  CHECK(of.played[1].what == of.advice.front().what);
  const auto busy = [](const AppPlayed& played, Activity activity, bool on_host) {
    double us = 0;
    for (const AppSpan& span : played.timeline.spans) {
      CHECK(span.start_us >= 0);
      CHECK(span.end_us <= played.timeline.step_us);
      if (span.on_host == on_host && played.items[span.item].activity == activity) us += span.end_us - span.start_us;
    }
    return us;
  };
  CHECK(busy(of.played[0], Activity::copy, false) == doctest::Approx(6000).epsilon(0.001));
  CHECK(busy(of.played[0], Activity::copy, true) == doctest::Approx(6000).epsilon(0.001));
  CHECK(busy(of.played[0], Activity::kernel, false) == doctest::Approx(3900).epsilon(0.001));
  // Behind the kernels: the copy of the next step is all within this one.
  CHECK(busy(of.played[1], Activity::copy, false) == doctest::Approx(1342).epsilon(0.01));
  CHECK(busy(of.played[1], Activity::kernel, false) == doctest::Approx(3900).epsilon(0.001));
}

TEST_CASE("what the shape of a kernel says of its time") {
  const AppStep step = step_of(steps(1, 6000));  // 132 blocks of 256 threads, 3.9 ms
  MeasuredCosts of = costs();
  const auto bound = [&] { return kernels_of(step, of).at(0).bound; };
  CHECK(bound() == AppBound::unknown);
  of.multiprocessors = 132;
  CHECK(bound() == AppBound::unknown);
  of.multiprocessors = 133;
  CHECK(bound() == AppBound::few_blocks);
  of.multiprocessors = 120;
  of.threads_per_multiprocessor = 2048;
  of.blocks_per_multiprocessor = 1;
  CHECK(kernels_of(step, of).at(0).waves == doctest::Approx(1.1));
  CHECK(bound() == AppBound::last_wave);
  of.figures["empty_kernel_us"] = {2000, 2000, 2000, "us", ""};
  CHECK(bound() == AppBound::launch);
  of.device_name = "another";
  AppStep elsewhere = step;
  elsewhere.device_name = "one";
  CHECK(kernels_of(elsewhere, of).at(0).bound == AppBound::unknown);
}

TEST_CASE("no advice where nothing is gained") {
  // Pinned already, and as fast as it can be; the kernel waits for its own copy.
  const AppForecast of = forecast(step_of(steps(2, 1342)), costs());
  CHECK(!advice_of(of, AppChange::pinned));
  CHECK(advice_of(of, AppChange::behind));
  for (const AppAdvice& one : of.advice) CHECK(one.times.low > 1);
  // A copy that costs nothing has nothing to hide.
  CHECK(forecast(step_of(steps(2, 1)), costs()).advice.empty());
}

TEST_CASE("what does not repeat is no step") {
  RawBytes raw;
  for (std::uint32_t i = 1; i < 10; ++i) raw.entry(Sort::copy, copy(i * 100 * us, i * 100 * us + us, i * 4096, 2, i));
  Trace trace;
  CHECK_THROWS_AS(step_of(trace), Error);
  trace.of<Records>() = raw.read().series;
  CHECK_THROWS_AS(step_of(trace), Error);
}

}  // namespace record_test

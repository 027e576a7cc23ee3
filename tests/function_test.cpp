// Functions of the user's own through a whole campaign: what the trace says of them, and what is refused.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "npgpu/measuring/campaign.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/model/result.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "tests/made_trace.hpp"

namespace function_test {

using namespace npgpu;

namespace {

Settings settings_for(const std::filesystem::path& path, std::uint32_t rounds = 2) {
  Settings settings;
  settings.output = path;
  Repetition& how = settings.repetition<Calls>();
  how.is_classic = true;
  how.rounds = rounds;
  how.classic.trials = 2;
  how.classic.fixed_repeats = 3;
  return settings;
}

// The one series of this spacing.
const CallSeries& series_of(const Trace& trace, Spacing spacing) {
  const auto& all = trace.of<Calls>();
  const auto found = std::ranges::find_if(all, [&](const auto& s) { return s.question.spacing == spacing; });
  REQUIRE(found != all.end());
  return *found;
}

class Watcher final : public Observer {
 public:
  void begin(const Plan& plan, Seconds) override { planned = plan.points(); }
  void point(const Point& point) override { seen.push_back(point.text); }
  void series_done(const SeriesEnd&) override { ++done; }
  std::size_t planned = 0, done = 0;
  std::vector<std::string> seen;
};

}  // namespace

TEST_CASE("a function is called and awaited as its spacing says, at each size, and its trace says what it was") {
  const ScratchFolder folder;
  std::uint64_t calls = 0, waits = 0, size = 0;
  std::vector<std::uint64_t> prepared;
  Function function{.name = "sleep-a_little.v2"};
  function.sizes = {64, 128};
  function.prepare = [&](std::uint64_t bytes) { prepared.push_back(size = bytes); };
  function.call = [&] {
    ++calls;
    std::this_thread::sleep_for(std::chrono::microseconds(size));
  };
  function.wait = [&] { ++waits; };
  Watcher watcher;
  const CampaignResult result = measure({function}, settings_for(folder / "t.h5"), watcher);
  CHECK(result.failures.empty());
  CHECK(result.measured == 4);
  CHECK(watcher.planned == 4);
  CHECK(watcher.seen.size() == 8);
  CHECK(watcher.done == 2);
  CHECK(prepared.size() >= 8);  // before each visit
  const Trace trace = read_trace(folder / "t.h5");
  CHECK(trace.root.complete);
  CHECK(trace.root.plan == "functions: sleep-a_little.v2");
  REQUIRE(trace.of<Calls>().size() == 2);
  CHECK(waits > 0);
  CHECK(calls > waits);  // back to back waits once for three calls
  for (const Spacing spacing : {Spacing::alone, Spacing::back_to_back}) {
    const CallSeries& series = series_of(trace, spacing);
    CHECK(series.question.function == "sleep-a_little.v2");
    CHECK(series.question.call == Call::function);
    CHECK(title(series.question).find(" sleep-a_little.v2") != std::string::npos);
    REQUIRE(series.visits.size() == 4);
    for (const CallSample& sample : series.samples) {
      CHECK(sample.repeats == 3);
      CHECK(sample.host_us >= 3 * 64);
      CHECK(sample.done_us >= sample.host_us);
      CHECK(sample.intact == -1);
    }
    for (const Visit<Calls>& visit : series.visits)  // it sleeps at least so long
      for (const CallSample& sample : samples_of(series, visit))
        CHECK(sample.host_us >= 3 * static_cast<double>(visit.axes.bytes));
    CHECK(results(series).size() == 2);
  }
  std::ostringstream report;
  report_text(report, TraceResults(trace), {.width = 100});
  CHECK(report.str().find("sleep-a_little.v2, 128 B") != std::string::npos);
  CHECK(report.str().find("back-to-back") != std::string::npos);
}

TEST_CASE("a function without a wait has no time until done; what its check finds wrong is a failure") {
  const ScratchFolder folder;
  Function function{.name = "f"};
  int checks = 0;
  function.call = [] {};
  function.check = [&]() -> std::optional<std::string> {
    ++checks;
    return "it is 3, expected 4";
  };
  const CampaignResult result = measure({function}, settings_for(folder / "t.h5"));
  CHECK(checks == 4);
  REQUIRE_FALSE(result.failures.empty());
  CHECK(result.failures.front().find("it is 3, expected 4") != std::string::npos);
  const Trace trace = read_trace(folder / "t.h5");
  const CallSeries& series = series_of(trace, Spacing::alone);
  CHECK(series.failure == Failure::wrong);
  CHECK(std::isnan(series.samples.front().done_us));
  CHECK(series.samples.back().intact == 0);
}

TEST_CASE("a function that throws is given up, and the others are measured") {
  const ScratchFolder folder;
  Function broken{.name = "broken"}, whole{.name = "whole"};
  broken.call = [] { throw std::runtime_error("it broke"); };
  whole.call = [] {};
  const CampaignResult result = measure({broken, whole}, settings_for(folder / "t.h5"));
  CHECK(result.failures.size() == 2);
  CHECK(result.failures.front().find("it broke") != std::string::npos);
  CHECK(result.measured == 2);
  const Trace trace = read_trace(folder / "t.h5");
  CHECK(trace.of<Calls>().front().error.find("it broke") != std::string::npos);
}

TEST_CASE("functions that cannot be measured are refused before anything is written") {
  const ScratchFolder folder;
  const auto why_not = [&](const Function& function) -> std::string {
    try {
      measure({function}, settings_for(folder / "t.h5"));
      return "";
    } catch (const Error& e) {
      CHECK_FALSE(std::filesystem::exists(folder / "t.h5"));
      return e.what();
    }
  };
  Function good{.name = "good"};
  good.call = [] {};
  Function spaced = good, uncalled = good, sizeless = good, unawaited = good, elsewhere = good;
  spaced.name = "not good";
  uncalled.call = {};
  sizeless.sizes.clear();
  unawaited.stream = nullptr;
  elsewhere.device = "moon:0";
  CHECK(why_not(spaced).find("'not good'") != std::string::npos);
  CHECK(why_not(uncalled).find("nothing to call") != std::string::npos);
  CHECK(why_not(sizeless).find("no size") != std::string::npos);
  CHECK(why_not(unawaited).find("no wait") != std::string::npos);
  CHECK(why_not(elsewhere).find("moon:0") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder / "t.h5"));
}

TEST_CASE("where a device has no streams, a function with one is measured without its gate, and the plan says so") {
  const ScratchFolder folder;
  Function function{.name = "f"};
  function.call = function.wait = [] {};
  function.stream = nullptr;
  const CampaignResult result = measure({function}, settings_for(folder / "t.h5"));
  CHECK(result.measured == 2);
  const Trace trace = read_trace(folder / "t.h5");
  const std::string said = text_fact(facts_of(trace.provenance, "plan"), "left_out_1");
  CHECK(said.find("host has no streams") != std::string::npos);
}

}  // namespace function_test

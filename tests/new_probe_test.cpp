// A new probe is a folder: tests/shuffle is compiled into this program, and no other file knows of it.
#include <doctest/doctest.h>

#include <sstream>

#include "npgpu/model/derive.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/questions.hpp"
#include "tests/made_trace.hpp"
#include "tests/probed.hpp"

namespace new_probe_test {

using namespace npgpu;

namespace {

constexpr const char* device = "sim:h200";

ProbeSeries measured() {
  const auto schedule = classic_schedule({.trials = 9, .fixed_repeats = 100'000});
  return probed(find_probe("shuffle", device).cases(device).at(0), *schedule);
}

// Written to a trace, and read.
Trace trace_of(const ProbeSeries& series) {
  const ScratchFolder folder;
  TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("new"), made_provenance());
  const std::size_t index = writer.begin<Probes>(series);
  for (const Visit<Probes>& visit : series.visits)
    writer.add<Probes>(index, visit, std::span(series.samples).subspan(visit.first_sample, visit.samples));
  writer.finish();
  return read_trace(folder / "t.h5");
}

std::string text_of(const Trace& trace) {
  std::ostringstream text;
  report_text(text, TraceResults(trace), {.width = 160});
  return text.str();
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a new probe is measured, and its unit, law and figures are in reports, derivation and comparison") {
  const Trace trace = trace_of(measured());
  const std::string text = text_of(trace);
  CAPTURE(text);
  CHECK(has(text, "G shuffles/s"));
  CHECK(has(text, "law: a lane's words are exchanged one after the other; agrees (within 5 %) at 4 of 4 shapes"));
  CHECK(has(text, "shuffle rate"));

  const ProbeSeries& series = trace.of<Probes>().at(0);
  const auto law = law_of(series);
  REQUIRE(law);
  CHECK(law->points.at(3).law == 8);
  CHECK(law->counts == "exchanges of a warp");
  const auto derived = derive(trace);
  CHECK(value_of(derived.at(0), "shuffle rate") == doctest::Approx(128).epsilon(0.01));
  CHECK(find(derived.at(0), "shuffle rate")->estimate.unit == "shuffles/cycle/SM");
  CHECK(find(derived.at(0), "shuffle rate")->verdict == Agreement::agrees);

  const Trace* const run[] = {&trace};
  const Comparison same = compare(run, run);
  REQUIRE(same.figures.size() == 1);
  CHECK(same.figures.front().name == "shuffles of one word");
  CHECK(same.figures.front().unit == FigureUnit::operations_per_s);
}

TEST_CASE("it takes the axes that it names and no others") {
  const Probe& probe = find_probe("shuffle", device);
  const ProbeCase c = probe.cases(device).at(0);
  Shape shape = probe.shapes(c).at(1);
  CHECK_FALSE(probe.refuses({c, shape}));
  shape.stride = 2;
  CHECK(probe.refuses({c, shape}) == "probe shuffle has no stride");
}

TEST_CASE("of a probe that this build does not know a trace is read all the same") {
  ProbeSeries series = measured();
  series.question.probe = "newer";
  const Trace trace = trace_of(series);
  const std::string text = text_of(trace);
  CAPTURE(text);
  CHECK(has(text, "newer sim:h200 sum int32"));
  CHECK(has(text, "G work/s"));
  CHECK(has(text, "ways"));
  CHECK_FALSE(law_of(trace.of<Probes>().at(0)));
  CHECK(derive(trace).at(0).parameters.empty());
  const Trace* const run[] = {&trace};
  CHECK(compare(run, run).figures.empty());
}

TEST_CASE("every probe has a description, and is asked something by it or by its family") {
  for (const auto& probe : probes()) {
    CAPTURE(probe->name());
    CHECK(description_of(probe->name()).name == probe->name());
    CHECK_FALSE(description_of(probe->name()).summary.empty());
    CHECK(probe->summary() == description_of(probe->name()).summary);
  }
  CHECK(registered<ProbeDescription>().size() == 20);
}

}  // namespace new_probe_test

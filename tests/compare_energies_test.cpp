#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "npgpu/model/compare.hpp"
#include "npgpu/report/report.hpp"

namespace compare_energies_test {

using namespace npgpu;

namespace {

// Three runs of one H200 (docs/energy.md) were taken; the second is kept.
Trace kept() { return read_trace(std::filesystem::path(NPGPU_SOURCE_DIR) / "data/traces/h200_energy.h5"); }

// Of this work, each window's energy and power as if the work took so many times as much; of rest, the whole device.
Trace changed(double factor, EnergyWork work, double warmer_c = 0) {
  Trace trace = kept();
  double rest_w = 0;
  for (const EnergyFigure& f : energy_figures(trace))
    if (f.question.work == EnergyWork::idle) rest_w = f.full.power_w.value;
  for (EnergySeries& series : trace.of<Energies>()) {
    for (EnergySample& s : series.samples) {
      s.temperature_c += warmer_c;
      if (series.question.work != work) continue;
      const double rest_j = work == EnergyWork::idle ? 0 : rest_w * s.window_us * 1e-6;
      s.energy_j = rest_j + factor * (s.energy_j - rest_j);
    }
  }
  return trace;
}

Comparison compared(const Trace& a, const Trace& b, std::optional<double> tolerance = {}) {
  const Trace *const before = &a, *const now = &b;
  return compare({&before, 1}, {&now, 1}, tolerance);
}

const EnergyChange& change_of(const Comparison& all, EnergyWork work, DataType type = DataType::fp32) {
  for (const EnergyChange& e : all.energies)
    if (e.question.work == work && (is_idle(work) || e.question.type == type)) return e;
  FAIL("there is none");
  return all.energies.front();
}

}  // namespace

TEST_CASE("a trace beside itself: no work takes more or less, and nothing that takes time is judged") {
  const Trace trace = kept();
  const Comparison all = compared(trace, trace, 0.05);
  CHECK(all.energies.size() == trace.of<Energies>().size());
  for (const EnergyChange& e : all.energies) {
    CHECK(e.change == 0);
    CHECK(e.p == 1);
    CHECK(e.low < 0);
    CHECK(e.high > 0);
    // Copies over the link take little over rest.
    const bool is_wide = is_link_copy(e.question.work);
    CHECK(e.verdict == (is_wide ? Verdict::cannot_tell : Verdict::same));
  }
  CHECK(all.cases.empty());
  CHECK(outcome_of(all) == Outcome::cannot_tell);
}

TEST_CASE("work that takes a tenth more is found, by how much, and nothing else") {
  const Comparison all = compared(kept(), changed(1.1, EnergyWork::fma));
  int fmas = 0;
  for (const EnergyChange& e : all.energies) {
    if (e.question.work != EnergyWork::fma) {
      CHECK(e.verdict != Verdict::slower);
      continue;
    }
    ++fmas;
    CHECK(e.change == doctest::Approx(0.1).epsilon(0.02));
    CHECK(e.low < 0.1);
    CHECK(e.high > 0.1);
    CHECK(e.verdict == Verdict::slower);
  }
  CHECK(fmas == 2);
  CHECK(outcome_of(all) == Outcome::cannot_tell);  // more energy is not slower
  CHECK(change_of(compared(changed(1.1, EnergyWork::fma), kept()), EnergyWork::fma).verdict == Verdict::faster);
  CHECK(change_of(compared(kept(), changed(1.1, EnergyWork::fma), 0.3), EnergyWork::fma).verdict == Verdict::same);
}

TEST_CASE("rest is judged between runs that were as warm") {
  const EnergyChange as_warm = change_of(compared(kept(), changed(1.2, EnergyWork::idle)), EnergyWork::idle);
  CHECK(as_warm.verdict == Verdict::slower);
  CHECK(as_warm.change == doctest::Approx(0.2));
  const EnergyChange warmer = change_of(compared(kept(), changed(1.2, EnergyWork::idle, 12)), EnergyWork::idle);
  CHECK(warmer.verdict == Verdict::cannot_tell);
  CHECK(warmer.note == "B was 12 °C warmer");
}

TEST_CASE("several runs on a side: their mean, and what they differ by") {
  const Trace first = kept(), second = changed(1.04, EnergyWork::fma), now = changed(1.12, EnergyWork::fma);
  const Trace *const before[] = {&first, &second}, *const after[] = {&now};
  const Comparison all = compare(before, after);
  const EnergyChange& fma = change_of(all, EnergyWork::fma);
  CHECK(fma.change == doctest::Approx(1.12 / std::sqrt(1.04) - 1).epsilon(0.02));
  // Two runs that differ by 4 % say less than two that are alike.
  const Trace* const alike[] = {&first, &first};
  const EnergyChange& narrow = change_of(compare(alike, after), EnergyWork::fma);
  CHECK(fma.high - fma.low > 1.5 * (narrow.high - narrow.low));
}

TEST_CASE("wrong results are broken, what stopped has no figure, what one side lacks is said") {
  Trace wrong = kept();
  for (EnergySeries& series : wrong.of<Energies>())
    if (series.question.work == EnergyWork::read)
      for (EnergySample& s : series.samples) s.intact = 0;
  const Comparison broken = compared(kept(), wrong);
  CHECK(change_of(broken, EnergyWork::read, DataType::fp32).verdict == Verdict::broken);
  CHECK(outcome_of(broken) == Outcome::broken);

  Trace stopped = kept();
  for (EnergySeries& series : stopped.of<Energies>())
    if (series.question.work == EnergyWork::write) series.error = "the device was lost";
  const EnergyChange lost = change_of(compared(kept(), stopped), EnergyWork::write);
  CHECK(lost.verdict == Verdict::no_figure);
  CHECK(lost.note == "B: the device was lost");

  Trace fewer = kept();
  std::erase_if(fewer.of<Energies>(), [](const EnergySeries& s) { return s.question.work == EnergyWork::write; });
  CHECK(change_of(compared(kept(), fewer), EnergyWork::write).verdict == Verdict::only_a);
  CHECK(change_of(compared(fewer, kept()), EnergyWork::write).verdict == Verdict::only_b);
}

TEST_CASE("work that cannot be told from rest is no fault") {
  const Comparison all = compared(kept(), changed(-2, EnergyWork::h2d));
  const EnergyChange& copies = change_of(all, EnergyWork::h2d);
  CHECK(copies.verdict == Verdict::cannot_tell);
  CHECK(copies.note == "B: it cannot be distinguished from rest");
  CHECK(outcome_of(all) == Outcome::cannot_tell);
}

TEST_CASE("the screen and the JSON say more and less, in pJ and W") {
  const Trace a = kept(), b = changed(1.1, EnergyWork::fma);
  ComparisonReport of{{{"a.h5"}, {&a}}, {{"b.h5"}, {&b}}, compared(a, b), false};
  std::ostringstream text, json;
  compare_text(text, of, {}, {});
  CHECK(text.str().find("Energies were compared, and nothing that takes time. It takes more energy for: fma fp") !=
        std::string::npos);
  CHECK(text.str().find("+10 %") != std::string::npos);
  CHECK(text.str().find("  more\n") != std::string::npos);
  CHECK(text.str().find("not compared") == std::string::npos);
  CHECK(text.str().find("only in") == std::string::npos);
  Trace none = b;
  none.of<Energies>().resize(1);
  ComparisonReport less{{{"a.h5"}, {&a}}, {{"b.h5"}, {&none}}, compared(a, none), false};
  std::ostringstream little;
  compare_text(little, less, {}, {});
  CHECK(little.str().find("10 works only in A") != std::string::npos);
  compare_json(json, of);
  const auto all = nlohmann::json::parse(json.str())["energies"];
  REQUIRE(all.size() == of.found.energies.size());
  for (const auto& one : all)
    if (one["work"] == "idle") {
      CHECK(one["unit"] == "W");
      CHECK(one["a"].get<double>() == doctest::Approx(of.found.energies.front().a));
    } else if (one["work"] == "fma fp32 (random)") {
      CHECK(one["unit"] == "pJ");
      CHECK(one["a"].get<double>() == doctest::Approx(5.11).epsilon(0.01));
      CHECK(one["verdict"] == "slower");
    }
}

}  // namespace compare_energies_test

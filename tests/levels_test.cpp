// Levels of caches, knees and corners in curves.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "netpipe/model/probes/derivation.hpp"
#include "npgpu/model/derive.hpp"

namespace levels_test {

using namespace npgpu;
using model::knee_of;
using model::Level;
using model::levels_of;
using model::LoadTime;

// Levels of a memory in curves made up by hand: sets from 4 KiB on, four an octave.

namespace {

constexpr double to_next_point = 1.1893;  // 2^(1/4)

std::vector<LoadTime> curve(double most, const std::function<double(double)>& ns) {
  std::vector<LoadTime> points;
  for (int i = 0;; ++i) {
    const double bytes = 4096 * std::exp2(i / 4.0);
    if (bytes > most * 1.001) return points;
    const double v = ns(bytes);
    points.push_back({static_cast<std::uint64_t>(std::llround(bytes)), {v, v * 0.99, v * 1.01, "ns", {}}, {}});
  }
}

double in_three(double bytes) { return bytes <= 32 * KiB ? 1 : bytes <= 1 * MiB ? 4 : 100; }

// All that a cache cannot hold of a set visited in random order.
double missing(double bytes, double cache) { return bytes <= cache ? 0 : 1 - cache / bytes; }

void check_size(const Level& level, double bytes, double tolerance) {
  CAPTURE(level.bytes.value);
  CHECK(std::abs(level.bytes.value / bytes - 1) <= tolerance);
  CHECK(level.bytes.low <= level.bytes.value);
  CHECK(level.bytes.high >= level.bytes.value);
}

}  // namespace

TEST_CASE("sharp steps: a size lies between the last point that fits and the next") {
  const auto levels = levels_of(curve(16 * MiB, in_three));
  REQUIRE(levels.size() == 3);
  CHECK(levels[0].ns.value == 1);
  CHECK(levels[1].ns.value == 4);
  CHECK(levels[2].ns.value == 100);
  CHECK(levels[0].bytes.low == 32 * KiB);
  CHECK(levels[0].bytes.high == doctest::Approx(32 * KiB * to_next_point).epsilon(0.001));
  // Half of the loads miss half way to the next point: half of a quarter of an octave.
  CHECK(levels[0].bytes.value == doctest::Approx(32 * KiB * std::exp2(1 / 8.0)).epsilon(0.001));
  check_size(levels[1], MiB, 0.10);
  CHECK(std::isnan(levels[2].bytes.value));
}

TEST_CASE("no step at all: one level without an end, or none where the rise is steady and steep") {
  const auto flat = levels_of(curve(16 * MiB, [](double) { return 7.0; }));
  REQUIRE(flat.size() == 1);
  CHECK(flat[0].ns.value == 7);
  CHECK(std::isnan(flat[0].bytes.value));
  CHECK(levels_of(curve(16 * MiB, [](double b) { return std::sqrt(b); })).empty());          // 41 % an octave
  CHECK(levels_of(curve(16 * MiB, [](double b) { return std::pow(b, 0.1); })).size() == 1);  // 7 %
}

TEST_CASE("few points say little, none nothing") {
  CHECK(levels_of({}).empty());
  CHECK(levels_of(curve(4 * KiB, in_three)).empty());
  auto points = curve(16 * MiB, in_three);
  points.resize(2);
  CHECK(levels_of(points).empty());
  for (LoadTime& p : points) p.ns.value = not_measured;
  CHECK(levels_of(points).empty());
}

TEST_CASE("slow rises: half of the loads are answered by the next level") {
  // All that a cache of 1 MiB cannot hold of a larger set misses: half at 2 MiB.
  const auto levels = levels_of(curve(1024 * MiB, [](double b) { return 4 + 96 * missing(b, MiB); }));
  REQUIRE(levels.size() == 2);
  check_size(levels[0], 2 * MiB, 0.03);
  CHECK(levels[0].rise_octaves > 0.5);
  CHECK(levels_of(curve(16 * MiB, in_three))[0].rise_octaves < 0.25);
}

TEST_CASE("pages of random colour: the size is right though the rise begins at half of it") {
  // 1 MiB in 8 ways of 32 colours of 4 KiB: a page misses where 8 others or more share its colour.
  const auto crowded = [](double bytes) {
    const double others = bytes / 4096 / 32;
    double term = std::exp(-others), below = 0;
    for (int k = 0; k < 8; ++k, term *= others / k) below += term;
    return 1 - below;
  };
  CHECK(crowded(MiB) == doctest::Approx(0.547).epsilon(0.001));
  const auto levels = levels_of(curve(64 * MiB, [&](double b) { return 3.8 + 8.1 * crowded(b); }));
  REQUIRE(levels.size() == 2);
  check_size(levels[0], MiB, 0.05);
}

TEST_CASE("noise of 5 %, and single points three times too slow, move nothing") {
  int i = 0;
  const auto noisy = curve(16 * MiB, [&](double b) {
    ++i;
    return in_three(b) * (1 + 0.05 * std::sin(2.3 * i)) * (i % 9 == 5 ? 3 : 1);
  });
  const auto levels = levels_of(noisy);
  REQUIRE(levels.size() == 3);
  check_size(levels[0], 32 * KiB, 0.20);
  check_size(levels[1], MiB, 0.20);
  CHECK(levels[1].ns.value == doctest::Approx(4).epsilon(0.05));
}

TEST_CASE("two levels whose sizes are an octave apart") {
  const auto levels = levels_of(curve(16 * MiB, [](double b) {
    return b <= 256 * KiB ? 10 : b <= 512 * KiB ? 20 : 40;
  }));
  REQUIRE(levels.size() == 3);
  check_size(levels[0], 256 * KiB, 0.10);
  check_size(levels[1], 512 * KiB, 0.10);
}

TEST_CASE("near and far parts of one cache are one level, a third slower is another") {
  const auto of = [](double second) {
    return levels_of(curve(16 * MiB, [&](double b) { return b <= 64 * KiB ? 200 : b <= MiB ? second : 1000; }));
  };
  REQUIRE(of(240).size() == 2);
  check_size(of(240)[0], MiB, 0.10);
  CHECK(of(280).size() == 3);
}

TEST_CASE("a slow rise of the last level, as of address translation, is no level of its own") {
  const auto levels = levels_of(curve(256 * MiB, [](double b) {
    return b <= MiB ? 100.0 : 500 * std::pow(b / MiB, 0.15);  // 11 % an octave: from 500 to 1150
  }));
  CHECK(levels.size() == 2);
}

TEST_CASE("cycles are preferred to times where every point has them: a clock that changes is no level") {
  auto points = curve(16 * MiB, in_three);
  for (LoadTime& p : points) {
    p.cycles = p.ns;
    if (p.bytes < 16 * KiB) p.ns.value *= 2;  // at half the clock
  }
  CHECK(levels_of(points).size() == 3);
  CHECK(levels_of(points)[0].cycles.value == 1);
}

TEST_CASE("bounds of the points widen the size's") {
  auto points = curve(16 * MiB, in_three);
  for (LoadTime& p : points)
    if (p.bytes > 27 * KiB && p.bytes <= 32 * KiB) p.ns.high = 3;  // above the mean, 2
  const auto levels = levels_of(points);
  CHECK(levels[0].bytes.low < 28 * KiB);
  CHECK(levels[0].bytes.value > 32 * KiB);
}

// Where one-thread blocks fill a unit: rates that rise and stay, by hand.

namespace {

using Points = std::vector<std::pair<double, Estimate>>;

Estimate about(double value, double part = 0) { return {value, value * (1 - part), value * (1 + part), {}, {}}; }

// 10 a block up to the knee.
Points rising_to(int knee, int most, double part = 0) {
  Points points;
  for (int k = 1; k <= most; ++k) points.emplace_back(k, about(10.0 * std::min(k, knee), part));
  return points;
}

}  // namespace

TEST_CASE("a rise and a plateau: the knee is where they meet") {
  for (const int knee : {2, 5, 6, 16, 18}) {
    const auto found = knee_of(rising_to(knee, 32));
    REQUIRE(found);
    CHECK(found->reached);
    CHECK(found->blocks.value == doctest::Approx(knee));
    CHECK(found->most == 32);
  }
}

TEST_CASE("the order of the points does not matter") {
  Points points = rising_to(5, 8);
  std::reverse(points.begin(), points.end());
  CHECK(knee_of(points)->blocks.value == doctest::Approx(5));
}

TEST_CASE("a knee between two numbers of blocks") {
  // 10, 20, 30, 35, 35, ...: the plateau meets the rise at 3.5.
  Points points;
  for (int k = 1; k <= 8; ++k) points.emplace_back(k, about(std::min(10.0 * k, 35.0)));
  CHECK(knee_of(points)->blocks.value == doctest::Approx(3.5));
}

TEST_CASE("dips on the plateau, where warps do not divide among schedulers, do not move it") {
  // Four schedulers, latency of 4 instructions: 16 blocks fill a unit, and 17 need five turns.
  Points points;
  for (int k = 1; k <= 32; ++k) points.emplace_back(k, about(k / std::max(4.0, std::ceil(k / 4.0))));
  CHECK(points[16].second.value < 0.9 * points[15].second.value);
  CHECK(knee_of(points)->blocks.value == doctest::Approx(16));
}

TEST_CASE("a rate that still grows at the end has no knee yet") {
  const auto found = knee_of(rising_to(18, 8));
  REQUIRE(found);
  CHECK_FALSE(found->reached);
  CHECK(std::isnan(found->blocks.value));
  CHECK(found->most == 8);
  CHECK_FALSE(knee_of(rising_to(8, 8))->reached);  // it may go on just as well
  CHECK(knee_of(rising_to(8, 9))->reached);
}

TEST_CASE("bounds of the rates become bounds of the knee") {
  const Estimate knee = knee_of(rising_to(16, 32, 0.01))->blocks;
  CHECK(knee.value == doctest::Approx(16));
  CHECK(knee.low == doctest::Approx(16 * 0.99 / 1.01));
  CHECK(knee.high == doctest::Approx(16 * 1.01 / 0.99));
  Points unknown = rising_to(16, 32);
  for (auto& [k, rate] : unknown) rate.low = rate.high = not_measured;
  CHECK(std::isnan(knee_of(unknown)->blocks.low));
}

TEST_CASE("too little to say anything") {
  CHECK_FALSE(knee_of({}));
  CHECK_FALSE(knee_of({{1, about(10)}, {2, about(20)}}));
  CHECK_FALSE(knee_of({{2, about(20)}, {4, about(40)}, {8, about(40)}}));  // without one block, the rise is not known
}

// The rates that Perez & Piccoli 2011 print, through our formulas: they give the printed parameters, but for one that
// contradicts its rates.

namespace {

struct Printed {
  double value = not_measured;
  int decimals = 0;
};
using Figures = std::map<std::string, Printed>;

Printed printed(const std::string& text) {
  if (text.empty()) return {};
  const auto point = text.find('.');
  return {std::stod(text), point == std::string::npos ? 0 : static_cast<int>(text.size() - point - 1)};
}

// data/papers/002_four_corners.csv: comments, a heading, then gpu,figure,value.
std::map<std::string, Figures> table() {
  std::ifstream file(std::filesystem::path(NPGPU_SOURCE_DIR) / "data/papers/002_four_corners.csv");
  std::map<std::string, Figures> gpus;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#' || line == "gpu,figure,value") continue;
    const auto first = line.find(','), second = line.find(',', first + 1);
    REQUIRE(second != std::string::npos);
    gpus[line.substr(0, first)][line.substr(first + 1, second - first - 1)] = printed(line.substr(second + 1));
  }
  REQUIRE(gpus.size() == 3);
  return gpus;
}

Corners corners_of(const Figures& f, const std::string& prefix) {
  Corners c;
  c.all_all.value = f.at(prefix + " AA").value;
  c.one_all.value = f.at(prefix + " OA").value;
  c.all_one.value = f.at(prefix + " AO").value;
  c.one_one.value = f.at(prefix + " OO").value;
  return c;
}

std::map<std::string, Parameter> by_name(const std::vector<Parameter>& all) {
  std::map<std::string, Parameter> named;
  for (const Parameter& p : all) named[p.name] = p;
  return named;
}

std::map<std::string, Parameter> parameters_of(const Figures& f) {
  auto all = by_name(compute_parameters(corners_of(f, "Cp")));
  all.merge(by_name(bandwidth_parameters(corners_of(f, "B"))));
  REQUIRE(all.size() == 6);
  return all;
}

// The last printed digit is right if the value lies within half of one.
bool rounds_to(double value, const Printed& printed) {
  return std::abs(value - printed.value) <= 0.5 * std::pow(10.0, -printed.decimals);
}

}  // namespace

TEST_CASE("the computed parameters of all three GPUs, to four digits") {
  struct Row {
    const char* gpu;
    const char *sm, *n, *l, *minbl, *w, *t;
  };
  const auto gpus = table();
  for (const Row& row : {Row{"GTS 250", "15.978", "32.063", "5.009", "5.488", "21.08", "114.62"},
                         Row{"GTX 260", "26.929", "32.041", "6.004", "12.307", "", ""},
                         Row{"GTX 470", "13.923", "71.641", "8.038", "3.692", "11.243", "98.33"}}) {
    CAPTURE(row.gpu);
    const auto p = parameters_of(gpus.at(row.gpu));
    const auto is = [&](const char* name, const char* wanted) {
      CAPTURE(name);
      const double value = p.at(name).estimate.value;
      CAPTURE(value);
      if (*wanted == 0) CHECK(std::isnan(value));
      else CHECK(rounds_to(value, printed(wanted)));
      CHECK(p.at(name).verdict == Agreement::no_reference);
    };
    is("SM", row.sm);
    is("N_PPipe", row.n);
    is("L_Pipe", row.l);
    is("N_MINBl", row.minbl);
    is("W_bus", row.w);
    is("T_delay", row.t);
    // Identities of the formulas: SM * N * L = Cp_AA / Cp_OO.
    const Corners c = corners_of(gpus.at(row.gpu), "Cp");
    const double product = p.at("SM").estimate.value * p.at("N_PPipe").estimate.value * p.at("L_Pipe").estimate.value;
    CHECK(product == doctest::Approx(c.all_all.value / c.one_one.value));
  }
}

TEST_CASE("a lost rate leaves its parameters empty, and they say so") {
  const auto p = parameters_of(table().at("GTX 260"));
  CHECK(p.at("W_bus").note == "All-One: not measured");
  CHECK(p.at("T_delay").note == "All-One: not measured");
  CHECK(p.at("N_MINBl").note == "");
}

TEST_CASE("GTX 260's lost All-One rate: the printed T_delay gives it back, and with it the printed W_bus") {
  Corners b = corners_of(table().at("GTX 260"), "B");
  b.all_one.value = 192.5 * b.one_one.value;
  CHECK(b.all_one.value > 3.875);
  CHECK(b.all_one.value < 3.877);
  const auto p = by_name(bandwidth_parameters(b));
  CHECK(p.at("W_bus").estimate.value == doctest::Approx(27.06).epsilon(2e-4));
  CHECK(rounds_to(p.at("W_bus").estimate.value, {27, 0}));
}

TEST_CASE("of all that the paper prints, one figure contradicts its own rates: GTX 470's 98.37") {
  std::set<std::string> inconsistent;
  int checked = 0;
  for (const auto& [gpu, figures] : table()) {
    const auto p = parameters_of(figures);
    for (const char* name : {"SM", "N_PPipe", "L_Pipe", "N_MINBl", "W_bus", "T_delay"}) {
      const double value = p.at(name).estimate.value;
      if (std::isnan(value)) continue;
      ++checked;
      if (!rounds_to(value, figures.at(name))) inconsistent.insert(gpu + ' ' + name);
    }
  }
  CHECK(checked == 16);
  CHECK(inconsistent == std::set<std::string>{"GTX 470 T_delay"});
  const Figures f = table().at("GTX 470");
  CHECK(f.at("T_delay").value == 98.37);
  CHECK(rounds_to(f.at("B AO").value / f.at("B OO").value, {98.33, 2}));
}

TEST_CASE("the computing power lies below what clock and processors allow, and reaches 92 % of it") {
  for (const auto& [gpu, f] : table()) {
    INFO(std::string(gpu));
    const double limit =
        f.at("operations of an SP per cycle").value * f.at("SP").value * f.at("shader clock MHz").value / 1e3;
    const double part = f.at("Cp AA").value / limit;
    CHECK(part > 0.92);
    CHECK(part < 1);
  }
}

}  // namespace levels_test

// The rates that Perez & Piccoli 2011 print, through our formulas: they give the printed parameters, but for one that
// contradicts its rates.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "npgpu/derive.hpp"

namespace four_corners_test {

using namespace npgpu;

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

}  // namespace four_corners_test

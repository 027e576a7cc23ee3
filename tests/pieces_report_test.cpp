// What the tables of pieces say, on times that a reader can divide.
#include <doctest/doctest.h>

#include <sstream>

#include "netpipe/report/series_text.hpp"
#include "npgpu/piece_advice.hpp"
#include "npgpu/report.hpp"

namespace pieces_report_test {

using namespace npgpu;

namespace {

WayTime way(PieceWay which, double us, double over, double low, double high) {
  return {which,
          {us, 0.99 * us, 1.01 * us, "us", ""},
          {us / 2, us / 2, us / 2, "us", ""},
          {over, low, high, "1", ""},
          !(low > 0)};
}

PieceTable made() {
  PieceTable table{{.device = "cuda:0", .direction = Direction::d2h}, "Test GPU", false, {}, {}};
  table.rows.push_back({8, 1024, {way(PieceWay::loop, 20, 0, 0, 0), way(PieceWay::kernel, 22, 0.1, -0.02, 0.2)}, {}});
  table.rows.push_back({8, 4096, {way(PieceWay::kernel, 25, 0, 0, 0), way(PieceWay::loop, 50, 1, 0.9, 1.1)}, {}});
  table.rows.push_back({8, 8192, {way(PieceWay::kernel, 30, 0, 0, 0)}, {"loop: the pieces were wrong"}});
  return table;
}

std::string text(const PieceTable& table, int width = 100) {
  Document doc;
  all_text(doc, {}, {table});
  return to_text(doc, {.width = width});
}

bool has(const std::string& all, const std::string& part) { return all.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a row for each number and size: times, the fastest, and by how much") {
  const std::string all = text(made());
  CAPTURE(all);
  CHECK(has(all, "pieces cuda:0 (Test GPU): d2h"));
  CHECK(has(all, "scattered on the device to contiguous on the host"));
  CHECK(has(all, "cannot tell"));
  CHECK(has(all, "2.00 (1.90..2.10)"));
  // 8 pieces of 4096 bytes in 25 us.
  CHECK(has(all, "1.31"));
  CHECK(has(all, "! 8 x 8 KiB: loop: the pieces were wrong"));
  CHECK(has(all, "cannot tell to 1 KiB; kernel from 4 KiB"));
  CHECK_FALSE(has(all, "SIMULATED"));
}

TEST_CASE("ways that cannot be told apart are named together, where others can") {
  PieceTable table = made();
  table.rows[0].ways.push_back(way(PieceWay::batch, 30, 0.5, 0.4, 0.6));
  const std::string all = text(table);
  CHECK(has(all, "loop/kernel  "));
  CHECK(has(all, "1.50 (1.40..1.60)"));
}

TEST_CASE("a table of one size, of a case that stopped, and of one that never ran") {
  PieceTable table = made();
  table.rows.resize(1);
  table.simulated = true;
  table.error = "the device was lost";
  table.question.async = true;
  const std::string all = text(table);
  CHECK(has(all, "SIMULATED pieces"));
  CHECK(has(all, "STOPPED"));
  CHECK(has(all, "copies follow each other"));
  CHECK(has(all, "cannot tell at 1 KiB"));
  table.rows.clear();
  CHECK(has(text(table), "NOT RUN"));
}

TEST_CASE("an advice names the fastest way, and what the others take") {
  const PieceTable table = made();
  PieceAdvice advice{
      100, 3000, {way(PieceWay::kernel, 40, 0, 0, 0), way(PieceWay::loop, 50, 0.25, 0.2, 0.3)}, {"a note"}};
  std::ostringstream out;
  piece_advice_text(out, {{&table, advice}}, {.width = 100});
  const std::string all = out.str();
  CAPTURE(all);
  CHECK(has(all, "100 x 3000 B"));
  CHECK(has(all, "fastest   kernel\n"));
  CHECK(has(all, "1.25 (1.20..1.30)"));
  CHECK(has(all, "7.500"));  // 300,000 bytes in 40 us
  CHECK(has(all, "a note"));
  std::ostringstream json;
  piece_advice_json(json, {{&table, advice}});
  CHECK(has(json.str(), "\"document\": \"npgpu-piece-advice\""));
  CHECK(has(json.str(), "\"way\": \"kernel\""));
}

}  // namespace pieces_report_test

// An evaluation of predictions written down by hand, as text and JSON.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "npgpu/report.hpp"

namespace evaluation_report_test {

using namespace npgpu;
using Json = nlohmann::json;

namespace {

// One workload, 1 MiB in and 2 MiB out, measured with 1, 2 and 4 streams; a model that knows it and one that has
// neither R2 nor error.
Evaluation made() {
  Evaluation e;
  e.device_name = "Test GPU";
  WorkloadScore w;
  w.workload.question = {.device = "cuda:0", .workload = Workload::memory, .order = Order::depth_first};
  w.workload.job = {.bytes_in = MiB, .bytes_out = 2 * MiB, .kernel_bytes = 2 * MiB, .iterations = 7};
  w.workload.streams = {1, 2, 4};
  w.workload.time_us = {{300, 299, 301, "us", ""}, {200, 199, 201, "us", ""}, {160, 159, 161, "us", ""}};
  w.kernel_us = 100;
  w.best = 4;
  w.models = {{"simulator", {300, 210, 152}, 2, 0.25, false, 2, 0.3},
              {"n = 1", {300, 300, 300}, 1, 0.875, true, 1, 0.875}};
  e.workloads = {w};
  ModelScore good;
  good.model = "simulator";
  good.source = "npgpu";
  good.workloads = 1;
  good.error = {0.05, 0.051, 0.0525};
  good.regret = {0.25, 0.25, 0.25};
  good.advised_regret = {0.3, 0.31, 0.32};
  good.cross_validated = {4, 0.02, 0.01, -0.005, 0.0625, 1};
  good.advised_cross_validated = {4, 0.03, 0.015, -0.01, 0.07, 2};
  good.hits = 0;
  good.r2 = 0.98765;
  good.rmse_us = 3;
  ModelScore poor;
  poor.model = "n = 1";
  poor.source = "no streams";
  poor.fitted = 2;
  poor.workloads = 1;
  poor.regret = {0.875, 0.875, 0.875};
  poor.hits = 1;
  e.models = {good, poor};
  return e;
}

std::string text(const Evaluation& e, Detail detail) {
  std::ostringstream out;
  TextStyle style;
  style.width = 120;
  evaluation_text(out, e, detail, style);
  return out.str();
}

bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

// The cells of the row that begins with these words.
std::vector<std::string> row(const std::string& text, const std::string& model) {
  const auto at = text.find("\n  " + model + ' ');
  REQUIRE(at != std::string::npos);
  std::istringstream line(text.substr(at + 3 + model.size(), text.find('\n', at + 1) - at - 3 - model.size()));
  std::vector<std::string> cells;
  for (std::string cell; line >> cell;) cells.push_back(cell);
  return cells;
}

}  // namespace

TEST_CASE("a row a model, in percent; what was not measured is a dash") {
  const std::string told = text(made(), Detail::brief);
  CAPTURE(told);
  CHECK(told.starts_with("predictions compared with 1 measured workload on Test GPU\n"));
  CHECK(row(told, "simulator") ==
        std::vector<std::string>{"5.00", "5.10", "5.25", "25.00", "25.00", "25.00", "30.00", "31.00", "0", "0.9877"});
  CHECK(row(told, "n = 1") == std::vector<std::string>{"-", "-", "-", "87.50", "87.50", "87.50", "-", "-", "100", "-"});
  CHECK(has(told, "time with the number of streams that the model chose among"));
  CHECK(has(told, "regret, cross-validated  jobs  mean %  median %     p5   p95  worse\n"));
  CHECK(row(told, "simulator, as advised") == std::vector<std::string>{"4", "3.00", "1.50", "-1.00", "7.00", "2"});
  CHECK(has(told, "Noise widens both tails alike"));
  // 300 us unsplit: 5 % at two streams and at four.
  CHECK(row(told, "of 300 us to 1 ms") == std::vector<std::string>{"1", "5.00", "5.00", "5.00"});
  CHECK_FALSE(has(told, "1 MiB in"));
}

TEST_CASE("in full, every workload with its times and how far the prediction is from each") {
  const std::string told = text(made(), Detail::full);
  CAPTURE(told);
  CHECK(has(told,
            "  1 MiB in, 100.0 us of memory kernel, 2 MiB out, depth-first: best 4, predicted 2, regret 25.00 %\n"
            "    1:300.0 us +0.0 %, 2:200.0 us +5.0 %, 4:160.0 us -5.0 %\n"));
}

TEST_CASE("how fast the host was, and what measuring costs, are said where they are known") {
  Evaluation e = made();
  CHECK_FALSE(has(text(e, Detail::brief), "The host's calls"));
  CHECK_FALSE(has(text(e, Detail::brief), "Measuring in place of predicting"));
  e.calls = {1.0625, 1.05, 1.07, "1", ""};
  e.measuring = {0.001, 0.0284, 0.1};
  const std::string told = text(e, Detail::brief);
  CAPTURE(told);
  CHECK(has(told, "The host's calls took 1.06 times as long as the costs say (1.05 .. 1.07)"));
  CHECK(has(told, "0.10 % in the median and 2.84 % at the"));
  std::ostringstream out;
  evaluation_json(out, e);
  const Json json = Json::parse(out.str());
  CHECK(json["calls_over_costs"] == Json{{"value", 1.0625}, {"low", 1.05}, {"high", 1.07}});
  CHECK(json["measuring"] == Json{{"median", 0.001}, {"p95", 0.0284}, {"most", 0.1}});
}

TEST_CASE("a simulated device is called so") {
  Evaluation e = made();
  e.simulated = true;
  CHECK(has(text(e, Detail::brief), "SIMULATED predictions compared with 1 measured workload on Test GPU\n"));
}

TEST_CASE("JSON: scores as parts of one, workloads with every point, null for what was not measured") {
  std::ostringstream out;
  evaluation_json(out, made());
  const Json json = Json::parse(out.str());
  CHECK(json["document"] == "npgpu-evaluation");
  CHECK(json["version"] == 1);
  CHECK(json["device_name"] == "Test GPU");
  CHECK(json["simulated"] == false);
  REQUIRE(json["models"].size() == 2);
  const Json& good = json["models"][0];
  CHECK(good["model"] == "simulator");
  CHECK(good["source"] == "npgpu");
  CHECK(good["fitted"] == 0);
  CHECK(good["workloads"] == 1);
  CHECK(good["error"] == Json{{"median", 0.05}, {"p95", 0.051}, {"most", 0.0525}});
  CHECK(good["regret"]["median"] == 0.25);
  CHECK(good["cross_validated"] ==
        Json{{"choices", 4}, {"mean", 0.02}, {"median", 0.01}, {"p5", -0.005}, {"p95", 0.0625}, {"worse", 1}});
  CHECK(good["advised_cross_validated"]["worse"] == 2);
  CHECK(json["models"][1]["cross_validated"]["mean"].is_null());
  CHECK(good["advised_regret"] == Json{{"median", 0.3}, {"p95", 0.31}, {"most", 0.32}});
  CHECK(json["by_length"][1]["workloads"] == 1);
  CHECK(json["by_length"][3]["to_us"].is_null());
  CHECK(good["hits"] == 0);
  CHECK(good["rmse_us"] == 3);
  CHECK(json["models"][1]["fitted"] == 2);
  CHECK(json["models"][1]["error"]["median"].is_null());
  CHECK(json["models"][1]["r2"].is_null());
  REQUIRE(json["workloads"].size() == 1);
  const Json& w = json["workloads"][0];
  CHECK(w["workload"] == "memory");
  CHECK(w["order"] == "depth-first");
  CHECK(w["bytes_in"] == MiB);
  CHECK(w["bytes_out"] == 2 * MiB);
  CHECK(w["kernel_bytes"] == 2 * MiB);
  CHECK(w["iterations"] == 7);
  CHECK(w["threads"] == 512);
  CHECK(w["kernel_us"] == 100);
  CHECK(w["best"] == 4);
  CHECK(w["predicted_best"] == 2);
  CHECK(w["regret"] == 0.25);
  REQUIRE(w["points"].size() == 3);
  CHECK(w["points"][1] ==
        Json{{"streams", 2}, {"measured_us", 200}, {"low_us", 199}, {"high_us", 201}, {"predicted_us", 210}});
}

}  // namespace evaluation_report_test

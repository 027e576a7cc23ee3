// sinfo shows twenty characters of a node's reason: they must say which GPU, and what.
#include <doctest/doctest.h>

#include <sstream>

#include "npgpu/report/report.hpp"

using namespace npgpu;

namespace {

HealthFinding failure(const char* device, const char* metric, double value, double limit, const char* unit,
                      CheckVerdict verdict = CheckVerdict::slow, const char* text = "") {
  HealthFinding finding;
  finding.device = device;
  finding.metric = metric;
  finding.health = Health::fail;
  finding.value = value;
  finding.limit = limit;
  finding.unit = unit;
  finding.if_failed = verdict;
  finding.text = text;
  return finding;
}

std::string reason(std::vector<HealthFinding> findings, CheckVerdict verdict = CheckVerdict::slow) {
  CheckReport check;
  check.verdict = verdict;
  check.findings = std::move(findings);
  return check_reason(check);
}

}  // namespace

TEST_CASE("twenty characters name the GPU and the fault") {
  constexpr CheckVerdict broken = CheckVerdict::broken;
  CHECK(reason({failure("cuda:3", "pcie_link", 8, 16, "lanes")}) == "cuda:3 PCIe x8/x16");
  CHECK(reason({failure("cuda:3", "pcie_link", 4, 5, "generation")}) == "cuda:3 PCIe Gen4/Gen5");
  CHECK(reason({failure("cuda:3", "sms", 129, 132, "multiprocessors", broken)}, broken) == "cuda:3 SMs 129/132");
  CHECK(reason({failure("cuda:3", "nvlink", 4, 18, "links", broken)}, broken) == "cuda:3 NVLinks 4/18");
  CHECK(reason({failure("cuda:3", "ecc_uncorrected", 2, 0, "errors", broken)}, broken) == "cuda:3 2 ECC errors");
  CHECK(reason({failure("cuda:3", "xid", 1, 0, "errors", broken)}, broken) == "cuda:3 1 Xid errors");
  CHECK(reason({failure("cuda:3", "results", 7, 0, "wrong results", broken)}, broken) == "cuda:3 wrong results");
  CHECK(reason({failure("", "expected_gpus", 7, 8, "GPUs", broken)}, broken) == "GPUs 7/8");
  CHECK(reason({failure("", "peer_results", 12, 0, "wrong results", broken,
                        "copies between cuda:0 and cuda:1 deliver zeros (12 of 12 compared were wrong)")},
               broken) == "cuda:0 and cuda:1 deliver zeros");
  CHECK(reason({failure("", "peer_rate", 30e9, 36e9, "B/s", CheckVerdict::slow,
                        "copies cuda:0 -> cuda:2 are slow: 30 GB/s, and others reach 40 GB/s")}) ==
        "cuda:0 -> cuda:2 are slow");
  CHECK(reason({failure("cuda:3", "sm_clock", 1410, 1900, "MHz")}) == "cuda:3 SM clock 1410 MHz");
  CHECK(reason({failure("cuda:3", "throttle", 5, 0, "visits", CheckVerdict::slow,
                        "throttled in 5 of 9 visits: too hot")}) == "cuda:3 too hot");
  CHECK(reason({failure("cuda:3", "h2d_rate", 27.9e9, 51.5e9, "B/s")}) == "cuda:3 H2D 27.9/51.5 GB/s");
  CHECK(reason({failure("cuda:3", "memory_read_rate", 4.113e12, 4.66e12, "B/s")}) ==
        "cuda:3 memory read 4.11/4.66 TB/s");
  CHECK(reason({failure("cuda:3", "launch_time", 9.04, 6.1, "us")}) == "cuda:3 launch 9.04/6.1 us");
  CHECK(reason({failure("cuda:3", "expected_link", not_measured, not_measured, "", broken,
                        "link gen5x8, expected gen5x16")},
               broken) == "cuda:3 link gen5x8, expected gen5x16");
  // What this file does not know is called by its metric.
  CHECK(reason({failure("cuda:3", "device_lost", not_measured, not_measured, "", broken)}, broken) ==
        "cuda:3 device lost");
}

TEST_CASE("what the verdict rests on comes first, and each GPU is named once") {
  const auto link = failure("cuda:0", "pcie_link", 8, 16, "lanes"),
             copy = failure("cuda:0", "h2d_rate", 28e9, 52e9, "B/s");
  const auto hot =
      failure("cuda:5", "throttle", 5, 0, "visits", CheckVerdict::slow, "throttled in 5 of 9 visits: too hot");
  const auto ecc = failure("cuda:5", "ecc_uncorrected", 2, 0, "errors", CheckVerdict::broken);
  CHECK(reason({link, copy, hot}) == "cuda:0 PCIe x8/x16, H2D 28/52 GB/s; cuda:5 too hot");
  CHECK(reason({link, copy, ecc}, CheckVerdict::broken) == "cuda:5 2 ECC errors; cuda:0 PCIe x8/x16, H2D 28/52 GB/s");
  std::vector<HealthFinding> many;
  for (const char* metric : {"a", "b", "c", "d", "e", "f", "g"}) many.push_back(failure("cuda:0", metric, 1, 2, ""));
  CHECK(reason(many) == "cuda:0 a 1/2, b 1/2, c 1/2, d 1/2, e 1/2 and 2 more");
}

TEST_CASE("nothing fails: no reason; text of others stays on its line") {
  HealthFinding passed = failure("cuda:0", "pcie_link", 16, 16, "lanes");
  passed.health = Health::pass;
  CHECK(reason({passed}, CheckVerdict::ok).empty());
  CHECK(reason({failure("cuda:0", "expected_name", not_measured, not_measured, "", CheckVerdict::slow, "a\n\x1b[31mb")})
            .find_first_of("\n\x1b") == std::string::npos);
}

TEST_CASE("what the first cause leaves over has a cause and a remedy on the screen, too") {
  CheckReport check;
  check.verdict = CheckVerdict::slow;
  check.gpus = {{"cuda:0", "NVIDIA X1", ""}};
  check.findings = {failure("cuda:0", "sm_clock", 1700, 1930, "MHz"),
                    failure("cuda:0", "d2d_rate", 1.7e12, 2e12, "B/s")};
  const Explanation capped{"clock_cap", "the SM clock is capped", "1700 MHz", "lift it"};
  check.findings[0].explanations = {capped};
  check.findings[1].explanations = {capped,
                                    {"slow_memory", "the GPU's memory is slow, too", "1.7 TB/s", "reset it", true}};
  std::ostringstream screen;
  check_text(screen, check, false, {});
  for (const char* words : {"the SM clock is capped", "lift it", "the GPU's memory is slow, too", "reset it"})
    CHECK(screen.str().find(words) != std::string::npos);
}

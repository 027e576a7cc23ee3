// A matrix by hand: what is slow is named once, by what it has in common.
#include "npgpu/judge/matrix.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "netpipe/judge/matrix/links.hpp"
#include "npgpu/judge/health.hpp"
#include "tests/made_sweep.hpp"

namespace matrix_test {

using namespace npgpu;

namespace {

// Four GPUs, 0 and 1 on one switch, 2 and 3 on another.
Trace trace_of_four() {
  Trace trace;
  for (int i = 0; i < 4; ++i) {
    const std::string id = "cuda:" + std::to_string(i), root = i < 2 ? "0000:10:00.0" : "0000:20:00.0";
    trace.provenance.emplace_back("gpu" + std::to_string(i), Facts{{"id", id},
                                                                   {"pci_bus_id", "0000:0" + std::to_string(i)},
                                                                   {"numa_node", std::int64_t{i / 2}},
                                                                   {"pci_path", root + " > " + root + "1"}});
  }
  return trace;
}

std::string gpu(int i) { return "cuda:" + std::to_string(i); }

NodeMatrix node_of(
    double (*rate)(int, int), Access (*access)(int, int) = [](int, int) { return Access::write; }) {
  NodeMatrix node;
  RateMatrix matrix;
  for (int i = 0; i < 4; ++i) {
    node.devices.push_back({gpu(i), "H200", false});
    for (int j = 0; j < 4; ++j) {
      if (i == j) continue;
      MatrixCell cell{gpu(i), gpu(j), access(i, j), 1024};
      const double its = rate(i, j) * 1e9;
      cell.value = {its, 0.999 * its, 1.001 * its, "bytes per second", "by hand"};
      matrix.cells.push_back(cell);
    }
  }
  node.matrices.push_back(matrix);
  return node;
}

// What does not pass.
std::vector<NodeFinding> outliers(const NodeMatrix& node) {
  std::vector<NodeFinding> bad = verdict_of(trace_of_four(), node).findings;
  std::erase_if(bad, [](const NodeFinding& one) { return one.health == Health::pass; });
  return bad;
}

// Across the sockets 40, on a switch 50.
double usual(int i, int j) { return i / 2 == j / 2 ? 50 : 40; }

}  // namespace

TEST_CASE("links by the facts of a trace") {
  Trace trace = trace_of_four();
  const model::Links links(trace);
  CHECK(links.kind("cuda:0", "cuda:1") == "PCIe within one switch");
  CHECK(links.text("cuda:0", "cuda:1") == "PCIe within one switch (0000:10:00.01)");
  CHECK(links.kind("cuda:1", "cuda:2") == "PCIe and the link between two sockets");
  CHECK(links.kind("cuda:0", "cuda:9") == "a link that the trace does not name");
  const auto shared = links.shared_by({"cuda:0", "cuda:1", "cuda:2", "cuda:3"});
  REQUIRE(shared.size() == 2);  // the bridges below have the same GPUs as the ports above, and as the NUMA nodes
  CHECK(shared[0].name == "the bridge 0000:10:00.01");
  CHECK(shared[0].devices == std::vector<std::string>{"cuda:0", "cuda:1"});
  for (auto& [group, facts] : trace.provenance) {
    facts.emplace_back("nvlinks", std::int64_t{18});
    facts.emplace_back("nvlink_version", std::string("4.0"));
  }
  CHECK(model::Links(trace).kind("cuda:0", "cuda:3") == "18 NVLinks 4.0");
  // A mesh: GPU 0 has 12 links to GPU 1, and none to GPU 3.
  trace.provenance[0].second.emplace_back("nvlinks_to", std::string("0000:01 x12, 0000:02 x6"));
  CHECK(model::Links(trace).kind("cuda:0", "cuda:1") == "12 NVLinks 4.0");
  CHECK(model::Links(trace).kind("cuda:0", "cuda:3") == "PCIe and the link between two sockets");
  trace.provenance[0].second.back().second = std::string("switch x18");
  CHECK(model::Links(trace).kind("cuda:0", "cuda:3") == "18 NVLinks 4.0 through switches");
}

TEST_CASE("a switch has a bridge to each device, and over it go those of one switch") {
  Trace trace;
  const char* const paths[] = {"root > up > a", "root > up > b", "root > up > c > up2 > d", "other"};
  for (int i = 0; i < 4; ++i)
    trace.provenance.emplace_back("gpu" + std::to_string(i),
                                  Facts{{"id", gpu(i)}, {"pci_path", std::string(paths[i])}});
  const model::Links links(trace);
  CHECK(links.text("cuda:0", "cuda:1") == "PCIe within one switch (up)");
  CHECK(links.kind("cuda:0", "cuda:2") == "PCIe over several switches");
  CHECK(links.kind("cuda:0", "cuda:3") == "PCIe over two root ports");
}

TEST_CASE("pairs that are joined in other ways are no outliers") {
  CHECK(outliers(node_of(usual)).empty());
  CHECK(verdict_of(trace_of_four(), node_of(usual)).verdict == CheckVerdict::ok);
}

TEST_CASE("one pair, slow one way or both ways, is one finding") {
  const auto one = outliers(node_of([](int i, int j) { return i == 0 && j == 2 ? 30 : usual(i, j); }));
  REQUIRE(one.size() == 1);
  CHECK(one[0].devices == std::vector<std::string>{"cuda:0", "cuda:2"});
  CHECK(one[0].text == "copies cuda:0 -> cuda:2 are slow: 30 GB/s, and pairs on the same kind of link reach 40 GB/s");
  CHECK(one[0].if_failed == CheckVerdict::slow);
  CHECK(one[0].value == doctest::Approx(30e9));
  CHECK(one[0].limit == doctest::Approx(36e9));
  REQUIRE_FALSE(one[0].explanations.empty());
  CHECK(one[0].explanations[0].cause == "peer_way");
  const auto both = outliers(node_of([](int i, int j) { return i + j == 2 && i != j ? 30 : usual(i, j); }));
  REQUIRE(both.size() == 1);
  CHECK(both[0].text.find("copies between cuda:0 and cuda:2 are slow") == 0);
}

TEST_CASE("a GPU of which all copies are slow is one finding, which says which way") {
  const auto out = outliers(node_of([](int i, int j) { return i == 3 ? usual(i, j) / 2 : usual(i, j); }));
  REQUIRE(out.size() == 1);
  CHECK(out[0].device == "cuda:3");
  CHECK(out[0].text.find("copies from cuda:3 to all other GPUs are slow: 20 GB/s") == 0);
  CHECK(out[0].explanations.at(0).cause == "link");
}

TEST_CASE("what goes through the host where others do not is a finding, and where all do it is none") {
  const auto staged = [](int i, int j) { return i + j == 3 ? Access::staged : Access::write; };
  const auto found = outliers(node_of([](int i, int j) { return i + j == 3 ? 10 : usual(i, j); }, staged));
  REQUIRE(found.size() == 2);  // 0 and 3, 1 and 2
  CHECK(
      found[0].text ==
      "copies between cuda:0 and cuda:3 go through the host, as the GPUs do not see each other's memory: 10 GB/s, and "
      "pairs on the same kind of link reach 40 GB/s");
  CHECK(found[0].explanations.at(0).cause == "no_peer_access");
  CHECK(outliers(node_of([](int, int) { return 10.0; }, [](int, int) { return Access::staged; })).empty());
}

TEST_CASE("an interval that holds the limit is undecided, and one beyond it slow") {
  NodeMatrix node = node_of([](int i, int j) { return i == 0 && j == 2 ? 35 : usual(i, j); });
  CHECK(verdict_of(trace_of_four(), node).verdict == CheckVerdict::slow);
  for (MatrixCell& cell : node.matrices[0].cells)
    if (cell.source == "cuda:0" && cell.target == "cuda:2") cell.value.high = 37e9;  // the limit is 36
  const MatrixVerdict verdict = verdict_of(trace_of_four(), node);
  CHECK(verdict.verdict == CheckVerdict::undecided);
  CHECK(verdict.findings.at(0).health == Health::undecided);
  CHECK(verdict.findings[0].text ==
        "copies cuda:0 -> cuda:2 (writes, by copy engines, one way): 35 GB/s (35 to 37), at "
        "least 36 GB/s");
  // As of a GPU's own copies: what reaches the limit in five of six visits can reach it.
  for (MatrixCell& cell : node.matrices[0].cells)
    if (cell.source == "cuda:0" && cell.target == "cuda:2") cell.by_visit = {38e9, 37e9, 38e9, 20e9, 37e9, 39e9};
  CHECK(verdict_of(trace_of_four(), node).verdict == CheckVerdict::ok);
}

TEST_CASE("small copies of a GPU are not compared with the large ones of others") {
  NodeMatrix node = node_of([](int i, int j) { return i == 0 && j == 2 ? 0.008 : usual(i, j); });
  CHECK(verdict_of(trace_of_four(), node).verdict == CheckVerdict::slow);
  for (MatrixCell& cell : node.matrices[0].cells)
    if (cell.source == "cuda:0" && cell.target == "cuda:2") cell.bytes = 8;
  CHECK(outliers(node).empty());
}

TEST_CASE("two GPUs: what NVLinks of their generation carry, and the other direction, are limits") {
  Trace trace;
  for (int i = 0; i < 2; ++i)
    trace.provenance.emplace_back(
        "gpu" + std::to_string(i),
        Facts{{"id", gpu(i)}, {"nvlinks", std::int64_t{18}}, {"nvlink_version", std::string("4.0")}});
  const auto verdict = [&](double forth, double back) {
    NodeMatrix node;
    RateMatrix matrix;
    for (int i = 0; i < 2; ++i) {
      node.devices.push_back({gpu(i), "H200", false});
      MatrixCell cell{gpu(i), gpu(1 - i), Access::write, 1024};
      const double rate = (i == 0 ? forth : back) * 1e9;
      cell.value = {rate, rate, rate, "", ""};
      matrix.cells.push_back(cell);
    }
    node.matrices.push_back(matrix);
    return verdict_of(trace, node);
  };
  CHECK(model::Links(trace).nvlink_limit("cuda:0", "cuda:1").per_s == doctest::Approx(450e9));
  CHECK(verdict(394, 392).verdict == CheckVerdict::ok);
  const MatrixVerdict both = verdict(200, 200);
  CHECK(both.verdict == CheckVerdict::slow);
  CHECK(both.findings.at(0).text ==
        "copies between cuda:0 and cuda:1 are slow: 200 GB/s, and 18 NVLinks 4.0 of 25 GB/s carry 450 GB/s");
  CHECK(both.findings[0].explanations.at(0).cause == "nvlink");
  for (auto& [group, facts] : trace.provenance) facts = {{"id", *find_fact(facts, "id")}};
  const MatrixVerdict one = verdict(50, 25);  // nothing is known of the link
  CHECK(one.verdict == CheckVerdict::slow);
  CHECK(one.findings.at(0).text ==
        "copies cuda:1 -> cuda:0 are slow: 25 GB/s, and the other direction reaches 50 GB/s");
}

// Copies between all pairs of so many GPUs, 1 MB in 20 us, as npgpu matrix asks for them; `spoil` is called with each
// series.
template <class Spoil> Trace trace_of_pairs(int gpus, Spoil spoil) {
  Trace trace;
  trace.root.complete = true;
  for (int i = 0; i < gpus; ++i)
    for (int j = 0; j < gpus; ++j) {
      if (i == j) continue;
      TransferSeries series = sweep_of();
      series.question = peer_case("cudaMemcpyPeer", gpu(i), gpu(j), Access::write);
      series.question.async = true;
      series.question.timing = Timing::gated;
      add_point(series, 1'000'000, {20, 20, 20, 20, 20, 20});
      for (TransferSample& sample : series.samples) sample.intact = 1;
      spoil(series, i, j);
      trace.of<Transfers>().push_back(series);
    }
  return trace;
}

void bring_zeros(TransferSeries& series) {
  for (TransferSample& sample : series.samples) sample.intact = 0;
  series.error = "wrong at 1 MB: " + std::string("all 1000000 bytes are 0x00") + "; where an IOMMU redirects";
}

// The sentences that payload_test.cpp has, too.
TEST_CASE("the sentences of payloads are told apart") {
  CHECK(model::wrong_bytes_of("all 4096 bytes are 0x00") == WrongBytes::zeros);
  CHECK(model::wrong_bytes_of("byte 17 of 4096 is 0x5c, expected 0xa3: never written") == WrongBytes::unwritten);
  CHECK(model::wrong_bytes_of("byte 17 of 4096 is 0x00, expected 0xa3") == WrongBytes::other);
}

TEST_CASE("advice on zeros between GPUs leaves out what is already so") {
  const auto advises = [](const std::string& domain, double redirects, const char* word) {
    return model::mend_peer_path({domain}, redirects).find(word) != std::string::npos;
  };
  CHECK(advises("DMA-FQ", 0, "iommu=pt"));
  CHECK_FALSE(advises("DMA-FQ", 0, "ACS"));
  CHECK(advises("", not_measured, "iommu=pt"));
  CHECK(advises("", not_measured, "ACS"));
  for (const char* passes : {"identity", "none"}) {
    CHECK_FALSE(advises(passes, not_measured, "iommu=pt"));
    CHECK(advises(passes, not_measured, "ACS"));
    CHECK(advises(passes, 0, "driver"));
  }
  CHECK_FALSE(model::mend_peer_path({"identity", "DMA"}, 0).find("iommu=pt") == std::string::npos);
}

TEST_CASE("zeros between two GPUs are one finding that names IOMMU and ACS, and no GPU's fault") {
  const Trace trace = trace_of_pairs(2, [](TransferSeries& series, int, int) { bring_zeros(series); });
  const MatrixVerdict verdict = verdict_of(trace, node_matrix(trace));
  CHECK(verdict.verdict == CheckVerdict::broken);
  CHECK(verdict.findings.at(0).text == "copies between cuda:0 and cuda:1 deliver zeros (12 of 12 compared were wrong)");
  CHECK(verdict.findings[0].explanations.at(0).cause == "peer_redirected");
  const auto health = health_of(trace);
  CHECK(verdict_of(health) == CheckVerdict::broken);
  for (const HealthFinding& one : health)
    if (one.metric == "results") CHECK(one.health != Health::fail);
}

TEST_CASE("wrong copies are one direction, a GPU's or all: no more lines than places") {
  const auto places = [](bool (*is_wrong)(int, int)) {
    const Trace trace = trace_of_pairs(4, [&](TransferSeries& series, int i, int j) {
      if (is_wrong(i, j)) bring_zeros(series);
    });
    std::vector<std::string> texts;
    for (const NodeFinding& one : verdict_of(trace, node_matrix(trace)).findings)
      if (one.if_failed == CheckVerdict::broken && one.health == Health::fail)
        texts.push_back(one.text.substr(0, one.text.find(" (")));
    return texts;
  };
  using Texts = std::vector<std::string>;
  CHECK(places([](int i, int j) { return i == 0 && j == 1; }) == Texts{"copies cuda:0 -> cuda:1 deliver zeros"});
  CHECK(places([](int i, int j) { return i == 2 || j == 2; }) ==
        Texts{"copies between cuda:2 and all other GPUs deliver zeros"});
  CHECK(places([](int i, int) { return i == 2; }) == Texts{"copies from cuda:2 to all other GPUs deliver zeros"});
  CHECK(places([](int, int) { return true; }) == Texts{"copies between all GPUs deliver zeros"});
}

TEST_CASE("other wrong bytes are the fault of a link or a memory, not of an IOMMU") {
  const Trace trace = trace_of_pairs(2, [](TransferSeries& series, int i, int) {
    if (i != 0) return;
    series.samples[0].intact = 0;
    series.error = "wrong at 1 MB: byte 17 of 1000000 is 0x00, expected 0xa3";
  });
  const NodeFinding finding = verdict_of(trace, node_matrix(trace)).findings.at(0);
  CHECK(finding.text == "copies cuda:0 -> cuda:1 deliver wrong bytes (1 of 6 compared were wrong)");
  CHECK(finding.explanations.at(0).cause == "wrong_results");
}

TEST_CASE("what was planned and has no valid figure is failed to run, whatever is in its place") {
  const auto verdict = [](auto spoil) {
    const Trace trace = trace_of_pairs(3, [&](TransferSeries& series, int i, int j) {
      if (i == 0 && j == 1) spoil(series);
    });
    CHECK(verdict_of(health_of(trace)) == verdict_of(trace, node_matrix(trace)).verdict);
    return verdict_of(trace, node_matrix(trace));
  };
  for (const double us : {not_measured, 0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    CAPTURE(us);
    const MatrixVerdict found = verdict([us](TransferSeries& series) {
      for (TransferSample& sample : series.samples) sample.device_us = us;
    });
    CHECK(found.verdict == CheckVerdict::failed_to_run);
    CHECK(found.findings.at(0).devices == std::vector<std::string>{"cuda:0", "cuda:1"});
  }
  const MatrixVerdict refused = verdict([](TransferSeries& series) {
    series.visits.clear();
    series.samples.clear();
    series.error = "out of memory";
  });
  CHECK(refused.verdict == CheckVerdict::failed_to_run);
  CHECK(refused.findings.at(0).text == "copies cuda:0 -> cuda:1 have no figure: out of memory");
  const MatrixVerdict never = verdict([](TransferSeries& series) {
    series.visits.clear();
    series.samples.clear();
  });
  CHECK(never.findings.at(0).text == "copies cuda:0 -> cuda:1 have no figure: it was not measured");
}

TEST_CASE("what others disturbed is not judged, where it would be slow") {
  const auto verdict = [](std::uint32_t causes) {
    const Trace trace = trace_of_pairs(3, [&](TransferSeries& series, int i, int j) {
      if (i != 0 || j != 1) return;
      for (TransferSample& sample : series.samples) sample.device_us = 40;
      for (auto& visit : series.visits) visit.disturbed = causes;
    });
    const NodeMatrix node = node_matrix(trace);
    for (const MatrixCell& cell : node.matrices.at(0).cells) {
      CHECK_FALSE(cell.by_visit.empty());
      for (const double rate : cell.by_visit) CHECK(rate == doctest::Approx(cell.value.value).epsilon(0.2));
    }
    return verdict_of(trace, node);
  };
  const MatrixVerdict slow = verdict(0);
  CHECK(slow.verdict == CheckVerdict::slow);
  const MatrixVerdict busy = verdict(static_cast<std::uint32_t>(Cause::link_busy));
  CHECK(busy.verdict == CheckVerdict::not_judged);
  CHECK(busy.findings.at(0).health == Health::unjudged);
  CHECK(busy.findings[0].explanations.at(0).cause == "neighbour");
  // npgpu check measures again what these name.
  const TransferSeries pair = trace_of_pairs(3, [](TransferSeries&, int, int) {}).of<Transfers>().front();
  for (const NodeFinding& finding : {slow.findings.at(0), busy.findings[0]}) {
    CHECK(finding.of_case == title(pair.question));
    CHECK(finding.of_point == text_of(pair.visits.at(0).axes));
    CHECK(finding.more_points.empty());
  }
}

// One GPU, near node 0 as the system says; rates in GB/s by node, both directions alike.
NodeMatrix numa_of(const std::vector<double>& rates, int system_node = 0) {
  Trace trace;
  trace.provenance.emplace_back("gpu0", Facts{{"id", std::string("cuda:0")},
                                              {"numa_node", std::int64_t{system_node}},
                                              {"host_nodes", std::string("0, 1, 2")}});
  for (int node = 0; node < static_cast<int>(rates.size()); ++node)
    for (const Direction direction : {Direction::h2d, Direction::d2h}) {
      TransferSeries series = sweep_of();
      series.question = case_on("cudaMemcpy", "cuda:0", direction);
      series.question.async = true;
      series.question.timing = Timing::gated;
      series.question.host_node = node;
      const double us = 1e3 / rates[static_cast<std::size_t>(node)];  // 1 MB at so many GB/s
      add_point(series, 1'000'000, {us, us, us, us, us, us});
      trace.of<Transfers>().push_back(series);
    }
  return node_matrix(trace);
}

TEST_CASE("NUMA nodes: the fastest is named, and what the others cost") {
  const NodeMatrix node = numa_of({50, 40, 49.5});
  CHECK(node.devices.size() == 1);
  CHECK(node.matrices.empty());  // they are no part of the matrix of copies with the host
  CHECK(node.numa.wrong.empty());
  CHECK(node.numa.host_nodes == std::vector<int>{0, 1, 2});
  REQUIRE(node.numa.gpus.size() == 1);
  const NumaGpu& gpu = node.numa.gpus[0];
  CHECK(gpu.system_node == 0);
  CHECK(gpu.fastest_node == 0);
  CHECK(gpu.find(1, Direction::d2h)->rate.value == doctest::Approx(40e9));
  CHECK(gpu.find(3, Direction::d2h) == nullptr);
  REQUIRE(gpu.costs.size() == 4);
  CHECK(gpu.costs[0].host_node == 1);
  CHECK(gpu.costs[0].share.value == doctest::Approx(0.2));
  CHECK(gpu.costs[0].share.low == doctest::Approx(0.2));
  CHECK(gpu.costs[0].is_slower);
  CHECK(gpu.costs[2].share.value == doctest::Approx(0.01));
  CHECK_FALSE(gpu.costs[2].is_slower);
  REQUIRE(node.numa.costs.size() == 1);
  CHECK(
      node.numa.costs[0].text ==
      "cuda:0: NUMA node 0 is the fastest, as the system says; node 1 costs 20.0 % (20.0 to 20.0) of the h2d rate and "
      "20.0 % (20.0 to 20.0) of the d2h rate; as fast: 2");
}

TEST_CASE("what a NUMA node costs has an interval as wide as both rates allow") {
  Trace trace;
  for (const int node : {0, 1})
    for (const Direction direction : {Direction::h2d, Direction::d2h}) {
      TransferSeries series = sweep_of();
      series.question = case_on("cudaMemcpy", "cuda:0", direction);
      series.question.async = true;
      series.question.timing = Timing::gated;
      series.question.host_node = node;
      const double us = node ? 25 : 20;
      add_point(series, 1'000'000, {us * 0.99, us * 0.99, us, us, us, us * 1.01, us * 1.01});
      trace.of<Transfers>().push_back(series);
    }
  const NumaMatrix numa = node_matrix(trace).numa;
  REQUIRE(numa.gpus.size() == 1);
  CHECK(numa.gpus[0].system_node == -1);
  CHECK(numa.gpus[0].fastest_node == 0);
  for (const NumaCost& cost : numa.gpus[0].costs) {
    CHECK(cost.host_node == 1);
    CHECK(cost.share.value == doctest::Approx(0.2));
    CHECK(cost.share.low == doctest::Approx(1 - 0.8 * 1.01 / 0.99));
    CHECK(cost.share.high == doctest::Approx(1 - 0.8 * 0.99 / 1.01));
  }
  CHECK(numa.costs[0].text.find(
            "NUMA node 0 is the fastest (the system names none); node 1 costs 20.0 % (18.4 to 21.6)") !=
        std::string::npos);
}

TEST_CASE("a GPU whose node, as the system says, is not the fastest stands out") {
  const NodeMatrix node = numa_of({40, 50}, 0);
  CHECK(node.numa.gpus[0].fastest_node == 1);
  REQUIRE(node.numa.wrong.size() == 1);
  CHECK(node.numa.wrong[0].devices == std::vector<std::string>{"cuda:0"});
  CHECK(node.numa.wrong[0].text ==
        "cuda:0: the system names NUMA node 0 as its nearest, and node 1 is faster: node 0 costs 20.0 % (20.0 to 20.0) "
        "of the h2d rate and 20.0 % (20.0 to 20.0) of the d2h rate");
  CHECK(numa_of({40, 50}, -1).numa.wrong.empty());  // the system does not say
}

TEST_CASE("of NUMA nodes that are equally fast, the system's is called the fastest, and none slow") {
  const NodeMatrix node = numa_of({49.9, 50}, 0);
  CHECK(node.numa.gpus[0].fastest_node == 0);
  CHECK(node.numa.wrong.empty());
  CHECK(node.numa.costs[0].text == "cuda:0: no NUMA node is slower by 2 % or more");
}

TEST_CASE("a trace with copies to and from the host only is no matrix") {
  Trace trace;
  TransferSeries series = sweep_of();
  series.question = case_on("cudaMemcpy", "cuda:0");
  series.question.async = true;
  series.question.timing = Timing::gated;
  add_point(series, 1024, {1});
  trace.of<Transfers>().push_back(series);
  CHECK(node_matrix(trace).devices.empty());
  series.question = peer_case("cudaMemcpy", "cuda:0", "cuda:1", Access::read);
  series.question.async = true;
  series.question.timing = Timing::gated;
  trace.of<Transfers>().push_back(series);
  const NodeMatrix node = node_matrix(trace);
  CHECK(node.devices.size() == 2);
  REQUIRE(node.matrices.size() == 2);  // of writes, with the host; of reads
  CHECK(node.matrices[1].access == Access::read);
  CHECK(node.matrices[1].find("cuda:0", "cuda:1")->value.value == doctest::Approx(1.024e9));
  CHECK(node.matrices[1].find("cuda:1", "cuda:0") == nullptr);
}

}  // namespace matrix_test

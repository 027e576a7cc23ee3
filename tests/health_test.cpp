// What a trace says of a node's health, from traces written down by hand.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/made_health.hpp"

namespace health_test {

using namespace made_health;
using namespace npgpu;

TEST_CASE("a copy's floor is the link's rate times 0.82, and 4.5 us") {
  // 64 MiB / (4.5 us + 64 MiB / (0.82 * 63 GB/s)) = 67108864 / (4.5 + 1299.05) us = 51.48 GB/s
  const HealthFinding good = finding(Made().at(55).trace(), "h2d_rate");
  CHECK(good.health == Health::pass);
  CHECK(good.value == doctest::Approx(55e9));
  CHECK(good.limit == doctest::Approx(51.48e9).epsilon(1e-4));
  CHECK(good.unit == "B/s");
  CHECK(good.basis == "82 % of 63.00 GB/s, PCIe Gen5 x16, and 4.5 us");
  CHECK(good.device == "cuda:0");
  CHECK(good.explanations.empty());
  // Three visits that are 0.1 % apart: Student's t gives 4.303 * 0.1 % / sqrt(3) = 0.25 % on either side.
  CHECK(finding(Made().at(51.7).trace(), "h2d_rate").health == Health::pass);
  CHECK(finding(Made().at(51.6).trace(), "h2d_rate").health == Health::pass);  // and all three visits reach it
  CHECK(finding(Made().at(51.5).trace(), "h2d_rate").health == Health::undecided);
  CHECK(finding(Made().at(51.4).trace(), "h2d_rate").health == Health::undecided);
  CHECK(finding(Made().at(51.3).trace(), "h2d_rate").health == Health::fail);
  // What would have been seen: all that brings 55.14 GB/s, the interval's upper end, below the limit.
  CHECK(good.would_see == doctest::Approx(1 - 51.48 / 55.14).epsilon(1e-3));
  CHECK(finding(Made().at(55).trace(), "d2h_rate").health == Health::skip);
  // Where a healthy one is known it is of that, wherever this one lies: 5 % and 0.25 % of scatter.
  const HealthRules own{.reference = "good.json", .figures = {{"h2d_rate", 54e9, "B/s"}}};
  for (const double gb_s : {52.5, 58.0})
    CHECK(finding(Made().at(gb_s).trace(), "h2d_rate", own).would_see ==
          doctest::Approx(1 - 0.95 / 1.0025).epsilon(0.01));
}

TEST_CASE(
    "in a virtual machine a shortfall that a busy host's memory can cause, and that nothing explains, is undecided") {
  const auto in_vm = [](Made made, double gb_s, std::int64_t is_vm = 1) {
    Trace trace = made.at(gb_s).trace();
    trace.provenance.emplace_back("host", Facts{{"in_virtual_machine", is_vm}});
    return finding(trace, "h2d_rate");
  };
  const HealthFinding seen = in_vm({}, 48);  // of at least 51.5
  CHECK(seen.health == Health::undecided);
  CHECK(cause(seen) == "host_memory");
  CHECK(in_vm({}, 48, 0).health == Health::fail);
  CHECK(in_vm({}, 40).health == Health::fail);  // no neighbour takes that much
  CHECK(in_vm({}, 55).health == Health::pass);
}

TEST_CASE("older links reach less of what they could") {
  Made made;
  made.before[3].second = whole(4);
  made.copies.limit = {31.5e9, "PCIe Gen4 x16: 16 GT/s * 16 lanes * 128/130"};
  CHECK(finding(made.at(23).trace(), "h2d_rate").health == Health::pass);  // 73 %
  CHECK(finding(Made(made).at(14).trace(), "h2d_rate").limit == doctest::Approx(22.65e9).epsilon(1e-3));
}

TEST_CASE("small and middle copies have floors of their own") {
  Made made = Made().at(55);
  made.copy(4 * MiB, 53);
  made.copy(8, 8.0 / 2.2e3);
  CHECK(finding(made.trace(), "h2d_rate_1mib").health == Health::pass);
  CHECK(finding(made.trace(), "h2d_time").value == doctest::Approx(2.2));
  CHECK(finding(made.trace(), "h2d_time").health == Health::pass);
  Made slow = Made().at(55);
  for (const double factor : {0.999, 1.0, 1.001}) {
    slow.copy(4 * MiB, 40 * factor);
    slow.copy(8, 8.0 / 5.2e3 * factor);
  }
  CHECK(finding(slow.trace(), "h2d_rate_1mib").health == Health::fail);
  CHECK(cause(finding(slow.trace(), "h2d_rate_1mib")) == "link");
  CHECK(cause(finding(slow.trace(), "h2d_time")) == "slow_call");
}

TEST_CASE("the link is judged by what it was trained to while copying") {
  Made made = Made().at(27);
  made.before[6].second = whole(8);
  made.after = {{"pcie_generation_copying", whole(5)}, {"pcie_lanes_copying", whole(8)}};
  const HealthFinding link = finding(made.trace(), "pcie_link");
  CHECK(link.health == Health::fail);
  CHECK(link.value == 8);
  CHECK(link.limit == 16);
  CHECK(cause(link) == "link_lanes");
  CHECK(cause(finding(made.trace(), "h2d_rate")) == "link_lanes");
  made.after = {{"pcie_generation_copying", whole(4)}, {"pcie_lanes_copying", whole(16)}};
  CHECK(cause(finding(made.trace(), "pcie_link")) == "link_generation");
  made.after = {{"pcie_generation_copying", whole(5)}, {"pcie_lanes_copying", whole(16)}};
  CHECK(finding(made.trace(), "pcie_link").health == Health::pass);
}

TEST_CASE("an older generation before the run may be an idle GPU's, fewer lanes are not") {
  Made idle = Made().at(55);
  idle.before[5].second = whole(1);
  CHECK(finding(idle.trace(), "pcie_link").health == Health::skip);
  Made narrow = Made().at(27);
  narrow.before[6].second = whole(8);
  CHECK(finding(narrow.trace(), "pcie_link").health == Health::fail);
}

TEST_CASE("a reading of the link that the copies' rate proves wrong is named, and nothing is judged by it") {
  Made made = Made().at(55);
  made.after = {{"pcie_generation_copying", whole(1)}, {"pcie_lanes_copying", whole(16)}};
  const HealthFinding link = finding(made.trace(), "pcie_link");
  CHECK(link.health == Health::skip);
  CHECK(
      link.text ==
      "PCIe link: PCIe Gen1 x16 was read while copying, which cannot be: copies reached 55.00 GB/s, and it carries at "
      "most 4.000 GB/s; GPU and slot support PCIe Gen5 x16");
  CHECK(verdict_of(health_of(made.trace())) == CheckVerdict::ok);
  HealthRules gen5;
  gen5.expected = {{"link", "gen5x16"}};
  CHECK(finding(made.trace(), "expected_link", gen5).health == Health::unjudged);
  // A port that reports less at most than the copies reach.
  made.before[3].second = whole(1);
  made.before[4].second = whole(1);
  made.after = {{"pcie_generation_copying", whole(1)}, {"pcie_lanes_copying", whole(1)}};
  CHECK(finding(made.trace(), "pcie_link").health == Health::skip);
  CHECK(finding(made.trace(), "pcie_link").text.find("they reached 55.00 GB/s") != std::string::npos);
}

TEST_CASE("each direction of copies both ways at once has its limit") {
  const auto with = [](double in_gb_s, double out_gb_s, int engines = 2) {
    Made made = Made().at(55);
    made.before.emplace_back("copy_engines", whole(engines));
    TransferSeries both = sweep_of(Pattern::duplex, Timing::gated);
    both.question.async = true;
    both.device_name = "NVIDIA X1";
    both.limit = made.copies.limit;
    for (const double factor : {0.999, 1.0, 1.001}) {
      add_point(both, 64 * MiB, {64 * 1.048576e3 / in_gb_s * factor});
      TransferSample out = both.samples.back();
      out.lane = 1;
      out.device_us = 64 * 1.048576e3 / out_gb_s * factor;
      both.samples.push_back(out);
      ++both.visits.back().samples;
    }
    Trace trace = made.trace();
    trace.of<Transfers>().push_back(both);
    return trace;
  };
  // 0.55 of 51.48 GB/s, the floor of such copies one way. In the time of the copies out (1 byte at 50 GB/s) those in
  // bring 0.725 bytes, and the rest in the time that is left (1/40 - 1/50) at 55 GB/s: 0.275.
  const HealthFinding in = finding(with(40, 50), "h2d_rate_duplex");
  CHECK(in.health == Health::pass);
  CHECK(in.value == doctest::Approx(0.725 * 50e9).epsilon(1e-3));
  CHECK(finding(with(40, 50), "d2h_rate_duplex").value == doctest::Approx(50e9).epsilon(1e-3));
  CHECK(in.limit == doctest::Approx(0.55 * 51.48e9).epsilon(1e-3));
  CHECK(in.basis == "55 % of the limit of one way: 82 % of 63.00 GB/s, PCIe Gen5 x16, and 4.5 us");
  CHECK(finding(with(35, 50), "h2d_rate_duplex").health == Health::fail);  // 26.4
  CHECK(cause(finding(with(35, 50), "h2d_rate_duplex")) == "duplex");
  CHECK(finding(with(35, 50), "d2h_rate_duplex").health == Health::pass);
  CHECK(finding(with(27, 27), "h2d_rate_duplex").health == Health::fail);
  CHECK(finding(with(26, 50), "h2d_rate_duplex").value < 2e9);  // it stood still
  CHECK(verdict_of(health_of(with(27, 27))) == CheckVerdict::slow);
  CHECK(finding(with(23, 23, 1), "h2d_rate_duplex").health == Health::skip);
  const HealthRules own{.reference = "good.json", .figures = {{"h2d_rate_duplex", 52e9, "B/s"}}};
  CHECK(finding(with(40, 50), "h2d_rate_duplex", own).health == Health::fail);  // at least 41.6
}

TEST_CASE("what a device does to its own clocks is nobody else's doing, also beside others") {
  Made made;
  const auto visit = [&](std::uint64_t reasons, bool is_beside) {
    Visit<Transfers>& one = made.copy(64 * MiB, 27);
    one.telemetry.throttle_reasons = reasons;
    if (is_beside) disturb(one, Cause::siblings, "");
  };
  for (int i = 0; i < 3; ++i) visit(0x20, true);
  CHECK(finding(made.trace(), "h2d_rate").health == Health::unjudged);
  for (int i = 0; i < 4; ++i) visit(0x20, false);  // alone, throttled in each visit
  CHECK(finding(made.trace(), "h2d_rate").health == Health::fail);
  CHECK(finding(made.trace(), "neighbours").health == Health::pass);
  for (int i = 0; i < 7; ++i) visit(0, false);  // visits without a cause are enough, and count alone
  const auto point = points_of(made.copies).front();
  CHECK(point.counted().size() == 7);
  CHECK(point.disturbed() == 0);
}

TEST_CASE("the middle of several sizes names those beside it, which are measured again with it") {
  Made made;
  for (const double factor : {0.999, 1.0, 1.001}) {
    made.copy(16 * MiB, 45 * factor);
    made.copy(64 * MiB, 46 * factor);
    made.copy(128 * MiB, 47 * factor);
    made.copy(4 * MiB, 44 * factor);
  }
  const HealthFinding rate = finding(made.trace(), "h2d_rate");
  CHECK(rate.of_point == "64 MiB");
  CHECK(rate.more_points ==
        std::vector<std::pair<std::string, std::string>>{{rate.of_case, "16 MiB"}, {rate.of_case, "128 MiB"}});
}

TEST_CASE("a figure below its limit that others disturbed is not judged, and they are named") {
  Made made;
  for (int i = 0; i < 3; ++i) disturb(made.copy(64 * MiB, 27), Cause::link_busy, "python3 (4711)");
  const HealthFinding rate = finding(made.trace(), "h2d_rate");
  CHECK(rate.health == Health::unjudged);
  CHECK(cause(rate) == "neighbour");
  CHECK(rate.text == "H2D pinned 64 MiB 27.00 GB/s, at least 51.48 GB/s; not judged: python3 (4711) disturbed it");
  CHECK(rate.explanations[0].evidence.find("python3 (4711)") != std::string::npos);
  CHECK(verdict_of(health_of(made.trace())) == CheckVerdict::not_judged);
  Made early;
  for (int i = 0; i < 3; ++i) disturb(early.copy(64 * MiB, 27), Cause::siblings, "");
  CHECK(cause(finding(early.trace(), "h2d_rate")) == "siblings");
  Made fast;  // at its limit nobody is asked
  for (int i = 0; i < 3; ++i) disturb(fast.copy(64 * MiB, 55), Cause::link_busy, "python3 (4711)");
  CHECK(finding(fast.trace(), "h2d_rate").health == Health::pass);
  CHECK(finding(fast.trace(), "neighbours").health == Health::warn);
  CHECK(verdict_of(health_of(fast.trace())) == CheckVerdict::ok);
}

TEST_CASE("points that scatter warn where they are more than chance explains, and only those that nobody disturbed") {
  // Nine sizes of three visits each; what scatters has a half width of 25 % and more.
  const auto with = [](int unsteady, int disturbed) {
    Made made;
    for (int i = 0; i < 9; ++i)
      for (const double factor : {0.9, 1.0, 1.1}) {
        Visit<Transfers>& visit = made.copy(MiB << i, i < unsteady ? 55 * factor : 55);
        if (i < disturbed) disturb(visit, Cause::host_busy, "make (4711)");
      }
    Trace trace = made.trace();
    set_drifts(trace);
    return trace;
  };
  CHECK(finding(with(0, 0), "converged").text == "9 of 9 points are steady from visit to visit");
  CHECK(finding(with(3, 0), "converged").health == Health::pass);
  CHECK(finding(with(3, 0), "converged").text ==
        "6 of 9 points are steady from visit to visit; so few of 9 may be chance");
  CHECK(finding(with(7, 0), "converged").health == Health::pass);
  CHECK(finding(with(8, 0), "converged").health == Health::warn);
  Made once;  // one visit shows nothing of the next
  for (int i = 0; i < 9; ++i) once.copy(MiB << i, 55);
  CHECK(finding(once.trace(), "converged").text == "steadiness: no point has several visits");
  // Beside others it is they who make points scatter.
  CHECK(finding(with(4, 4), "converged").text == "5 of 5 points are steady from visit to visit");
  CHECK(finding(with(9, 5), "converged").health == Health::skip);
  CHECK(finding(with(9, 5), "converged").text == "steadiness: cannot be said, as 5 of 9 points were disturbed");
  // One of nine that others disturbed is more than a tenth, and no more than chance.
  CHECK(finding(with(0, 1), "neighbours").health == Health::pass);
  CHECK(finding(with(0, 4), "neighbours").health == Health::pass);
  CHECK(finding(with(0, 5), "neighbours").health == Health::warn);
}

TEST_CASE("wrong results break a node") {
  Made made = Made().at(55);
  made.copies.samples[1].intact = 1;
  CHECK(finding(made.trace(), "results").health == Health::pass);
  made.copies.samples[2].intact = 0;
  const HealthFinding results = finding(made.trace(), "results");
  CHECK(results.health == Health::fail);
  CHECK(results.value == 1);
  CHECK(cause(results) == "corrupt");
  // Its figure is void, and is not missing for another reason.
  const HealthRules rules{.reference = {}, .figures = {}, .expected = {}, .required = {"h2d_rate"}};
  CHECK(cause(finding(made.trace(), "h2d_rate", rules)) == "corrupt");
  CHECK(verdict_of(health_of(made.trace(), rules)) == CheckVerdict::broken);
}

TEST_CASE("the memory's rate is of sets that are at least four times as large as L2") {
  ProbeSeries memory = probe_sweep();
  memory.question.probe = "bandwidth";
  memory.question.operation = Operation::read;
  memory.question.form = Form::streaming;
  memory.question.space = Space::global;
  memory.limit = {3.35e12, "2619 MHz * 5120 bit * 2 (double data rate)"};
  // 2 L2 in part from L2, at twice the rate.
  for (int visit = 0; visit < 3; ++visit) {
    add_point(memory, {.blocks = 132, .threads = 1024, .bytes = 100 * MiB}, 100.0 * MiB, {100.0 * MiB / 6e6});
    add_point(memory, {.blocks = 132, .threads = 1024, .bytes = 200 * MiB}, 200.0 * MiB, {200.0 * MiB / 3e6});
  }
  Made made = Made().at(55);
  made.before.emplace_back("l2_bytes", std::int64_t{50 * MiB});
  made.probes = {memory};
  CHECK(finding(made.trace(), "memory_read_rate").value == doctest::Approx(3e12));
}

TEST_CASE("a figure that is required and not there failed to run") {
  const HealthRules rules{
      .reference = {}, .figures = {}, .expected = {}, .required = {"h2d_rate", "launch_time", "copy_time"}};
  const auto all = health_of(Made().at(55).trace(), rules);
  CHECK(find(all, "h2d_rate")->health == Health::pass);
  CHECK(find(all, "launch_time")->health == Health::fail);
  CHECK(find(all, "launch_time")->if_failed == CheckVerdict::failed_to_run);
  CHECK(find(all, "copy_time")->text == "small copies that block: not measured");
  CHECK(verdict_of(all) == CheckVerdict::failed_to_run);
}

TEST_CASE("one value has no interval that could hold the limit, and the remedy is to let the check end") {
  Made made;
  made.copy(64 * MiB, 40);
  const HealthFinding rate = finding(made.trace(), "h2d_rate");
  CHECK(rate.health == Health::undecided);
  CHECK(rate.explanations.at(0).what == "the figure has one value and no interval, as of a check that was stopped");
  CHECK(rate.explanations.at(0).remedy == "check again, and let it come to its end");
}

TEST_CASE("a device of OpenCL that does not correct errors is not said to have ECC turned off") {
  Made made = Made().at(55);
  made.before.emplace_back("ecc", std::int64_t{0});
  CHECK(finding(made.trace(), "ecc_corrected").text == "corrected ECC errors: ECC is off");
  made.before.emplace_back("opencl_version", std::string("OpenCL 3.0"));
  CHECK(finding(made.trace(), "ecc_corrected").text ==
        "corrected ECC errors: OpenCL does not say that the device corrects errors");
}

TEST_CASE("what is usual of CUDA's calls is not compared with those of another API") {
  const auto with_small_copies = [](bool is_opencl) {
    Made made = Made().at(55);
    for (int visit = 0; visit < 3; ++visit) add_point(made.copies, 4, {8.0 + 0.01 * visit});
    if (is_opencl) made.before.emplace_back("opencl_version", std::string("OpenCL 3.0"));
    return made.trace();
  };
  CHECK(finding(with_small_copies(false), "h2d_time").health == Health::fail);
  const HealthFinding seen = finding(with_small_copies(true), "h2d_time");
  CHECK(seen.health == Health::skip);
  CHECK(seen.value == doctest::Approx(8.01).epsilon(1e-3));
  CHECK(seen.text.find("not judged: what is usual is known of CUDA's calls only") != std::string::npos);
  CHECK(finding(with_small_copies(true), "h2d_rate").health == Health::pass);  // the link is the same
  // A run of the same device is a reference all the same.
  const HealthRules rules{
      .reference = "good.h5", .figures = {{"h2d_time", 3, "us"}}, .expected = {}, .required = {"h2d_time"}};
  CHECK(finding(with_small_copies(true), "h2d_time", rules).health == Health::fail);
}

TEST_CASE("a reference decides in place of the link") {
  const HealthRules rules{
      .reference = "good.h5", .figures = {{"h2d_rate", 55e9, "B/s"}}, .expected = {}, .required = {}};
  const HealthFinding slow = finding(Made().at(52).trace(), "h2d_rate", rules);  // 5 % of 55 is 2.75
  CHECK(slow.health == Health::fail);
  CHECK(slow.limit == doctest::Approx(52.25e9));
  CHECK(slow.basis == "reference good.h5: 55.00 GB/s - 5 %");
  CHECK(finding(Made().at(52.5).trace(), "h2d_rate", rules).health == Health::pass);
}

TEST_CASE("figures for a reference are rates and times, the median of several devices") {
  std::vector<HealthFinding> all;
  for (const double rate : {50e9, 55e9, 56e9}) {
    HealthFinding& one = all.emplace_back();
    one.device = "cuda:" + std::to_string(all.size());
    one.metric = "h2d_rate";
    one.value = rate;
    one.unit = "B/s";
  }
  all.push_back({.device = "cuda:0", .metric = "sms", .value = 132, .unit = "multiprocessors"});
  const auto figures = figures_of(all);
  REQUIRE(figures.size() == 1);
  CHECK(figures[0].metric == "h2d_rate");
  CHECK(figures[0].value == 55e9);
}

TEST_CASE("expectations are words with values, and nonsense is refused") {
  CHECK(expectations("gpus=8,link=gen5x16") ==
        std::vector<std::pair<std::string, std::string>>{{"gpus", "8"}, {"link", "gen5x16"}});
  for (const char* nonsense : {"", "gpus", "gpus=", "gpus=x", "link=5x16", "link=genx16", "color=red", "gpus=1,"}) {
    CAPTURE(nonsense);
    CHECK_THROWS_AS(expectations(nonsense), Error);
  }
  HealthRules rules;
  rules.expected = expectations("gpus=2,sms=132,driver=580");
  Made made = Made().at(55);
  made.before.emplace_back("driver_version", std::string("580.159.04"));
  const auto all = health_of(made.trace(), rules);
  CHECK(find(all, "expected_gpus")->health == Health::fail);
  CHECK(cause(*find(all, "expected_gpus")) == "gpus_missing");
  CHECK(find(all, "expected_sms")->health == Health::pass);
  CHECK(find(all, "expected_driver")->health == Health::pass);
  rules.expected = expectations("driver=58");
  CHECK(finding(made.trace(), "expected_driver", rules).health == Health::fail);
}

TEST_CASE("a process far from its GPU is found by the lists of processors") {
  Made made = Made().at(40);
  made.before.emplace_back("near_cpus", std::string("32-63,96"));
  Trace trace = made.trace();
  const auto allowed = [&](const char* cpus) {
    trace.provenance.resize(1);
    trace.provenance.push_back({"host", {{"numa_nodes", whole(2)}, {"allowed_cpus", std::string(cpus)}}});
    return trace;
  };
  CHECK(finding(allowed("0-31"), "numa").health == Health::fail);
  CHECK(cause(finding(allowed("0-31"), "h2d_rate")) == "numa");
  CHECK(finding(allowed("0-32"), "numa").health == Health::pass);
  CHECK(finding(allowed("90-96"), "numa").health == Health::pass);
  CHECK(finding(allowed("all"), "numa").health == Health::skip);
}

TEST_CASE("a GPU whose node the system does not know is near no processors, though it lists them all") {
  const auto judged = [](int node, const char* near) {
    Made made = Made().at(50);
    made.before.emplace_back("near_cpus", std::string(near));
    made.before.emplace_back("numa_node", whole(node));
    Trace trace = made.trace();
    trace.provenance.push_back(
        {"host", {{"numa_nodes", whole(2)}, {"threads", whole(128)}, {"allowed_cpus", std::string("0-127")}}});
    return finding(trace, "numa");
  };
  CHECK(judged(-1, "0-127").health == Health::skip);
  CHECK(judged(-1, "0-127").text == "NUMA node: the system does not say which of the host's 2 is near the GPU");
  CHECK(judged(-1, "0-255").health == Health::skip);  // of all that the machine could have
  CHECK(judged(-1, "64-127").health == Health::pass);
  CHECK(judged(1, "64-127").health == Health::pass);
  CHECK(judged(0, "0-127").health == Health::pass);  // the other node has memory only
}

TEST_CASE("a CPU quota is a cause of slow calls, and of what it stopped") {
  const auto with_quota = [](double quota, std::uint32_t causes) {
    Made made = Made().at(40);
    for (auto& visit : made.copies.visits) visit.disturbed = causes;
    Trace trace = made.trace();
    trace.provenance.push_back(
        {"host", {{"threads", whole(2)}, {"cpu_quota", quota}, {"cpu_quota_cgroup", std::string("/box")}}});
    return trace;
  };
  const auto stopped = static_cast<std::uint32_t>(Cause::host_limited);
  CHECK(finding(with_quota(0.5, 0), "cpu_quota").health == Health::warn);
  CHECK(finding(with_quota(0.5, 0), "cpu_quota").text ==
        "a CPU quota gives this process 0.5 of 2 processors (cgroup /box)");
  CHECK(cause(finding(with_quota(0.5, 0), "cpu_quota")) == "cpu_quota");
  CHECK(finding(with_quota(1.5, 0), "cpu_quota").health == Health::pass);
  // What was stopped is not judged, and nobody else is blamed.
  const HealthFinding copies = finding(with_quota(0.5, stopped), "h2d_rate");
  CHECK(cause(copies) == "cpu_quota");
  CHECK(std::ranges::count(copies.explanations, "neighbour", &Explanation::cause) == 0);
  const HealthFinding points = finding(with_quota(0.5, stopped), "neighbours");
  CHECK(cause(points) == "cpu_quota");
  CHECK(points.explanations.size() == 1);
  const auto busy = stopped | static_cast<std::uint32_t>(Cause::host_busy);
  CHECK(finding(with_quota(0.5, busy), "neighbours").explanations.size() == 2);
}

TEST_CASE("the worst decides, and what could not be judged is no pass") {
  const auto of = [](Health health, CheckVerdict if_failed = CheckVerdict::slow) {
    HealthFinding one;
    one.health = health;
    one.if_failed = if_failed;
    return one;
  };
  CHECK(verdict_of(std::vector<HealthFinding>{}) == CheckVerdict::not_judged);
  CHECK(verdict_of({of(Health::skip)}) == CheckVerdict::not_judged);
  CHECK(verdict_of({of(Health::skip), of(Health::warn)}) == CheckVerdict::ok);
  CHECK(verdict_of({of(Health::fail), of(Health::fail, CheckVerdict::broken)}) == CheckVerdict::broken);
  CHECK(verdict_of({of(Health::fail, CheckVerdict::failed_to_run), of(Health::fail)}) == CheckVerdict::slow);
  CHECK(verdict_of({of(Health::undecided), of(Health::unjudged), of(Health::pass)}) == CheckVerdict::undecided);
  CHECK(verdict_of({of(Health::unjudged), of(Health::pass)}) == CheckVerdict::not_judged);
  CHECK(verdict_of({of(Health::undecided), of(Health::fail)}) == CheckVerdict::slow);
  CHECK(worst_of({of(Health::pass), of(Health::warn)}) == Health::warn);
  CHECK(worst_of({of(Health::skip)}) == Health::skip);
}

TEST_CASE("where healthy GPUs of the model are known, what they reached decides") {
  // 55.221 GB/s - 4.5 % = 52.74 GB/s; the link alone would allow 51.48.
  const auto named = [](const char* name, double gb_s) {
    Made made = Made().at(gb_s);
    made.copies.device_name = name;
    return made.trace();
  };
  CHECK(finding(named("NVIDIA H200", 55), "h2d_rate").health == Health::pass);
  CHECK(finding(named("NVIDIA H200", 52), "h2d_rate").health == Health::fail);
  CHECK(finding(named("NVIDIA H200", 52), "h2d_rate").basis == "7 healthy H200s: 55.22 GB/s - 4.5 %");
  CHECK(finding(named("NVIDIA GH200 480GB", 52), "h2d_rate").health == Health::pass);
  HealthRules own;
  own.by_model = false;
  CHECK(finding(named("NVIDIA H200", 52), "h2d_rate", own).health == Health::pass);
}

TEST_CASE("what was planned and has no valid figure failed to run") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const double us : {not_measured, inf, -inf, 0.0, -3.0}) {
    CAPTURE(us);
    Made made;
    for (int i = 0; i < 3; ++i) add_point(made.copies, 64 * MiB, {us});
    const auto all = health_of(made.trace());
    CHECK(find(all, "figures")->text.starts_with("1 of 1 points have no valid figure"));
    CHECK(verdict_of(all) == CheckVerdict::failed_to_run);
  }
  Made never = Made();  // planned, and never visited
  CHECK(verdict_of(health_of(never.trace())) == CheckVerdict::failed_to_run);
  Made void_trials;
  void_trials.copy(64 * MiB, 55).samples = 0;
  void_trials.copies.visits.back().void_trials = 7;
  CHECK(verdict_of(health_of(void_trials.trace())) == CheckVerdict::failed_to_run);
}

TEST_CASE("a rate far above what its link could carry says that the link's report is not true") {
  Made made = Made().at(55);
  made.copies.limit = {0.25e9, "PCIe Gen1 x1: 2.5 GT/s * 1 lanes * 8/10"};
  const HealthFinding rate = finding(made.trace(), "h2d_rate");
  CHECK(rate.health == Health::unjudged);
  CHECK(rate.text.find("22000 % of it, so it is not true") != std::string::npos);
  CHECK(verdict_of(health_of(made.trace())) == CheckVerdict::not_judged);
}

TEST_CASE("without a limit a copy is not judged, and the check is not ok") {
  Made made = Made().at(11);
  made.copies.limit = {not_measured, "unknown: NVML is not there"};
  CHECK(finding(made.trace(), "h2d_rate").health == Health::unjudged);
  CHECK(verdict_of(health_of(made.trace())) == CheckVerdict::not_judged);
}

TEST_CASE("a limit of the user's own decides its figure alone") {
  using List = std::vector<std::pair<std::string, std::string>>;
  CHECK(expectations("h2d=50,memory=139,memory=4.4TB/s,fp64=900GFLOP/s,launch=0.005ms,memory_write_rate=1GB/s") ==
        List{{"h2d_rate", "50000000000"},
             {"memory", "139"},
             {"memory_read_rate", "4400000000000"},
             {"compute_fp64_rate", "900000000000"},
             {"launch_time", "5"},
             {"memory_write_rate", "1000000000"}});
  for (const char* wrong : {"h2d=", "h2d=fast", "h2d=-1", "h2d=0", "h2d=50us", "launch=5GB/s", "ecc_corrected=5",
                            "h3d=5", "h2d=inf", "h2d=50 GB/s"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(expectations(wrong), Error);
  }
  const auto with = [](const char* list) {
    HealthRules rules;
    rules.expected = expectations(list);
    return rules;
  };
  const Trace trace = Made().at(55).trace();
  CHECK(finding(trace, "h2d_rate", with("h2d=50")).health == Health::pass);
  const HealthFinding slow = finding(trace, "h2d_rate", with("h2d=56"));
  CHECK(slow.health == Health::fail);
  CHECK(slow.limit == 56e9);
  CHECK(slow.basis == "expected by --expect");
  CHECK(finding(trace, "memory_read_rate", with("memory=4TB/s")).if_failed == CheckVerdict::failed_to_run);
}

TEST_CASE("no limit of a reference is within what its own healthy runs reached") {
  std::size_t figures = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::filesystem::path(NPGPU_SOURCE_DIR) / "data/references")) {
    if (file.path().extension() != ".json") continue;
    std::ifstream text(file.path());
    const nlohmann::json reference = nlohmann::json::parse(text);
    for (const auto& one : reference["figures"]) {
      CAPTURE(file.path().string());
      CAPTURE(one["metric"].get<std::string>());
      const double value = one["value"], tolerance = one["tolerance"], lowest = one["lowest"], highest = one["highest"];
      CHECK((one["unit"] == "us" ? value * (1 + tolerance) >= highest : value * (1 - tolerance) <= lowest));
      ++figures;
    }
  }
  CHECK(figures > 40);
}

}  // namespace health_test

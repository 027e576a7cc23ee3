// Devices that were lost, failed or could not be read, and GPUs that are unlike others: what a trace says of their
// health.
#include "tests/made_health.hpp"

namespace lost_health_test {

using namespace made_health;
using namespace npgpu;

TEST_CASE("of a continued trace the last run's facts count, and what only the first one saw") {
  Made made = Made().at(27);
  made.after = {{"pcie_generation_copying", whole(5)}, {"pcie_lanes_copying", whole(8)}, {"pcie_replays", whole(1)}};
  Trace trace = made.trace();
  Facts later = made.before;
  later.emplace_back("pcie_replays", whole(4));
  trace.provenance.push_back({"resume_1/gpu0", later});
  trace.provenance.push_back({"resume_1/gpu0_after", {{"id", std::string("cuda:0")}, {"pcie_replays", whole(6)}}});
  CHECK(finding(trace, "pcie_link").health == Health::fail);
  CHECK(finding(trace, "pcie_replays").text.find("2 of them in this run") != std::string::npos);
}

TEST_CASE("pageable copies that fall to less than half of their best are said to") {
  const auto with = [](double largest) {
    Made made = Made().at(55);
    TransferSeries pageable = sweep_of();
    pageable.question.memory = Memory::pageable;
    for (const auto& [bytes, gb_s] : {std::pair{MiB, 16.0}, {64 * MiB, largest}})
      for (const double factor : {0.99, 1.0, 1.01})
        add_point(pageable, bytes, {static_cast<double>(bytes) / gb_s / 1e3 / factor});
    Trace trace = made.trace();
    trace.of<Transfers>().push_back(pageable);
    return finding(trace, "h2d_pageable_rate");
  };
  CHECK(with(8.1).health == Health::pass);
  CHECK(with(5.7).health == Health::warn);
  CHECK(with(5.7).text == "H2D pageable falls from 16.00 GB/s at 1 MiB to 5.700 GB/s at 64 MiB");
  CHECK(cause(with(5.7)) == "host_memory");
  const HealthFinding wide = [] {
    TransferSeries pageable = sweep_of();
    pageable.question.memory = Memory::pageable;
    for (const double gb_s : {16.0, 16.0, 16.0}) add_point(pageable, MiB, {static_cast<double>(MiB) / gb_s / 1e3});
    for (const double gb_s : {4.0, 7.0, 12.0})
      add_point(pageable, 64 * MiB, {static_cast<double>(64 * MiB) / gb_s / 1e3});
    Trace trace = Made().at(55).trace();
    trace.of<Transfers>().push_back(pageable);
    return finding(trace, "h2d_pageable_rate");
  }();
  CHECK(wide.health == Health::skip);
  CHECK(wide.text.ends_with(": not certain"));
}

TEST_CASE("a device that answered and then failed is broken, and that cause stands first") {
  Made made = Made().at(55);
  made.copies.error = "at 8 B: sim:x: the device is lost, seen at call 40 (copy)";
  made.copies.failure = Failure::lost;
  made.after = {{"xids", whole(1)}, {"xid_last", whole(79)}};
  made.before.emplace_back("xids", whole(0));
  HealthRules rules;
  rules.required = {"h2d_rate", "compute_rate"};
  rules.expected = {{"gpus", "1"}};
  const auto all = health_of(made.trace(), rules);
  CHECK(verdict_of(all) == CheckVerdict::broken);
  const HealthFinding device = *find(all, "device_lost");
  CHECK(device.health == Health::fail);
  CHECK(device.text.find("the device is lost, seen at call 40") != std::string::npos);
  CHECK(cause(device) == "lost");
  CHECK(device.explanations[0].evidence.find("Xid 79 (GPU has fallen off the bus)") != std::string::npos);
  CHECK(cause(*find(all, "compute_rate")) == "lost");
  CHECK_FALSE(find(all, "errors"));
  CHECK(find(all, "expected_gpus")->text == "0 GPUs, expected 1; 1 more lost");
}

TEST_CASE("what else says that a device is gone: NVML, and Xid 79 in the run") {
  Made nvml = Made().at(55);
  nvml.after = {{"unread_ecc", std::string("lost")}, {"unread_device", std::string("lost")}};
  CHECK(verdict_of(health_of(nvml.trace())) == CheckVerdict::broken);
  CHECK(finding(nvml.trace(), "device_lost").text == "the GPU is lost: NVML: lost");
  CHECK(finding(nvml.trace(), "ecc_uncorrected").text == "uncorrected ECC errors: the GPU is lost");
  Made xid = Made().at(55);
  xid.before.emplace_back("xids", whole(0));
  xid.after = {{"xids", whole(1)}, {"xid_last", whole(79)}};
  CHECK(finding(xid.trace(), "device_lost").health == Health::fail);
  CHECK_FALSE(find(health_of(Made().at(55).trace()), "device_lost"));
}

TEST_CASE("a series that another device spoiled says nothing against its own") {
  Made made = Made().at(55);
  Trace trace = made.trace();
  trace.of<Transfers>()[0].error = "cuda:1 is lost (NVML: GPU is lost): copying";
  trace.of<Transfers>()[0].failure = Failure::lost;
  trace.of<Transfers>()[0].failed_device = "cuda:1";
  CHECK_FALSE(find(health_of(trace), "device_lost"));
  trace.of<Transfers>()[0].failed_device = "cuda:0";
  CHECK(find(health_of(trace), "device_lost"));
}

TEST_CASE(
    "a defect that the hardware reported is broken; a dead context and too little memory are failures of the run") {
  const auto verdict = [](Failure failure) {
    Made made = Made().at(55);
    made.copies.error = "at 8 B: something";
    made.copies.failure = failure;
    return verdict_of(health_of(made.trace()));
  };
  CHECK(verdict(Failure::defect) == CheckVerdict::broken);
  CHECK(verdict(Failure::lost) == CheckVerdict::broken);
  CHECK(verdict(Failure::context) == CheckVerdict::failed_to_run);
  CHECK(verdict(Failure::no_memory) == CheckVerdict::failed_to_run);
  CHECK(verdict(Failure::failed) == CheckVerdict::failed_to_run);
  Made made = Made().at(55);
  made.copies.error = "at 8 B: something";
  for (const auto& [failure, name] :
       {std::pair{Failure::context, "context"}, {Failure::no_memory, "no_memory"}, {Failure::failed, "errors"}}) {
    made.copies.failure = failure;
    CHECK(cause(finding(made.trace(), "errors")) == name);
  }
}

TEST_CASE("why something was not read is said in NVML's word") {
  const auto text = [](const char* reason) {
    Made made = Made().at(55);
    made.after = {{"unread_ecc", std::string(reason)}};
    return finding(made.trace(), "ecc_uncorrected").text;
  };
  CHECK(text("not supported") == "uncorrected ECC errors: not supported by this GPU");
  CHECK(text("no permission") == "uncorrected ECC errors: needs root (no permission)");
  CHECK(text("error 999 (Unknown Error)") == "uncorrected ECC errors: NVML error 999 (Unknown Error)");
}

TEST_CASE("the fabric is judged where NVLinks are in use") {
  const auto fabric = [](const char* state, int links, const char* health = "") {
    Made made = Made().at(55);
    made.after = {
        {"fabric_state", std::string(state)}, {"nvlinks_active", whole(links)}, {"nvlinks_inactive", whole(0)}};
    if (*health) made.after.emplace_back("fabric_health", std::string(health));
    return finding(made.trace(), "fabric");
  };
  CHECK(fabric("completed", 18).health == Health::pass);
  CHECK(fabric("completed", 18, "well").health == Health::pass);
  CHECK(fabric("not supported", 18).health == Health::skip);
  CHECK(fabric("in progress", 18).health == Health::fail);
  CHECK(fabric("in progress", 18).if_failed == CheckVerdict::broken);
  CHECK(fabric("not started", 0).health == Health::skip);  // a GPU alone in a virtual machine
  CHECK(fabric("completed", 18, "degraded bandwidth").health == Health::fail);
  CHECK(fabric("completed", 18, "route recovery in progress").health == Health::warn);
  CHECK(cause(fabric("in progress", 18)) == "fabric");
}

TEST_CASE("what the driver says would mend the GPU") {
  const auto action = [](const char* word) {
    Made made = Made().at(55);
    made.after = {{"recovery_action", std::string(word)}};
    return finding(made.trace(), "recovery_action");
  };
  CHECK(action("none").health == Health::pass);
  CHECK(action("reset the GPU").health == Health::fail);
  CHECK(action("reset the GPU").text == "the driver asks for recovery: reset the GPU");
  CHECK(action("reset the GPU").if_failed == CheckVerdict::broken);
  CHECK(action("recover the IMEX domain").health == Health::warn);
}

TEST_CASE("a GPU that is reached over NVLink-C2C is not compared with its PCIe port") {
  Made made = Made().at(380);
  made.copies.limit = {447e9, "NVLink-C2C: 10 links of 44.7 GB/s"};
  made.before[6].second = whole(1);                                  // x1 of x16
  const HealthFinding by_rate = finding(made.trace(), "pcie_link");  // more than any PCIe Gen5 x16 carries
  CHECK(by_rate.health == Health::skip);
  CHECK(by_rate.text.find("over which copies do not go") != std::string::npos);
  Made slow = Made().at(3.5);
  slow.before[6].second = whole(1);
  CHECK(finding(slow.trace(), "pcie_link").health == Health::fail);
  slow.after = {{"c2c_links_active", whole(9)}, {"c2c_links_inactive", whole(1)}};
  CHECK(finding(slow.trace(), "pcie_link").health == Health::skip);
  CHECK(finding(slow.trace(), "c2c").health == Health::fail);
  CHECK(finding(slow.trace(), "c2c").text == "9 of 10 NVLink-C2C links active");
  CHECK(finding(slow.trace(), "c2c").if_failed == CheckVerdict::broken);
  CHECK_FALSE(find(health_of(Made().at(55).trace()), "c2c"));
}

TEST_CASE("a GPU whose memory is the host's has no link, and its clock and memory are shared") {
  Made made = Made().at(60);
  for (const auto& [at, value] : {std::pair{3, 1}, {4, 1}, {5, 1}, {6, 1}}) made.before[at].second = whole(value);
  made.copies.limit = {0.25e9, "PCIe Gen1 x1: 2.5 GT/s * 1 lanes * 8/10"};
  const auto shared = [&](const char* fact) {
    Made one = made;
    one.before.emplace_back(fact, whole(1));
    return one;
  };
  for (const char* fact : {"integrated", "pageable_memory_access_uses_host_page_tables"}) {
    CAPTURE(fact);
    const Trace trace = shared(fact).trace();
    CHECK(finding(trace, "pcie_link").text == "PCIe link: host and GPU have one memory, and no link between");
    CHECK(finding(trace, "h2d_rate").health == Health::skip);
    CHECK(finding(trace, "h2d_rate").value == doctest::Approx(60e9));
    CHECK(finding(trace, "h2d_rate").text.ends_with("not judged: host and GPU have one memory, and no link between"));
  }
  // Such a chip need not reach its highest clock, but three quarters of it.
  const auto clock = [&](const char* fact, double mhz) {
    Made one = shared(fact);
    for (Visit<Transfers>& visit : one.copies.visits) visit.telemetry.sm_clock_mhz = mhz;
    return finding(one.trace(), "sm_clock").health;
  };
  CHECK(clock("integrated", 1600) == Health::pass);
  CHECK(clock("any", 1600) == Health::warn);
  CHECK(clock("integrated", 1000) == Health::fail);
  // A memory clock is that of a memory of its own: Grace Hopper.
  Made hopper = shared("pageable_memory_access_uses_host_page_tables");
  hopper.before.emplace_back("max_memory_clock_mhz", whole(2619));
  CHECK(finding(hopper.trace(), "pcie_link").text.find("one memory") == std::string::npos);
}

TEST_CASE("confidential computing is named where copies are slow") {
  Made made = Made().at(10.5);
  made.before.emplace_back("confidential_computing", whole(1));
  CHECK(finding(made.trace(), "confidential_computing").health == Health::pass);
  CHECK(cause(finding(made.trace(), "h2d_rate")) == "confidential_computing");
}

TEST_CASE("a GPU that the bus shows and that does not answer breaks the node; one that is hidden does not") {
  Trace trace = Made().at(55).trace();
  trace.provenance.emplace_back("census", Facts{{"gpus_on_bus", whole(8)}});
  CHECK(finding(trace, "gpus_on_bus").health == Health::pass);
  trace.provenance.back().second.emplace_back("gpus_hidden", std::string("0000:3b:00.0: CUDA_VISIBLE_DEVICES"));
  CHECK(finding(trace, "gpus_on_bus").health == Health::pass);
  trace.provenance.back().second.emplace_back("gpus_lost", std::string("0000:b3:00.0: NVML: GPU is lost"));
  const HealthFinding lost = finding(trace, "gpus_on_bus");
  CHECK(lost.health == Health::fail);
  CHECK(lost.device.empty());
  CHECK(lost.text.find("0000:b3:00.0") != std::string::npos);
  CHECK(cause(lost) == "lost");
  CHECK(verdict_of(health_of(trace)) == CheckVerdict::broken);
}

TEST_CASE("Xids have names, and those of before the run and of switches are told apart") {
  Made made = Made().at(55);
  made.before.emplace_back("xids", whole(0));
  made.before.emplace_back("xids_logged", whole(2));
  made.before.emplace_back("xid_logged_last", whole(48));
  made.before.emplace_back("sxids_logged", whole(1));
  made.before.emplace_back("sxid_logged_last", whole(20034));
  made.after = {{"xids", whole(0)}};
  const HealthFinding xid = finding(made.trace(), "xid");
  CHECK(xid.health == Health::warn);
  CHECK(
      xid.text ==
      "no Xid error during this run; 2 in the kernel's log before, the last was Xid 48 (double-bit ECC error); 1 SXid "
      "errors of NVSwitches in the kernel's log before, the last was SXid 20034");
  CHECK(cause(xid) == "xid");
  // NVIDIA's action for the last one, of the run's where there is one.
  const auto remedy = [&](int logged, int now) {
    Made one = made;
    for (auto& [key, value] : one.before)
      if (key == "xid_logged_last") value = whole(logged);
    if (now) one.after = {{"xids", whole(1)}, {"xid_last", whole(now)}};
    return finding(one.trace(), "xid").explanations.at(0).remedy;
  };
  CHECK(remedy(48, 0).starts_with("for Xid 48 NVIDIA's list says: drain the node and reset the GPU, or reboot"));
  CHECK(remedy(64, 0).find("replace the GPU") != std::string::npos);
  CHECK(remedy(48, 119).starts_with("for Xid 119 NVIDIA's list says: drain the node and reset the GPU"));
  CHECK(remedy(128, 0).find("start the application again") != std::string::npos);
  CHECK(remedy(5000, 0).starts_with("look at dmesg"));
  // NVML does not say whether an Xid of NVLink is fatal.
  Made nvlink = Made().at(55);
  nvlink.before.insert(nvlink.before.end(), {{"xids", whole(0)}, {"xids_of_nvlink", whole(0)}});
  nvlink.after = {{"xids", whole(0)}, {"xids_of_nvlink", whole(2)}};
  CHECK(finding(nvlink.trace(), "xid").health == Health::warn);
  CHECK(finding(nvlink.trace(), "xid").text.find("2 of NVLink") != std::string::npos);
  Made silent = Made().at(55);
  silent.before.insert(silent.before.end(),
                       {{"xids_logged", whole(1)}, {"kernel_log_says", std::string("the firmware does not answer")}});
  CHECK(finding(silent.trace(), "xid").health == Health::warn);
  CHECK(finding(silent.trace(), "xid").text.ends_with("it says: the firmware does not answer"));
  CHECK(model::xid_name(79) == "GPU has fallen off the bus");
  CHECK(model::xid_name(130) == "copy engine error");
  CHECK(model::xid_name(9).empty());
  CHECK(model::xid_name(5000).empty());
}

TEST_CASE("names of GPUs are compared by words") {
  using model::has_words;
  CHECK(has_words("NVIDIA H200", "H200"));
  CHECK(has_words("NVIDIA H200", "h200"));
  CHECK_FALSE(has_words("NVIDIA GH200 480GB", "H200"));
  CHECK(has_words("NVIDIA GH200 480GB", "GH200"));
  CHECK(has_words("NVIDIA A100-SXM4-80GB", "A100"));
  CHECK(has_words("NVIDIA A100-SXM4-80GB", "A100 80GB"));
  CHECK(has_words("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"));
  CHECK_FALSE(has_words("NVIDIA RTX A1000", "A100"));
  CHECK(has_words("NVIDIA H100 80GB HBM3", "H100 80GB HBM3"));
  CHECK_FALSE(has_words("NVIDIA H100 80GB HBM3", "HBM3 H100"));
  CHECK_FALSE(has_words("NVIDIA H100 80GB HBM3", "H100 H100"));
  CHECK_FALSE(has_words("NVIDIA H200", ""));
  CHECK_FALSE(has_words("", "H200"));
  Trace trace = Made().at(55).trace();
  trace.of<Transfers>()[0].device_name = "NVIDIA H200";
  HealthRules rules;
  rules.expected = {{"name", "H200"}};
  CHECK(finding(trace, "expected_name", rules).health == Health::pass);
  trace.of<Transfers>()[0].device_name = "NVIDIA GH200 480GB";
  CHECK(finding(trace, "expected_name", rules).health == Health::fail);
  CHECK_THROWS_AS(expectations("name=-"), Error);
}

TEST_CASE("published multiprocessors are those of the model, not of one whose name is alike") {
  using model::published_multiprocessors;
  CHECK(published_multiprocessors("NVIDIA H100 PCIe") == 114);
  CHECK(published_multiprocessors("NVIDIA H100 80GB HBM3") == 132);
  CHECK(published_multiprocessors("NVIDIA GH200 480GB") == 132);
  CHECK(published_multiprocessors("NVIDIA H800 PCIe") == 114);
  CHECK(published_multiprocessors("NVIDIA H20") == 78);
  CHECK(published_multiprocessors("NVIDIA A100-PCIE-40GB") == 108);
  CHECK(published_multiprocessors("NVIDIA L4") == 58);
  CHECK(published_multiprocessors("NVIDIA L40S") == 142);
  CHECK(published_multiprocessors("NVIDIA GeForce RTX 4090") == 128);
  CHECK(published_multiprocessors("NVIDIA GeForce RTX 4090 D") == 114);
  CHECK(published_multiprocessors("NVIDIA B200") == 148);
  CHECK(published_multiprocessors("Tesla V100-SXM2-16GB") == 80);
  CHECK(published_multiprocessors("NVIDIA RTX A1000") == 0);
}

TEST_CASE("parts of GPUs, and laptops' GPUs, are not compared with the GPU whose name they share") {
  using model::published_multiprocessors;
  for (const char* name : {"NVIDIA GeForce RTX 5090 Laptop GPU", "NVIDIA RTX A5000 Laptop GPU",
                           "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "GRID A100-3-20C", "NVIDIA A100-1-5CME"}) {
    CAPTURE(name);
    CHECK(published_multiprocessors(name) == 0);
  }
  CHECK(published_multiprocessors("GRID A100-20C") == 108);  // all of it, in turns
  CHECK(published_multiprocessors("NVIDIA A100-SXM4-80GB") == 108);
}

TEST_CASE("the memory of a part of a GPU is not judged, as its share of the rate is not known") {
  for (const bool by_nvml : {true, false}) {
    Made made = Made().at(55);
    ProbeSeries memory = probe_sweep();
    memory.question.probe = "bandwidth";
    memory.question.operation = Operation::read;
    memory.question.form = Form::streaming;
    memory.question.space = Space::global;
    memory.limit = {3.35e12, "2619 MHz * 5120 bit * 2 (double data rate)"};
    memory.device_name = by_nvml ? "NVIDIA H100 80GB HBM3" : "NVIDIA H100 80GB HBM3 MIG 1g.10gb";
    for (int visit = 0; visit < 3; ++visit)
      add_point(memory, {.blocks = 132, .threads = 1024, .bytes = GiB}, 1e9, {2000});
    made.copies.device_name = memory.device_name;
    if (by_nvml) made.before.emplace_back("mig_mode", whole(1));
    made.probes = {memory};
    const HealthFinding found = finding(made.trace(), "memory_read_rate");
    CHECK(found.health == Health::unjudged);
    CHECK(found.text.find("MIG") != std::string::npos);
  }
}

TEST_CASE("what is expected and cannot be read is not judged, and no fault") {
  HealthRules rules;
  rules.expected = expectations("driver=580,link=gen5x16,memory=80");
  Made made = Made().at(55);
  for (const char* key : {"pcie_generation_now", "pcie_lanes_now"})
    std::erase_if(made.before, [&](const auto& fact) { return fact.first == key; });
  const auto all = health_of(made.trace(), rules);
  for (const char* metric : {"expected_driver", "expected_link", "expected_memory"})
    CHECK(find(all, metric)->health == Health::unjudged);
  CHECK(find(all, "expected_driver")->text == "driver 580 is expected: not judged: it could not be read");
  CHECK(verdict_of(all) == CheckVerdict::not_judged);
  // An idle GPU may slow its link down, and takes no lanes away.
  made.before.emplace_back("pcie_generation_now", whole(1));
  made.before.emplace_back("pcie_lanes_now", whole(16));
  rules.expected = expectations("link=gen5x16");
  CHECK(finding(made.trace(), "expected_link", rules).health == Health::unjudged);
  rules.expected = expectations("link=gen5x8");
  CHECK(finding(made.trace(), "expected_link", rules).health == Health::fail);
  rules.expected = expectations("link=gen5x16");
  Made older = Made().at(27);
  older.after = {{"pcie_generation_copying", whole(4)}, {"pcie_lanes_copying", whole(16)}};
  CHECK(finding(older.trace(), "expected_link", rules).health == Health::fail);
}

TEST_CASE("a GPU that others copy to is judged by its counters, and windows of energy by their results") {
  Made made = Made().at(55);
  Trace trace = made.trace();
  trace.provenance.emplace_back("gpu1", Facts{{"id", std::string("cuda:1")},
                                              {"name", std::string("NVIDIA X1")},
                                              {"uuid", std::string("GPU-1")},
                                              {"xids", whole(0)}});
  trace.provenance.emplace_back("gpu1_after",
                                Facts{{"id", std::string("cuda:1")}, {"xids", whole(1)}, {"xid_last", whole(79)}});
  const auto lost = [&] {
    const auto all = health_of(trace);
    return std::ranges::any_of(all, [](const HealthFinding& one) {
      return one.device == "cuda:1" && one.metric == "device_lost" && one.health == Health::fail;
    });
  };
  CHECK_FALSE(lost());  // nothing in the trace is of it
  TransferSeries peer = sweep_of(Pattern::stream, Timing::gated);
  peer.question.direction = Direction::peer;
  peer.question.source = "cuda:0";
  peer.question.target = "cuda:1";
  peer.device_name = "NVIDIA X1";
  add_point(peer, 64 * MiB, {300});
  trace.of<Transfers>().push_back(peer);
  CHECK(lost());

  Trace energy;
  EnergySeries windows;
  windows.question.device = "cuda:0";
  Visit<Energies>& visit = windows.visits.emplace_back();
  visit.samples = 1;
  windows.samples.push_back({.intact = 0});
  energy.of<Energies>() = {windows};
  CHECK(verdict_of(health_of(energy)) == CheckVerdict::broken);

  // Full load for seconds heats a GPU, and a window of energy is no measure of what that costs.
  windows.samples[0].intact = 1;
  windows.question.work = EnergyWork::fma;
  visit.telemetry.throttle_reasons = 0x20;
  visit.telemetry.sm_clock_mhz = 1600;
  energy.of<Energies>() = {windows};
  const HealthFinding hot = finding(energy, "throttle");
  CHECK(hot.health == Health::warn);
  CHECK(hot.text == "throttled in 1 of 1 visits: too hot; windows of energy are full load for seconds");
  // However many they are, they prove nothing of other visits, and excuse none of them.
  const auto with_windows = [&](std::uint64_t reasons_of_windows, std::uint64_t reasons_of_copies) {
    Made copies = Made().at(55);
    for (Visit<Transfers>& one : copies.copies.visits)
      one.telemetry = {.sm_clock_mhz = 1980, .throttle_reasons = reasons_of_copies};
    EnergySeries many = windows;
    many.visits[0].telemetry.throttle_reasons = reasons_of_windows;
    many.visits.resize(1000, many.visits[0]);
    Trace both = copies.trace();
    both.of<Energies>() = {many};
    return finding(both, "throttle").health;
  };
  CHECK(with_windows(0x20, 0) == Health::warn);
  CHECK(with_windows(0, 0x20) == Health::fail);
}

TEST_CASE("where the link could not be read, nobody says that it is trained as it should be") {
  Made made = Made().at(25);
  CHECK(finding(made.trace(), "h2d_rate").explanations[0].what ==
        "the link is trained as it should be, and bytes are slow");
  std::erase_if(made.before, [](const auto& fact) { return fact.first.starts_with("pcie_"); });
  CHECK(finding(made.trace(), "h2d_rate").explanations[0].what ==
        "bytes are slow, and how the link is trained could not be read");
}

TEST_CASE("a slot of an older generation than the GPU's is named as the cause") {
  Made made = Made().at(25);
  for (auto& [key, value] : made.before)
    if (key == "max_pcie_generation" || key == "pcie_generation_now") value = whole(4);
  made.before.emplace_back("gpu_max_pcie_generation", whole(5));
  HealthRules rules;
  rules.reference = "good.h5";
  rules.figures = {{"h2d_rate", 55e9, "B/s"}};
  const HealthFinding found = finding(made.trace(), "h2d_rate", rules);
  CHECK(found.health == Health::fail);
  CHECK(cause(found) == "link_slot");
  CHECK(found.explanations[0].what == "the slot has PCIe Gen4, and the GPU could have Gen5");
}

TEST_CASE("throttle reasons that could not be read are not said to be none") {
  Made made = Made().at(55);
  made.copies.visits[0].telemetry.sm_clock_mhz = 1980;
  CHECK(finding(made.trace(), "throttle").health == Health::pass);
  made.before.emplace_back("unread_throttle", std::string("no permission"));
  CHECK(finding(made.trace(), "throttle").health == Health::skip);
  CHECK(finding(made.trace(), "throttle").text == "throttle reasons: needs root (no permission)");
}

TEST_CASE("a GPU without any NVLink is alone, unless others of its model beside it reach NVSwitches") {
  const auto gpu = [](const char* id, int active) {
    return Facts{{"id", std::string(id)},
                 {"name", std::string("NVIDIA X1")},
                 {"nvlinks_active", whole(active)},
                 {"nvlinks_inactive", whole(18 - active)},
                 {"nvlinks_to", std::string(active ? "switch x18" : "")}};
  };
  Trace trace = Made().at(55).trace();
  TransferSeries second = trace.of<Transfers>()[0];
  second.question.target = "cuda:1";
  trace.of<Transfers>().push_back(second);
  const auto links_of_first = [&](int first, int second_gpu) {
    trace.provenance = {{"gpu0", gpu("cuda:0", first)}, {"gpu1", gpu("cuda:1", second_gpu)}};
    return finding(trace, "nvlink");
  };
  CHECK(links_of_first(0, 0).health == Health::skip);
  CHECK(links_of_first(18, 18).health == Health::pass);
  CHECK(links_of_first(0, 18).health == Health::fail);
  CHECK(links_of_first(0, 18).text ==
        "0 of 18 NVLinks active, and others of its model in this node reach the NVSwitches");
}

}  // namespace lost_health_test

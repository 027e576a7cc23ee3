// A simulated node: its graph, the ways of copies in it, and copies whose times can be added up by hand.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "netpipe/devices/simulated/library.hpp"
#include "netpipe/devices/simulated/node.hpp"
#include "netpipe/engine/transfer_runner.hpp"
#include "netpipe/modules/node_channel.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace simulated_node_test {

using namespace npgpu;
using simulated::Node;

namespace {

const std::filesystem::path folder = std::filesystem::path(NPGPU_SOURCE_DIR) / "data/devices/nodes";

TransferCase between(const char* source, const char* target, Access access = Access::write) {
  TransferCase c = peer_case("simulated", source, target, access);
  c.async = true;
  c.timing = access == Access::staged ? Timing::event : Timing::gated;
  return c;
}

// GB/s of each lane.
std::vector<double> rates(const TransferCase& c, std::uint64_t bytes = 1'000'000, std::uint64_t repeats = 50) {
  const Step<Transfers> step{c, {bytes}};
  const auto runner = transfer_runner(simulated::open_node_lane, {&step, 1});
  runner->prepare(step);
  std::vector<TransferSample> samples;
  for (int trial = 0; trial < 2; ++trial) {  // the first one shows how long the tails of the second must be
    samples.clear();
    REQUIRE(runner->run(repeats, samples));
  }
  CHECK_FALSE(runner->check(samples));
  std::vector<double> all;
  for (const TransferSample& sample : samples)
    all.push_back(static_cast<double>(bytes * sample.repeats) / sample.device_us / 1e3);
  return all;
}

}  // namespace

TEST_CASE("names of a node's GPUs") {
  CHECK(simulated::member_of("sim:node8:3")->node == "sim:node8");
  CHECK(simulated::member_of("sim:node8:3")->gpu == 3);
  CHECK(simulated::member_of("sim:./a/b.json:12")->gpu == 12);
  for (const char* none : {"sim:node8", "sim:h200", "sim:3", "host", "cuda:1", "sim:node8:", "sim:node8:x"})
    CHECK_FALSE(simulated::member_of(none));
  CHECK(devices::node("sim:node8").size() == 8);
  CHECK(devices::node("sim:node8:7")[3] == "sim:node8:3");
  CHECK(devices::node("sim:plain") == std::vector<std::string>{"sim:plain"});
  CHECK_THROWS_WITH(devices::find("sim:node8"), doctest::Contains("sim:node8:0"));
  CHECK_THROWS_WITH(devices::find("sim:node8:8"), doctest::Contains("sim:node8:7"));
  CHECK_THROWS_WITH(devices::find("sim:nonesuch:0"), doctest::Contains("no simulated node"));
}

TEST_CASE("one GPU of a node, or all of them, may have any key of a spec of their own") {
  const auto file = std::filesystem::temp_directory_path() / ("npgpu-own-" + std::to_string(getpid()) + ".json");
  const auto written = [&](const std::string& own) {
    std::ofstream(file) << R"({"name": "two", "source": "a test", "gpus": 2, "gpu": ")"
                        << (folder.parent_path() / "h200-node.json").string()
                        << R"(", "every": {"facts": {"ecc": 0}}, "own": [)" << own << "]}";
    return file;
  };
  const Node node(written(
      R"({"gpu": "gpu1", "facts": {"driver_version": "1"}, "counters": {"xids": 3}, "link": {"generation": 4, "lanes": 8},
                              "hardware": {"idle_sms": 3}})"));
  const auto common = node.gpu(0), own = node.gpu(1);
  CHECK(number_fact(common.condition.facts, "ecc") == 0);
  CHECK(number_fact(own.condition.facts, "ecc") == 0);
  CHECK(text_fact(common.condition.facts, "driver_version") == "580.159.04");
  CHECK(text_fact(own.condition.facts, "driver_version") == "1");
  CHECK(number_fact(common.condition.counters, "xids") == 0);
  CHECK(number_fact(own.condition.counters, "xids") == 3);
  CHECK(common.condition.link.lanes == 16);
  CHECK(own.condition.link.lanes == 8);
  CHECK(number_fact(own.hardware, "idle_sms") == 3);
  CHECK(std::isnan(number_fact(common.hardware, "idle_sms")));
  // An error names the node's file and the key there.
  CHECK_THROWS_WITH(Node(written(R"({"gpu": "gpu1", "hardware": {"idle_sms": "three"}})")),
                    doctest::Contains((file.string() + ": own.gpu1.hardware.idle_sms: expected").c_str()));
  CHECK_THROWS_WITH(Node(written(R"({"gpu": "gpu1", "colour": 1})")),
                    doctest::Contains("own.gpu1.colour: unknown key"));
  CHECK_THROWS_WITH(Node(written(R"({"gpu": "gpu2"})")), doctest::Contains("there is no gpu2 among 2 GPUs"));
  std::filesystem::remove(file);
}

TEST_CASE("a seed of a node is another scatter of each of its GPUs") {
  const auto gpus = devices::node("sim:h200x2?seed=7");
  CHECK(gpus == std::vector<std::string>{"sim:h200x2?seed=7:0", "sim:h200x2?seed=7:1"});
  const auto zero = simulated::spec_of(gpus[0]).noise.seed, one = simulated::spec_of(gpus[1]).noise.seed;
  CHECK(zero == 7);
  CHECK(one != zero);
  CHECK(simulated::spec_of("sim:h200x2:1").noise.seed == simulated::spec_of("sim:h200x2:0").noise.seed);
  CHECK(simulated::spec_of("sim:soak/node4:3").name == simulated::spec_of("sim:h200-node").name);
}

TEST_CASE("a load from another GPU's memory takes no less than one from its own") {
  const auto ns = [](Direction direction) {
    TransferCase c = direction == Direction::d2d ? case_on("simulated", "sim:h200x2:0", Direction::d2d)
                                                 : peer_case("simulated", "sim:h200x2:0", "sim:h200x2:1", Access::read);
    c.pattern = Pattern::chase;
    c.executor = Executor::sm_kernel;
    c.async = true;
    c.timing = Timing::gated;
    return 1e9 * 8 / (1e9 * rates(c, 8, 1000)[0]);
  };
  const double own = ns(Direction::d2d), peer = ns(Direction::peer);
  CHECK(own == doctest::Approx(685 / 1.98).epsilon(0.02));          // memory_latency_cycles at 1980 MHz
  CHECK(peer == doctest::Approx(own + 2 * 2 * 500).epsilon(0.02));  // there and back over one link of 1 us
}

TEST_CASE("ways go over as few links as there are, and through no GPU") {
  const Node node(folder / "node8.json");
  CHECK(node.gpus() == 8);
  CHECK(node.route(between("sim:node8:0", "sim:node8:3")).links.size() == 2);
  const auto far = node.route(between("sim:node8:0", "sim:node8:4"));
  CHECK(far.links.size() == 5);
  CHECK(far.latency.count() == doctest::Approx(3e-6));
  CHECK(node.route(between("sim:node8:0", "sim:node8:3", Access::staged)).links.size() == 4);
  const DeviceInfo info = devices::find("sim:node8:5");
  CHECK(std::get<std::string>(*find_fact(info.facts, "pci_path")) == "socket1 > switch1");
  CHECK(info.peers.per_s == doctest::Approx(50e9));
  const DeviceInfo joined = devices::find("sim:h200x2:1");
  CHECK(number_fact(joined.facts, "nvlinks") == 18);
  CHECK(std::get<std::string>(*find_fact(joined.facts, "nvlinks_to")) == "gpu0 x18");
}

TEST_CASE("rates alone are those of the tightest link, or of what moves the bytes") {
  CHECK(rates(between("sim:node8:0", "sim:node8:1"))[0] == doctest::Approx(50).epsilon(0.01));
  CHECK(rates(between("sim:node8:0", "sim:node8:7"))[0] == doctest::Approx(40).epsilon(0.01));
  CHECK(rates(between("sim:node8-sick:5", "sim:node8-sick:4"))[0] == doctest::Approx(25).epsilon(0.01));
  TransferCase kernel = between("sim:node8:0", "sim:node8:1", Access::read);
  kernel.executor = Executor::sm_kernel;
  CHECK(rates(kernel)[0] == doctest::Approx(45).epsilon(0.01));
}

// Four GPUs behind one uplink of 50 GB/s have a quarter each; two pairs on links of their own do not meet.
TEST_CASE("lanes share what they share, and nothing else") {
  TransferCase all = case_on("simulated", "sim:node8:0");
  all.async = true;
  all.timing = Timing::gated;
  all.more_lanes = {{Direction::h2d, "host", "sim:node8:1"},
                    {Direction::h2d, "host", "sim:node8:2"},
                    {Direction::h2d, "host", "sim:node8:3"},
                    {Direction::h2d, "host", "sim:node8:4"}};
  const auto each = rates(all, 8'000'000, 20);
  REQUIRE(each.size() == 5);
  for (int i = 0; i < 4; ++i) CHECK(each[static_cast<std::size_t>(i)] == doctest::Approx(12.5).epsilon(0.01));
  CHECK(each[4] == doctest::Approx(50).epsilon(0.01));

  TransferCase pairs = between("sim:node8:0", "sim:node8:1");
  pairs.more_lanes = {{Direction::peer, "sim:node8:1", "sim:node8:0"}, {Direction::peer, "sim:node8:2", "sim:node8:3"}};
  for (const double rate : rates(pairs)) CHECK(rate == doctest::Approx(50).epsilon(0.01));
}

// One lane has 25 GB/s and two have 12.5 while all run. Without tails the slow ones would speed up at its end.
TEST_CASE("every lane's time is one in which all ran") {
  TransferCase c = between("sim:node8:0", "sim:node8:1");
  c.more_lanes = {{Direction::peer, "sim:node8:0", "sim:node8:4"},
                  {Direction::peer, "sim:node8:1", "sim:node8:5"},
                  {Direction::peer, "sim:node8:2", "sim:node8:6"}};
  const auto each = rates(c);
  REQUIRE(each.size() == 4);
  // The socket's 40 GB/s go to three lanes, gpu0's first lane has what its second leaves of 50.
  for (int i = 1; i < 4; ++i) CHECK(each[static_cast<std::size_t>(i)] == doctest::Approx(40.0 / 3).epsilon(0.01));
  CHECK(each[0] == doctest::Approx(50 - 40.0 / 3).epsilon(0.01));
}

TEST_CASE("a pair that does not see each other is copied through the host") {
  CHECK(simulated::why_refused_on_node(between("sim:node8-sick:1", "sim:node8-sick:2"))->find("--access staged") !=
        std::string::npos);
  const auto staged = rates(between("sim:node8-sick:1", "sim:node8-sick:2", Access::staged));
  CHECK(staged[0] == doctest::Approx(20).epsilon(0.01));
}

TEST_CASE(
    "a NUMA node of the host is reached over the link between the sockets, and binding goes where the system says") {
  const auto with_host = [](const char* gpu, Direction direction, int host_node) {
    TransferCase c = case_on("simulated", gpu, direction);
    c.async = true;
    c.timing = Timing::gated;
    c.host_node = host_node;
    return rates(c, 8'000'000, 20)[0];
  };
  for (const Direction direction : {Direction::h2d, Direction::d2h}) {
    CHECK(with_host("sim:node8:0", direction, -1) == doctest::Approx(50).epsilon(0.01));
    CHECK(with_host("sim:node8:0", direction, 0) == doctest::Approx(50).epsilon(0.01));
    CHECK(with_host("sim:node8:0", direction, 1) == doctest::Approx(40).epsilon(0.01));
    CHECK(with_host("sim:node8:7", direction, 0) == doctest::Approx(40).epsilon(0.01));
    CHECK(with_host("sim:node8-firmware:3", direction, -1) == doctest::Approx(40).epsilon(0.01));
    CHECK(with_host("sim:node8-firmware:3", direction, 0) == doctest::Approx(50).epsilon(0.01));
  }
  CHECK(devices::find("sim:node8:5").numa_node == 1);
  CHECK(devices::find("sim:node8:5").host_nodes == std::vector<int>{0, 1});
  CHECK(devices::find("sim:node8-firmware:3").numa_node == 1);
  CHECK(devices::find("sim:h200x2:0").numa_node == -1);  // of one there is nothing to name
  TransferCase c = case_on("simulated", "sim:node8:0");
  c.host_node = 2;
  CHECK(simulated::why_refused_on_node(c)->find("has host memory on NUMA nodes 0, 1") != std::string::npos);
  // Unbound, the simulated system puts buffers near the GPU, whatever the firmware says.
  c = case_on("simulated", "sim:node8-firmware:3");
  c.bind = false;
  CHECK(Node(folder / "node8-firmware.json").route(c).links.size() == 2);
}

TEST_CASE("copies that deliver zeros are found") {
  const TransferCase c = between("sim:zeros:0", "sim:zeros:1");
  const Step<Transfers> step{c, {4096}};
  const auto runner = transfer_runner(simulated::open_node_lane, {&step, 1});
  runner->prepare(step);
  std::vector<TransferSample> samples;
  REQUIRE(runner->run(1, samples));
  CHECK(runner->check(samples)->find("0x00") != std::string::npos);
  CHECK(samples[0].intact == 0);
}

TEST_CASE("what a node cannot do is said") {
  TransferCase c = between("sim:node8:0", "sim:h200x2:1");
  CHECK_FALSE(simulated::is_on_node(c));
  c = between("sim:node8:0", "sim:node8:1");
  c.more_lanes = {{Direction::peer, "sim:node8:1", "sim:node8:0", Executor::copy_engine, false}};
  CHECK(simulated::why_refused_on_node(c)->find("load") != std::string::npos);
  c.more_lanes[0].measured = true;
  c.async = false;
  c.timing = Timing::host;
  CHECK(simulated::why_refused_on_node(c)->find("--async") != std::string::npos);
}

}  // namespace simulated_node_test

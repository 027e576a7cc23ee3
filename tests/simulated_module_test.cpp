// The simulated module, driven by the engine: numbers by hand, faults at every call, refusals.
#include "tests/made_simulated.hpp"

namespace simulated_module_test {

using namespace made_simulated;
using namespace npgpu;
using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("blocking copies: call + latency + bytes over rate, each") {
  // plain: 1 us call; pinned 2 us and 10 GB/s up, 8 down; pageable 4 us, 5 and 4 GB/s; d2d 1 us, 100 GB/s.
  struct Row {
    Direction direction;
    Memory memory;
    double us;  // for 10000 B
  };
  for (const Row& row :
       {Row{Direction::h2d, Memory::pinned, 1 + 2 + 1}, Row{Direction::d2h, Memory::pinned, 1 + 2 + 1.25},
        Row{Direction::h2d, Memory::pageable, 1 + 4 + 2}, Row{Direction::d2h, Memory::pageable, 1 + 4 + 2.5},
        Row{Direction::h2d, Memory::write_combined, 1 + 2 + 0.8}, Row{Direction::d2h, Memory::managed, 1 + 10 + 2.5},
        Row{Direction::d2d, Memory::device, 1 + 1 + 0.1}, Row{Direction::h2h, Memory::pageable, 1 + 0.1 + 0.5}}) {
    TransferCase c = simulated_case();
    c.direction = row.direction;
    c.memory = row.memory;
    INFO(title(c));
    for (const std::uint64_t repeats : {1, 7, 1000}) {
      const auto m = measure(c, 10000, repeats);
      for (const TransferSample& sample : m.samples) CHECK_US(sample.host_us, row.us * static_cast<double>(repeats));
      CHECK(m.samples.back().intact == 1);
      CHECK(m.mismatch == "");
    }
  }
}

TEST_CASE("asynchronous copies: the slower of the call and the engine sets the pace") {
  TransferCase c = async_case(Timing::host);
  CHECK_US(measure(c, 10000, 1).samples[0].host_us, 1 + 2 + 1);
  CHECK_US(measure(c, 10000, 1000).samples[0].host_us, 1 + 2 + 1 + 999 * 1.5);   // gap 0.5 + transfer 1
  CHECK_US(measure(c, 1000, 1000).samples[0].host_us, 1 + 2 + 0.1 + 999 * 1.0);  // the call's 1 is more than 0.6
  c.memory = Memory::pageable;                                                   // staged: as if blocking
  CHECK_US(measure(c, 10000, 10).samples[0].host_us, 10 * (1 + 4 + 2));
}

TEST_CASE("behind a gate calls cost nothing; events see issue costs, gates do not") {
  const auto gated = measure(async_case(Timing::gated), 1000, 100);
  CHECK_US(gated.samples[0].device_us, 2 + 100 * 0.1 + 99 * 0.5);
  // Host: 1 us to close the gate, 100 calls, then the device's time.
  CHECK_US(gated.samples[0].host_us, 1 + 100 + 2 + 100 * 0.1 + 99 * 0.5);
  CHECK_US(measure(async_case(Timing::event), 1000, 100).samples[0].device_us, 100 * 1 + 2 + 0.1);
  TransferCase blocking = simulated_case();
  blocking.timing = Timing::event;
  CHECK_US(measure(blocking, 10000, 100).samples[0].device_us, 100 * 4.0);
}

TEST_CASE("round trips: each leg waits for the other") {
  TransferCase c = simulated_case();
  c.pattern = Pattern::pingpong;
  const auto blocking = measure(c, 10000, 50);
  CHECK_US(blocking.samples[0].host_us, 50 * (4 + 4.25));
  CHECK(blocking.samples.back().intact == 1);
  c = async_case(Timing::gated);
  c.pattern = Pattern::pingpong;
  CHECK_US(measure(c, 10000, 50).samples[0].device_us, 50 * (2 + 1 + 2 + 1.25));
  c.direction = Direction::d2d;
  c.memory = Memory::device;  // both legs on one engine: only gaps between them
  CHECK_US(measure(c, 10000, 50).samples[0].device_us, 1 + 100 * 0.1 + 99 * 0.25);
}

TEST_CASE("both directions at once share the link") {
  TransferCase c = async_case(Timing::gated);
  c.pattern = Pattern::duplex;
  // One copy each, by the formulas of timeline.hpp: up 2 + 1.25 * 10 = 14.5 for 100000 B; down 14.5 * (1 - 1/2) + 12.5
  // + 2/2.
  const auto one = measure(c, 100000, 1);
  REQUIRE(one.samples.size() == 4);
  CHECK_US(one.samples[0].device_us, 14.5);
  CHECK_US(one.samples[1].device_us, 20.75);
  CHECK(one.samples[2].intact == 1);
  CHECK(one.samples[3].intact == 1);
  // A row of 100: up is slowed throughout, 12.5 each and gaps of 0.5.
  CHECK_US(measure(c, 100000, 100).samples[0].device_us, 2 + 100 * 12.5 + 99 * 0.5);
  // The other way round, lane 0 is the copy down.
  c.direction = Direction::d2h;
  CHECK_US(measure(c, 100000, 1).samples[0].device_us, 20.75);
}

TEST_CASE("lanes of one simulated device share its engines; a load or another device is refused") {
  TransferCase c = async_case(Timing::gated);
  const Lane again = lanes(c).front();
  c.more_lanes = {again};
  const auto m = measure(c, 10000, 10);  // issued in turn: 20 copies on one engine, the second lane's end last
  REQUIRE(m.samples.size() == 4);
  CHECK_US(m.samples[0].device_us, 2 + 19 * 1 + 18 * 0.5);
  CHECK_US(m.samples[1].device_us, 2 + 20 * 1 + 19 * 0.5);
  CHECK(m.mismatch == "");
  c.more_lanes[0].measured = false;
  CHECK(refusal(c).find("only a load") != std::string::npos);
  c.more_lanes[0] = again;
  c.more_lanes[0].target = "sim:gtx280";
  CHECK(refusal(c).find("use lanes of one device") != std::string::npos);
  c.more_lanes[0] = again;
  c.timing = Timing::host;
  CHECK(refusal(c).find("--timing gated or event") != std::string::npos);
}

TEST_CASE("one copy engine: both directions in turn") {
  const SpecFile spec([](json& j) { j["copy_engines"] = 1; });
  TransferCase c = async_case(Timing::gated, spec.id());
  c.pattern = Pattern::duplex;
  const auto m = measure(c, 10000, 10);
  CHECK_US(m.samples[0].device_us, 2 + 10 * 1 + 9 * 1.25 + 18 * 0.5);
  CHECK_US(m.samples[1].device_us, 2 + 10 * 1 + 10 * 1.25 + 19 * 0.5);
}

TEST_CASE("the same spec gives the same samples, another seed gives others") {
  const auto noise = [](int seed) {
    return [seed](json& j) {
      j["noise"] = {{"seed", seed}, {"sigma", 0.02}, {"operation_sigma", 0.05}, {"outlier_rate", 0.1}};
    };
  };
  const SpecFile first(noise(5)), same(noise(5)), other(noise(6));
  const auto a = measure(simulated_case(first.id()), 10000, 10, 20).samples;
  CHECK(measure(simulated_case(first.id()), 10000, 10, 20).samples.size() == 20);
  const auto times = [](const std::vector<TransferSample>& samples) {
    std::vector<double> all;
    for (const TransferSample& s : samples) all.push_back(s.host_us);
    return all;
  };
  CHECK(times(measure(simulated_case(first.id()), 10000, 10, 20).samples) == times(a));  // opened again: fresh
  CHECK(times(measure(simulated_case(same.id()), 10000, 10, 20).samples) == times(a));
  CHECK(times(measure(simulated_case(other.id()), 10000, 10, 20).samples) != times(a));
}

TEST_CASE("noise is as wide as the spec says, and has no bias in the median") {
  const SpecFile spec([](json& j) { j["noise"] = {{"seed", 1}, {"sigma", 0.05}}; });
  const auto samples = measure(simulated_case(spec.id()), 10000, 1, 2001).samples;
  double sum = 0, squares = 0;
  std::vector<double> times;
  for (const TransferSample& s : samples) {
    const double log = std::log(s.host_us / 4);
    sum += log;
    squares += log * log;
    times.push_back(s.host_us);
  }
  const double n = static_cast<double>(samples.size());
  CHECK(std::sqrt(squares / n) == doctest::Approx(0.05).epsilon(0.08));  // its own scatter: 0.05 / sqrt(4000)
  CHECK(std::abs(sum / n) < 4 * 0.05 / std::sqrt(n));
  CHECK(median(times) == doctest::Approx(4).epsilon(0.01));
}

TEST_CASE("outliers come as often and as large as the spec says") {
  const SpecFile spec([](json& j) { j["noise"] = {{"seed", 3}, {"outlier_rate", 0.25}, {"outlier_factor", 3}}; });
  int outliers = 0;
  for (const TransferSample& s : measure(simulated_case(spec.id()), 10000, 1, 1000).samples) {
    const bool outlier = s.host_us > 5;
    CHECK_US(s.host_us, outlier ? 12.0 : 4.0);
    outliers += outlier;
  }
  CHECK(outliers > 190);
  CHECK(outliers < 310);
}

TEST_CASE("channels of one device share its clock; opened afresh it starts anew") {
  const SpecFile spec;
  const TransferCase c = simulated_case(spec.id());
  {
    const auto a = module().open_lane(c, 1000), b = module().open_lane(c, 1000);
    CHECK(&a->clock() == &b->clock());
    CHECK(a->clock().now().count() == 0);
    a->prepare(1000);
    a->forward();
    CHECK(b->clock().now() == a->clock().now());
    CHECK(b->clock().now().count() > 0);
  }
  CHECK(module().open_lane(c, 1000)->clock().now().count() == 0);
}

TEST_CASE("device memory is counted, given back, and refused where it is not there") {
  const SpecFile spec([](json& j) { j["memory_bytes"] = 100000; });
  const TransferCase c = simulated_case(spec.id());
  CHECK(module().available(c).device_bytes == 100000);
  // 50000 B lie in 14 pages of 4096 = 57344 with their lead and guards.
  CHECK(module().needs_lane(c, 50000).device_bytes == 57344);
  CHECK(module().needs_lane(c, 50000).host_bytes == 2 * 57344);
  CHECK(module().needs_lane(c, UINT64_MAX).device_bytes == UINT64_MAX);
  for (int i = 0; i < 3; ++i) {
    const auto a = module().open_lane(c, 50000);
    CHECK_THROWS_WITH_AS(module().open_lane(c, 50000),
                         doctest::Contains("no device memory for 57344 bytes, 42656 are free"), Error);
  }
  TransferCase within = c;
  within.direction = Direction::d2d;
  within.memory = Memory::device;
  CHECK_THROWS_AS(module().open_lane(within, 50000), Error);  // two of them
  CHECK_NOTHROW(module().open_lane(c, 50000));                // the first of the two was given back
}

TEST_CASE("what did not arrive is found") {
  TransferCase c = simulated_case();
  c.pattern = Pattern::pingpong;
  const auto channel = module().open_lane(c, 4096);
  channel->prepare(100);
  CHECK(channel->intact(false)->find("byte 0 of 100 is ") == 0);
  channel->forward();
  CHECK_FALSE(channel->intact(false));
  CHECK(channel->intact(true)->find("on the way back, byte 0 of 100 is ") == 0);
  channel->back();
  CHECK_FALSE(channel->intact(true));
  channel->prepare(99);  // everything is poisoned anew, and the same copy moves its bytes again
  CHECK(channel->intact(false));
  channel->forward();
  channel->back();
  CHECK_FALSE(channel->intact(true));
  CHECK_THROWS_AS(channel->prepare(0), Error);
  CHECK_THROWS_AS(channel->prepare(4097), Error);
}

TEST_CASE("offsets move payloads, not times") {
  TransferCase c = simulated_case();
  c.source_offset = 3;
  c.target_offset = 4095;
  const auto m = measure(c, 10000, 3);
  CHECK(m.mismatch == "");
  CHECK_US(m.samples[0].host_us, 3 * 4.0);
}

TEST_CASE("the NetPIPE paper's plateaus come out of its GPU's spec") {
  // Allada et al., section II: GB/s at 192 MB. Of ping-pong the first leg may follow none the other way.
  TransferCase c = simulated_case("sim:tesla-s1070");
  const auto gb_s = [&](int legs, std::uint64_t repeats = 1) {
    return 192e6 * legs * static_cast<double>(repeats) / measure(c, 192000000, repeats, 1).samples[0].host_us / 1e3;
  };
  CHECK(gb_s(1) == doctest::Approx(2.85).epsilon(0.002));
  c.direction = Direction::d2h;
  CHECK(gb_s(1) == doctest::Approx(3.11).epsilon(0.002));
  c.memory = Memory::pageable;
  CHECK(gb_s(1) == doctest::Approx(2.0).epsilon(0.002));
  c = simulated_case("sim:tesla-s1070");
  c.pattern = Pattern::pingpong;
  CHECK(gb_s(2, 100) == doctest::Approx(2.9).epsilon(0.002));
  c.memory = Memory::pageable;
  CHECK(gb_s(2, 100) == doctest::Approx(1.6).epsilon(0.002));
  c = simulated_case("sim:tesla-s1070");
  c.direction = Direction::d2d;
  c.memory = Memory::device;
  CHECK(2 * gb_s(1) == doctest::Approx(72).epsilon(0.01));
}
}  // namespace simulated_module_test

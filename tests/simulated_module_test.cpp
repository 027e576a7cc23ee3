// The simulated module, driven by the engine: numbers by hand, faults at every call, refusals.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "npgpu/error.hpp"
#include "npgpu/module.hpp"
#include "npgpu/statistics.hpp"

namespace simulated_module_test {

using namespace npgpu;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const Module& module() {
  const Module* found = find_module("simulated");
  REQUIRE(found);
  return *found;
}

// A spec of its own for every test: a lost device stays lost, and open ones are shared, by name.
class SpecFile {
 public:
  explicit SpecFile(const std::function<void(json&)>& change = [](json&) {}) {
    std::ifstream plain(fs::path(NPGPU_SOURCE_DIR) / "data/devices/plain.json");
    json spec = json::parse(plain);
    change(spec);
    static int number = 0;
    path_ =
        fs::temp_directory_path() / ("npgpu-" + std::to_string(getpid()) + '-' + std::to_string(number++) + ".json");
    std::ofstream(path_) << spec.dump();
  }
  ~SpecFile() { fs::remove(path_); }
  SpecFile(const SpecFile&) = delete;
  SpecFile& operator=(const SpecFile&) = delete;
  std::string id() const { return "sim:" + path_.string(); }

 private:
  fs::path path_;
};

TransferCase simulated_case(const std::string& device = "sim:plain") { return case_on("simulated", device); }

TransferCase async_case(Timing timing, const std::string& device = "sim:plain") {
  TransferCase c = simulated_case(device);
  c.async = true;
  c.timing = timing;
  return c;
}

std::vector<Step<Transfers>> at(const TransferCase& c, std::uint64_t bytes) { return {{c, {bytes}}}; }

Measured<Transfers> measure(const TransferCase& c, std::uint64_t bytes, std::uint64_t repeats, int trials = 2) {
  const auto steps = at(c, bytes);
  const auto runner = module().open(steps);
  const auto schedule = classic_schedule({.trials = trials, .fixed_repeats = repeats});
  const auto measured = npgpu::measure(*runner, *schedule, steps[0], {});
  REQUIRE(measured);
  return *measured;
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-12 * std::abs(b); }

#define CHECK_US(a, b) CHECK_MESSAGE(close((a), (b)), (a), " us is not ", (b))

std::string refusal(const TransferCase& c) { return module().refuses(at(c, 8)[0]).value_or(""); }

}  // namespace

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

// ---- faults ------------------------------------------------------------------------------------------

namespace {

json fault(int call, const char* kind) { return json::array({{{"call", call}, {"kind", kind}}}); }

std::vector<TransferCase> cases_with_faults(const std::string& id) {
  TransferCase blocking = simulated_case(id), gated = async_case(Timing::gated, id), duplex = gated, pingpong = gated,
               up = blocking;
  duplex.pattern = Pattern::duplex;
  pingpong.pattern = Pattern::pingpong;
  up.direction = Direction::d2h;
  return {blocking, up, gated, duplex, pingpong};
}

}  // namespace

TEST_CASE("whichever call fails, an Error says so; nothing leaks and nothing hangs") {
  for (const char* kind : {"fail", "lost"})
    for (std::size_t which = 0; which < cases_with_faults("").size(); ++which) {
      int failed = 0;
      for (int call = 1; call < 200; ++call) {
        const SpecFile spec([&](json& j) { j["faults"] = fault(call, kind); });
        const TransferCase c = cases_with_faults(spec.id())[which];
        INFO(title(c), " ", kind, " ", call);
        try {
          measure(c, 300, 3);
          break;
        } catch (const Error& e) {
          ++failed;
          CHECK(e.kind() == (std::string(kind) == "lost" ? ErrorKind::lost : ErrorKind::failed));
          CHECK(std::string(e.what()).find("call " + std::to_string(call)) != std::string::npos);
        }
        if (std::string(kind) == "lost") {
          CHECK_THROWS_WITH_AS(module().open_lane(c, 300), doctest::Contains("lost earlier in this run"), Error);
        }
      }
      // At least: 2 buffers, a stream, 3 prepared and checked, 9 copies with 3 waits.
      CHECK(failed > 12);
      CHECK(failed < 199);
    }
}

TEST_CASE("a call that fails once does not stop the ones after it") {
  const SpecFile spec([](json& j) { j["faults"] = fault(8, "fail"); });
  const auto channel = module().open_lane(simulated_case(spec.id()), 300);
  channel->prepare(300);  // stream, host and device memory, poison: 4 calls
  for (int call = 5; call < 8; ++call) channel->forward();
  CHECK_THROWS_WITH_AS(channel->forward(), doctest::Contains("call 8 (copy) failed"), Error);
  CHECK_NOTHROW(channel->forward());
  CHECK_NOTHROW(channel->settle());
  CHECK_FALSE(channel->intact(false));
}

TEST_CASE("a lost device fails at every call from then on") {
  const SpecFile spec([](json& j) { j["faults"] = fault(5, "lost"); });
  const auto channel = module().open_lane(simulated_case(spec.id()), 300);
  channel->prepare(300);
  CHECK_THROWS_WITH_AS(channel->forward(), doctest::Contains("the device is lost, seen at call 5 (copy)"), Error);
  CHECK_THROWS_WITH_AS(channel->forward(), doctest::Contains("the device is lost, seen at call 6 (copy)"), Error);
  CHECK_THROWS_AS(channel->settle(), Error);
  CHECK_THROWS_AS(channel->intact(false), Error);
  CHECK_THROWS_AS(channel->prepare(8), Error);
}

TEST_CASE("a payload that is corrupted in the last copy or after it is found, before it is written over") {
  for (const std::uint64_t bytes : {1, 300})
    for (int call = 1; call < 12; ++call) {
      const SpecFile spec([&](json& j) { j["faults"] = fault(call, "corrupt"); });
      const auto channel = module().open_lane(simulated_case(spec.id()), 300);
      channel->prepare(bytes);                         // up to call 4
      for (int i = 0; i < 3; ++i) channel->forward();  // calls 5 to 7
      channel->settle();                               // call 8
      const auto wrong = channel->intact(false);       // call 9
      CAPTURE(call);
      CHECK(wrong.has_value() == (call >= 7 && call <= 9));
      if (wrong) CHECK(wrong->find(" of " + std::to_string(bytes) + " is 0x") != std::string::npos);
      channel->forward();                                  // call 10
      if (call < 10) CHECK_FALSE(channel->intact(false));  // which mends it
    }
}

TEST_CASE("a round trip carries what was corrupted on its way out back home") {
  const SpecFile spec([](json& j) { j["faults"] = fault(7, "corrupt"); });
  TransferCase c = simulated_case(spec.id());
  c.pattern = Pattern::pingpong;
  const auto channel = module().open_lane(c, 300);  // stream, device memory, 2 x host memory
  channel->prepare(300);                            // 5: poison
  channel->forward();                               // 6
  channel->back();                                  // 7: what came home is wrong, what arrived is right
  CHECK_FALSE(channel->intact(false));
  CHECK(channel->intact(true)->find("on the way back, ") == 0);
}

TEST_CASE("a gate that times out voids its trial, which is run again") {
  const auto plain = measure(async_case(Timing::gated), 300, 3).samples;
  bool saw = false;
  for (int call = 1; call < 40; ++call) {
    const SpecFile spec([&](json& j) { j["faults"] = fault(call, "gate-timeout"); });
    const TransferCase c = async_case(Timing::gated, spec.id());
    const auto measured = measure(c, 300, 3);
    saw |= measured.visit.void_trials > 0;
    const auto& samples = measured.samples;
    REQUIRE(samples.size() == plain.size());
    for (std::size_t i = 0; i < samples.size(); ++i) CHECK_US(samples[i].device_us, plain[i].device_us);
  }
  CHECK(saw);
  // At every close of a gate: three in a row end the point.
  const SpecFile always([](json& j) {
    for (int call = 1; call < 100; ++call) j["faults"].push_back({{"call", call}, {"kind", "gate-timeout"}});
  });
  CHECK_THROWS_WITH_AS(measure(async_case(Timing::gated, always.id()), 300, 3),
                       doctest::Contains("the gate timed out 3 times"), Error);
}

TEST_CASE("more operations than a gate holds time it out, as many as it holds do not") {
  const SpecFile spec([](json& j) { j["host"]["gate_capacity"] = 8; });
  const TransferCase c = async_case(Timing::gated, spec.id());
  const auto runner = module().open(at(c, 300));
  runner->prepare(at(c, 300)[0]);
  CHECK(runner->max_repeats() == 8);
  std::vector<TransferSample> samples;
  CHECK(runner->run(8, samples));
  CHECK_FALSE(runner->run(9, samples));
  CHECK(runner->run(8, samples));
}

TEST_CASE("waiting behind one's own gate ends with the gate's time-out, not never") {
  const auto channel = module().open_lane(async_case(Timing::gated), 300);
  channel->prepare(300);
  channel->timer()->hold();
  channel->timer()->start();
  channel->forward();
  channel->timer()->stop();
  channel->settle();
  CHECK_FALSE(channel->timer()->elapsed());
}

// ---- what is refused -----------------------------------------------------------------------------------

TEST_CASE("what a real device can do is not refused") {
  for (const Direction d : {Direction::h2d, Direction::d2h})
    for (const Memory m : {Memory::pinned, Memory::pageable, Memory::write_combined, Memory::managed})
      for (const Pattern p : {Pattern::stream, Pattern::pingpong})
        for (const Timing t : {Timing::host, Timing::event})
          for (const bool async : {false, true}) {
            TransferCase c = simulated_case();
            c.direction = d;
            c.memory = m;
            c.pattern = p;
            c.timing = t;
            c.async = async;
            CHECK(refusal(c) == "");
            CHECK(measure(c, 77, 2, 1).mismatch == "");
          }
}

TEST_CASE("what cannot be is refused in one sentence, with what would work") {
  struct Row {
    void (*change)(TransferCase&);
    const char* option;
    const char* instead;
  };
  const Row rows[] = {
      {[](TransferCase& c) { c.direction = Direction::d2d; }, "--memory pinned", "--memory device"},
      {[](TransferCase& c) { c.memory = Memory::device; }, "--memory device", "pinned"},
      {[](TransferCase& c) { c.direction = Direction::peer; }, "--direction peer", "--to"},
      {[](TransferCase& c) { c.cache = Cache::cold; }, "--cache cold", "--cache warm"},
      {[](TransferCase& c) { c.timing = Timing::gated; }, "--timing gated", "--async"},
      {[](TransferCase& c) { c.timing = Timing::gated, c.async = true, c.memory = Memory::pageable; }, "--timing gated",
       "--memory pinned"},
      {[](TransferCase& c) { c.timing = Timing::gated, c.async = true, c.memory = Memory::managed; }, "--timing gated",
       "--memory pinned"},
      {[](TransferCase& c) { c.pattern = Pattern::duplex; }, "--pattern duplex",
       "--async --memory pinned --timing gated or event"},
      {[](TransferCase& c) { c.pattern = Pattern::duplex, c.async = true; }, "--pattern duplex", "two host threads"},
      {[](TransferCase& c) {
         c.pattern = Pattern::duplex, c.async = true, c.timing = Timing::event, c.memory = Memory::pageable;
       },
       "--pattern duplex", "two host threads"},
      {[](TransferCase& c) { c.pattern = Pattern::duplex, c.timing = Timing::event; }, "--pattern duplex",
       "two host threads"},
      {[](TransferCase& c) {
         c.pattern = Pattern::duplex, c.async = true, c.direction = Direction::d2d, c.memory = Memory::device,
         c.timing = Timing::event;
       },
       "--pattern duplex", "--direction h2d or d2h"},
      {[](TransferCase& c) { c.direction = Direction::h2h, c.async = true; }, "--async", "leave"},
      {[](TransferCase& c) { c.direction = Direction::h2h, c.timing = Timing::event; }, "--timing event",
       "--timing host"},
      {[](TransferCase& c) { c.direction = Direction::h2h, c.pattern = Pattern::duplex; }, "--pattern duplex",
       "--module memcpy"},
      {[](TransferCase& c) { c.direction = Direction::h2h, c.memory = Memory::managed; }, "--memory managed",
       "pinned or pageable"},
      {[](TransferCase& c) { c.target = "sim:gtx280", c.memory = Memory::managed; }, "--memory managed",
       "use pageable, pinned"},
  };
  for (const Row& row : rows) {
    TransferCase c = simulated_case();
    CHECK(refusal(c) == "");
    row.change(c);
    const std::string why = refusal(c);
    CAPTURE(why);
    CHECK(why.find(row.option) == 0);
    CHECK(why.find(row.instead) != std::string::npos);
    CHECK(why.find('\n') == std::string::npos);
    CHECK(why.back() != '.');
    CHECK_THROWS_WITH_AS(module().open_lane(c, 8), why.c_str(), Error);
  }
}

TEST_CASE("a link that the spec does not have is refused, also where only the way back needs it") {
  const SpecFile none([](json& j) { j["links"].erase("d2h"); });
  TransferCase c = simulated_case(none.id());
  CHECK(refusal(c) == "");
  c.pattern = Pattern::pingpong;
  CHECK(refusal(c) == "--direction d2h: Plain has no such link: add it to its spec, or use another direction");
  const SpecFile one([](json& j) { j["links"]["d2h"].erase("pinned"); });
  c.target = one.id();
  CHECK(refusal(c) ==
        "--memory pinned: the spec of Plain has no d2h link for it: use pageable, write-combined, managed");
}

TEST_CASE("the registry lists simulated devices, and a broken spec among them with what is wrong") {
  const fs::path folder = fs::temp_directory_path() / ("npgpu-broken-" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "broken.json") << "{";
  setenv("NPGPU_DEVICES", folder.c_str(), 1);
  const auto all = devices::family_of("sim:plain").list();
  unsetenv("NPGPU_DEVICES");
  fs::remove_all(folder);
  int found = 0;
  for (const DeviceInfo& device : all) {
    CHECK(device.simulated);
    if (device.id == "sim:broken") found += device.name.find("unusable: ") == 0;
    if (device.id == "sim:plain") found += device.name == "Plain";
  }
  CHECK(found == 2);
  CHECK_THROWS_AS(devices::find("sim:nonesuch"), Error);
  CHECK_THROWS_AS(refusal(simulated_case("sim:nonesuch")), Error);
  CHECK(devices::find("sim:plain").memory_bytes == GiB);
}

TEST_CASE("the NetPIPE paper's plateaus come out of its GPU's spec") {
  // Allada et al., section II: GB/s at 192 MB. Ping-pong is the mean of both ways in time.
  TransferCase c = simulated_case("sim:tesla-s1070");
  const auto gb_s = [&](int legs) { return 192e6 * legs / measure(c, 192000000, 1, 1).samples[0].host_us / 1e3; };
  CHECK(gb_s(1) == doctest::Approx(2.85).epsilon(0.002));
  c.direction = Direction::d2h;
  CHECK(gb_s(1) == doctest::Approx(3.11).epsilon(0.002));
  c.memory = Memory::pageable;
  CHECK(gb_s(1) == doctest::Approx(2.0).epsilon(0.002));
  c = simulated_case("sim:tesla-s1070");
  c.pattern = Pattern::pingpong;
  CHECK(gb_s(2) == doctest::Approx(2.9).epsilon(0.03));
  c = simulated_case("sim:tesla-s1070");
  c.direction = Direction::d2d;
  c.memory = Memory::device;
  CHECK(2 * gb_s(1) == doctest::Approx(72).epsilon(0.01));
}

}  // namespace simulated_module_test

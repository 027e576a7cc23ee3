// The simulated module: faults at every call, and what is refused.
#include "tests/made_simulated.hpp"

namespace simulated_faults_test {

using namespace made_simulated;
using namespace npgpu;
using nlohmann::json;
namespace fs = std::filesystem;

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

}  // namespace simulated_faults_test

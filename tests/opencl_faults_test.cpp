// Channels of OpenCL on the fake library, which NPGPU_OPENCL names: gates that no driver's call may wait behind, wrong
// bytes, and devices that another family has too.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "netpipe/devices/opencl/inventory.hpp"
#include "netpipe/engine/copy_cases.hpp"
#include "netpipe/modules/opencl/copy_channel.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace opencl_faults_test {

using namespace npgpu;

namespace {

struct Fault {
  explicit Fault(const char* what) { setenv("FAKE_OPENCL", what, 1); }
  ~Fault() { unsetenv("FAKE_OPENCL"); }
};

TransferCase case_of(Direction direction, Timing timing) {
  TransferCase c = case_on("clEnqueue", "opencl:0", direction);
  c.async = timing != Timing::host;
  c.timing = timing;
  c.bind = false;
  return c;
}

// A trial of so many copies, as the engine runs it.
std::optional<Seconds> gated_trial(opencl::CopyChannel& channel, std::uint64_t repeats) {
  DeviceTimer& timer = *channel.timer();
  timer.hold();
  timer.start();
  channel.issue(repeats, false);
  timer.stop();
  timer.release();
  channel.settle();
  return timer.elapsed();
}

template <class Function> std::string message_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// A GPU of another family, at the place on the bus where the fake device is.
class OtherFamily final : public DeviceFamily {
 public:
  std::string_view kind() const override { return "other"; }
  bool has_gpus() const override { return true; }
  std::vector<DeviceInfo> list() const override {
    DeviceInfo far, near;
    far.id = "other:0";
    far.pci_bus_id = "0000:01:00.0";
    near.id = "other:1";
    near.pci_bus_id = "00000000:3B:00.0";
    near.uuid = "GPU-1";
    near.link = {1e9, "of a test"};
    return {far, near};
  }
  Telemetry telemetry(const std::string& id) const override {
    Telemetry now;
    if (id == "other:1") now.power_w = 42;
    return now;
  }
};

}  // namespace

TEST_CASE("copies of all directions arrive, and come back") {
  for (const Direction direction : {Direction::h2d, Direction::d2h, Direction::d2d})
    for (const Timing timing : {Timing::event, Timing::gated}) {
      TransferCase c = case_of(direction, timing);
      c.pattern = Pattern::pingpong;
      CAPTURE(title(c));
      opencl::CopyChannel channel(c, 4096);
      for (const std::uint64_t bytes : {1u, 7u, 4096u}) {
        channel.prepare(bytes);
        channel.issue(3, true);
        channel.settle();
        CHECK(channel.intact(true) == std::nullopt);
        channel.prepare(bytes);
        CHECK(channel.intact(false) != std::nullopt);  // nothing was copied
      }
    }
}

TEST_CASE("a wrong byte is found at its place, on the way back too") {
  opencl::CopyChannel channel(case_of(Direction::h2d, Timing::event), 4096);
  const Fault fault("wrong");
  channel.prepare(2048);
  channel.issue(1, false);
  channel.settle();
  const auto wrong = channel.intact(false);
  REQUIRE(wrong);
  CHECK(wrong->find("of 2048 is") != std::string::npos);
}

TEST_CASE("what runs behind a gate is timed by the commands' own profiles") {
  opencl::CopyChannel channel(case_of(Direction::h2d, Timing::gated), 4096);
  channel.prepare(64);
  const auto one = gated_trial(channel, 1);
  const auto many = gated_trial(channel, 50);
  REQUIRE(one);
  REQUIRE(many);
  CHECK(*one >= Seconds{1e-6});  // that the fake adds to each command's end
  CHECK(*one < Seconds{1});
  CHECK(*many >= Seconds{1e-6});
  CHECK(channel.intact(false) == std::nullopt);
}

TEST_CASE("a call that waits behind the gate voids the trial, and nothing hangs") {
  opencl::CopyChannel channel(case_of(Direction::h2d, Timing::gated), 4096, Seconds{0.05});
  channel.prepare(64);
  {
    const Fault fault("blocks");
    CHECK(gated_trial(channel, 3) == std::nullopt);
  }
  CHECK(gated_trial(channel, 3) != std::nullopt);  // the next one is right again
}

TEST_CASE("events without times are an error, and not a time") {
  const Fault fault("no-profile");
  opencl::CopyChannel channel(case_of(Direction::d2h, Timing::gated), 4096);
  channel.prepare(64);
  CHECK(message_of([&] { (void)gated_trial(channel, 3); }) ==
        "the driver of opencl:0 has no profile of its commands: use --timing host");
}

TEST_CASE("a buffer larger than the device's largest is refused in words") {
  const auto context = opencl::context_on("opencl:0");
  CHECK(message_of([&] { opencl::Buffer(*context, std::uint64_t{1} << 29); }) ==
        "opencl:0 has no buffers of 536870912 bytes: its largest has 268435456");
}

TEST_CASE("a device that another family has too takes its place, limits and telemetry from there") {
  const DeviceInfo info = devices::find("opencl:0");
  CHECK(info.name == "Fake GPU");
  CHECK(text_fact(info.facts, "same_as") == "other:1");
  CHECK(info.uuid == "GPU-1");
  CHECK(info.link.per_s == 1e9);
  CHECK(devices::telemetry("opencl:0").power_w == 42);
  for (const DeviceInfo& gpu : devices::gpus()) CHECK_FALSE(gpu.id.starts_with("opencl"));  // never measured unasked
}

}  // namespace opencl_faults_test

NPGPU_REGISTERED(DeviceFamily, opencl_faults_test::OtherFamily)

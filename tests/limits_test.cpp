#include <doctest/doctest.h>

#include <cmath>

#include "npgpu/transfer.hpp"

namespace limits_test {

using namespace npgpu;

namespace {
DeviceInfo gpu() {
  DeviceInfo info;
  info.link = {63e9, "PCIe Gen5 x16"};
  info.memory = {4800e9, "HBM3e"};
  return info;
}
TransferCase going(Direction d, Pattern p = Pattern::stream) {
  TransferCase c;
  c.direction = d;
  c.pattern = p;
  return c;
}
}  // namespace

TEST_CASE("the link limits what crosses it, in each direction") {
  for (const Direction d : {Direction::h2d, Direction::d2h})
    for (const Pattern p : {Pattern::stream, Pattern::pingpong, Pattern::duplex}) {
      const Limit limit = limit_of(going(d, p), gpu());
      CHECK(limit.per_s == 63e9);
      CHECK(limit.source == "PCIe Gen5 x16");
    }
}

TEST_CASE("a copy within a memory reads and writes, so half of its rate is the limit") {
  DeviceInfo host = gpu();
  host.id = "host";
  for (const Limit& limit : {limit_of(going(Direction::d2d), gpu()), limit_of(going(Direction::h2h), host)}) {
    CHECK(limit.per_s == 2400e9);
    CHECK(limit.source == "half of HBM3e, because a copy reads and writes every byte");
  }
}

TEST_CASE("a device's memory does not limit copies within the host's") {
  CHECK(limit_of(going(Direction::h2h), gpu()).source == "unknown: the rate of the host's memory is not known");
}

TEST_CASE("what the device does not give is unknown, and the reason is said") {
  for (const Direction d : {Direction::h2d, Direction::d2d, Direction::h2h, Direction::peer}) {
    const Limit limit = limit_of(going(d), DeviceInfo{});
    CHECK(std::isnan(limit.per_s));
    CHECK(limit.source.starts_with("unknown: "));
  }
  DeviceInfo zero;
  zero.link.per_s = 0;
  CHECK(std::isnan(limit_of(going(Direction::h2d), zero).per_s));
}

TEST_CASE("a device's own reason for not knowing is passed on") {
  DeviceInfo host;
  host.id = "host";
  host.memory.source = "unknown: cannot be read without root";
  host.link.source = "none: the host has no link to itself";
  CHECK(limit_of(going(Direction::h2h), host).source == "unknown: cannot be read without root");
  CHECK(limit_of(going(Direction::h2d), host).source == "none: the host has no link to itself");
}

TEST_CASE("the link says nothing about copies between two devices") {
  CHECK(std::isnan(limit_of(going(Direction::peer), gpu()).per_s));
}

}  // namespace limits_test

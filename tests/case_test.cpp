#include <doctest/doctest.h>

#include "npgpu/vocabulary/questions.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace case_test {

using namespace npgpu;

TEST_CASE("the words a user types are the words of the enumerators, and back") {
  CHECK(name(Memory::write_combined) == "write-combined");
  CHECK(named<Memory>("write-combined") == Memory::write_combined);
  CHECK_FALSE(named<Memory>("writecombined"));
  CHECK_FALSE(named<Pattern>(""));
  CHECK(choices<Pattern>() == "stream, pingpong, duplex, chase, atomic, flag");
}

TEST_CASE("a title says what differs from the plain case, and nothing else") {
  TransferCase c = case_on("cudaMemcpy", "cuda:0");
  CHECK(title(c) == "cudaMemcpy cuda:0 h2d pinned stream blocking host");
  c.async = true;
  c.timing = Timing::gated;
  c.cache = Cache::cold;
  c.source_offset = 3;
  c.bind = false;
  CHECK(title(c) == "cudaMemcpy cuda:0 h2d pinned stream async gated cold soffset=3 unbound");
  c.bind = true;
  c.host_node = 1;
  CHECK(title(c) == "cudaMemcpy cuda:0 h2d pinned stream async gated cold soffset=3 host-node=1");
  c = case_on("cudaMemcpy", "cuda:0");
  c.beside = "kernels";
  CHECK(title(c) == "cudaMemcpy cuda:0 h2d pinned stream blocking host beside=kernels");
  CHECK(title(CallCase{.device = "cuda:0", .beside = "idle"}) == "calls cuda:0 launch alone beside=idle");
  c = case_on("cudaMemcpy", "cuda:0");
  c.executor = Executor::sm_kernel;
  c.more_lanes = {{Direction::d2h, "cuda:1", "host", Executor::copy_engine, false}};
  CHECK(title(c) ==
        "cudaMemcpy cuda:0 h2d pinned stream blocking host sm-kernel with d2h cuda:1>host copy-engine load");
  c = case_on("cudaMemcpy", "cuda:0", Direction::peer);
  c.target = "cuda:1";
  CHECK(title(c) == "cudaMemcpy cuda:0>cuda:1 peer device stream blocking host write");
  c.access = Access::staged;
  c.more_lanes = std::vector<Lane>(3, lanes(c).front());
  c.more_lanes.push_back({Direction::d2h, "cuda:0", "host"});
  CHECK(title(c) == "cudaMemcpy cuda:0>cuda:1 peer device stream blocking host staged with 4 more lanes: 1 d2h 3 peer");
  CHECK(
      title(ProbeCase{.probe = "bandwidth", .device = "host", .operation = Operation::rmw, .form = Form::dependent}) ==
      "bandwidth host rmw fp32 dependent");
  CHECK(title(JobCase{.device = "cuda:0"}) == "jobs cuda:0 increment breadth-first pooled");
}

TEST_CASE("a case on a device: its ends, memory and executor follow from the direction") {
  const TransferCase up = case_on("cudaMemcpy", "cuda:1"), down = case_on("cudaMemcpy", "cuda:1", Direction::d2h);
  CHECK(up.source == "host");
  CHECK(up.target == "cuda:1");
  CHECK(up.memory == Memory::pinned);
  CHECK(up.executor == Executor::copy_engine);
  CHECK(down.source == "cuda:1");
  CHECK(down.target == "host");
  CHECK(case_on("cudaMemcpy", "cuda:1", Direction::d2d).memory == Memory::device);
  const TransferCase host = case_on("memcpy", "host", Direction::h2h);
  CHECK(host.memory == Memory::pageable);
  CHECK(host.executor == Executor::cpu);
  for (const Direction d : {Direction::h2d, Direction::d2h, Direction::d2d, Direction::h2h})
    CHECK(device_of(case_on("simulated", "sim:plain", d)) == "sim:plain");
  CHECK(device_of(host) == "host");
}

TEST_CASE("between two devices: who moves the bytes, and which devices take part") {
  TransferCase c = peer_case("cudaMemcpy", "cuda:2", "cuda:1");
  CHECK(c.memory == Memory::device);
  CHECK(mover_of(c) == "cuda:2");
  c.access = Access::staged;
  CHECK(mover_of(c) == "cuda:2");
  c.access = Access::read;
  CHECK(mover_of(c) == "cuda:1");
  CHECK(device_of(c) == "cuda:2");
  c.more_lanes = {{Direction::h2d, "host", "cuda:0"}, {Direction::peer, "cuda:1", "cuda:2"}};
  CHECK(devices_of(c) == std::vector<std::string>{"cuda:2", "cuda:1", "cuda:0"});
  CHECK(devices_of(case_on("memcpy", "host", Direction::h2h)) == std::vector<std::string>{"host"});
  CHECK(mover_of(case_on("cudaMemcpy", "cuda:1", Direction::d2h)) == "cuda:1");
}

TEST_CASE("only the host's directions have another reverse") {
  CHECK(reversed(Direction::h2d) == Direction::d2h);
  CHECK(reversed(Direction::d2h) == Direction::h2d);
  CHECK(reversed(Direction::d2d) == Direction::d2d);
}

TEST_CASE("the lanes of a case: its own, for duplex the reverse one, then the others") {
  TransferCase c = case_on("cudaMemcpy", "cuda:0", Direction::d2h);
  CHECK(lanes(c) == std::vector<Lane>{{Direction::d2h, "cuda:0", "host", Executor::copy_engine, true}});
  c.pattern = Pattern::duplex;
  const Lane load{Direction::d2d, "cuda:0", "cuda:0", Executor::copy_engine, false};
  c.more_lanes = {load};
  const auto all = lanes(c);
  REQUIRE(all.size() == 3);
  CHECK(all[1] == Lane{Direction::h2d, "host", "cuda:0", Executor::copy_engine, true});
  CHECK(all[2] == load);
  const TransferCase up = lane_case(c, all[1]), within = lane_case(c, all[2]);
  CHECK(up.direction == Direction::h2d);
  CHECK(up.source == "host");
  CHECK(up.memory == Memory::pinned);
  CHECK(up.more_lanes.empty());
  CHECK(within.memory == Memory::device);
}

TEST_CASE("lanes are stored as text, and come back from it") {
  const std::vector<Lane> all{{Direction::h2d, "host", "cuda:0", Executor::copy_engine, true},
                              {Direction::peer, "cuda:0", "cuda:1", Executor::sm_kernel, false},
                              {Direction::h2h, "host", "sim:./my own.json", Executor::cpu, false}};
  CHECK(lanes_text(all) ==
        "h2d host>cuda:0 copy-engine; peer cuda:0>cuda:1 sm-kernel load; h2h host>sim:./my own.json cpu load");
  CHECK(parse_lanes(lanes_text(all)) == all);
  CHECK(parse_lanes("")->empty());
  for (const char* wrong : {"x", "h2d", "h2d host>cuda:0", "h2x host>cuda:0 cpu", "h2d host>cuda:0 cpu;x",
                            "h2d host cpu", "h2d host>cuda:0 copy-engine idle"})
    CHECK_FALSE(parse_lanes(wrong));
}

TEST_CASE("what makes a row senseless is said in a few words") {
  CHECK(flaw_of(TransferSize{0}) == "has 0 bytes");
  CHECK_FALSE(flaw_of(TransferSize{1}));
  CHECK(flaw_of(TransferSample{}) == "has 0 repeats");
  CHECK(flaw_of(TransferSample{.intact = 7, .repeats = 1}) == "has the unknown intact code 7");
  CHECK_FALSE(flaw_of(TransferSample{.lane = 7, .repeats = 1}));
  CHECK(flaw_of(Shape{.ilp = 0}) == "has 1 blocks, 1 threads, ilp 0");
  CHECK(flaw_of(ProbeSample{}) == "has 0 repeats");
  CHECK(flaw_of(JobShape{}) == "has a job of 0 bytes");
  CHECK_FALSE(flaw_of(JobSample{}));
}

TEST_CASE("a case of the catalogue stands for its own question, and a case with a twist for none") {
  for (std::size_t i = 0; i < names_of<CopyQuestion>.size(); ++i) {
    const auto question = static_cast<CopyQuestion>(i);
    CAPTURE(name(question));
    if (question == CopyQuestion::to_peer) continue;
    const bool is_host = name(question).find("in-host") != std::string_view::npos;
    TransferCase c = case_of(question, is_host ? "memcpy" : "cudaMemcpy", is_host ? "host" : "cuda:0");
    CHECK(question_of(c) == question);
    c.source_offset = 1;
    CHECK_FALSE(question_of(c));
    c.source_offset = 0;
    c.host_node = 1;
    CHECK_FALSE(question_of(c));
  }
  TransferCase peer = peer_case("cudaMemcpy", "cuda:0", "cuda:1", Access::write);
  peer.async = true;
  peer.timing = Timing::event;  // as good as a gate where the device's clock is asked
  CHECK(question_of(peer) == CopyQuestion::to_peer);
  peer.executor = Executor::sm_kernel;
  CHECK_FALSE(question_of(peer));
  TransferCase beside = case_of(CopyQuestion::to_device, "cudaMemcpy", "cuda:0");
  beside.beside = "kernels";
  CHECK_FALSE(question_of(beside));
}

TEST_CASE("axes in words") {
  CHECK(text_of(TransferSize{1536}) == "1.5 KiB");
  CHECK(text_of(Shape{
            .blocks = 132, .threads = 1024, .ilp = 4, .access_bytes = 16, .bytes = 4 * GiB, .one_block_per_sm = 1}) ==
        "132 x 1024 threads, ilp 4, 16 B each, in 4 GiB, one block per SM");
  CHECK(
      text_of(JobShape{.bytes_in = 60 * MiB, .kernel_bytes = 60 * MiB, .iterations = 64, .chunks = 16, .streams = 1}) ==
      "60 MiB in, kernel 60 MiB x 64, 16 chunks in 1 stream");
}

TEST_CASE("a schedule is fed the device's time where there is one, of the lane that took longest") {
  const TransferSample lane[]{{.host_us = 9, .device_us = 2}, {.host_us = 9, .device_us = 3}};
  CHECK(microseconds(Transfers::timed({}, lane)) == doctest::Approx(3));
  const TransferSample host[]{{.host_us = 9}};
  CHECK(microseconds(Transfers::timed({}, host)) == doctest::Approx(9));
  const ProbeSample probe[]{{.host_us = 9, .device_us = 2}};
  CHECK(microseconds(Probes::timed({}, probe)) == doctest::Approx(2));
  const JobSample job[]{{.host_us = 9}};
  CHECK(microseconds(Jobs::timed({}, job)) == doctest::Approx(9));
}

}  // namespace case_test

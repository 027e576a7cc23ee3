// Copies of pieces on simulated devices, whose truth is exact: the law of each way, where pieces lie, and what is wrong
// with a spoiled one.
#include "npgpu/vocabulary/pieces.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "changed_spec.hpp"
#include "netpipe/pieces/slots.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace pieces_test {

using namespace npgpu;

namespace {

// data/devices/plain.json without noise, with round costs: a link of 10 GB/s (10,000 bytes in 1 us) and 2 us.
class Device : public ChangedSpec {
 public:
  explicit Device(const nlohmann::json& changes = nlohmann::json::object())
      : ChangedSpec("plain", [&](nlohmann::json& spec) {
          spec.erase("noise");
          spec["host"] = {
              {"copy_us", 5}, {"copy_async_us", 2}, {"launch_us", 3}, {"record_us", 0.5}, {"synchronize_us", 1}};
          const nlohmann::json link = {{"rate_gb_s", 10}, {"latency_us", 2}, {"gap_us", 0.5}};
          spec["links"] = {{"h2d", {{"pinned", link}}}, {"d2h", {{"pinned", link}}}, {"d2d", link}};
          spec["hardware"] = {{"sms", 4}};
          spec.update(changes, true);
        }) {}
};

const Backend<Pieces>& backend() {
  for (const auto& one : backends<Pieces>())
    if (one->device_kind() == "sim") return *one;
  throw Error(ErrorKind::failed, "no backend");
}

PieceSample run(const PieceCase& question, const PieceShape& shape, std::uint64_t repeats = 1) {
  const Step<Pieces> step{question, shape};
  const auto runner = backend().open({&step, 1});
  runner->prepare(step);
  std::vector<PieceSample> samples;
  CHECK(runner->run(repeats, samples));
  REQUIRE(samples.size() == 1);
  const auto wrong = runner->check(samples);
  CHECK_MESSAGE(!wrong, wrong.value_or(""));
  CHECK(samples[0].intact == 1);
  return samples[0];
}

}  // namespace

TEST_CASE("a loop takes the longer of what the host pays and what the device needs for each piece") {
  const Device device;
  const PieceCase question{.device = device.id()};
  // Pieces of 1000 bytes: 0.1 us and a gap of 0.5; the host pays 2 us for each. 100 * 2 + 2 + 1.
  CHECK(run(question, {100, 1000, PieceWay::loop}).done_us == doctest::Approx(203));
  CHECK(run(question, {100, 1000, PieceWay::loop}).host_us == doctest::Approx(200));
  // Pieces of 100,000 bytes: 10 us and the gap.
  CHECK(run(question, {100, 100'000, PieceWay::loop}).done_us == doctest::Approx(100 * 10.5 + 3));
  CHECK(run(question, {100, 100'000, PieceWay::loop}).host_us == doctest::Approx(200));
}

TEST_CASE("other ways pay a call, and a part for each piece") {
  const Device device;
  const PieceCase question{.device = device.id(), .layout = PieceLayout::strided};
  // c = 2 us. copy-2d: 2 + 100 * (0.04 + 0.1 / 0.9) + 2 + 1.
  CHECK(run(question, {100, 1000, PieceWay::copy_2d}).done_us == doctest::Approx(5 + 100 * (0.04 + 0.1 / 0.9)));
  CHECK(run(question, {100, 1000, PieceWay::batch}).done_us == doctest::Approx(4 + 100 * (0.3 + 0.1) + 3));
  CHECK(run(question, {100, 1000, PieceWay::graph}).done_us == doctest::Approx(6 + 100 * (0.8 + 0.1) + 3));
  // Whole sectors of 32 bytes: 1024.
  CHECK(run(question, {100, 1000, PieceWay::kernel}).done_us == doctest::Approx(4 + 100 * (0.01 + 0.1024 / 0.8) + 3));
  const PieceCase whole{.device = device.id(), .layout = PieceLayout::contiguous};
  CHECK(run(whole, {100, 1000, PieceWay::kernel}).done_us == doctest::Approx(4 + 100 * (0.01 + 0.1 / 0.8) + 3));
}

TEST_CASE("what a spec states of a way is what it costs") {
  const Device device(nlohmann::json{{"hardware",
                                      {{"pieces_batch_call_us", 7},
                                       {"pieces_batch_host_us", 0},
                                       {"pieces_batch_piece_us", 0.25},
                                       {"pieces_batch_share", 0.5}}}});
  CHECK(run({.device = device.id()}, {8, 10'000, PieceWay::batch}).done_us == doctest::Approx(7 + 8 * 2.25 + 3));
}

TEST_CASE("copies that are not waited for share one wait") {
  const Device device;
  const PieceCase question{.device = device.id(), .async = true};
  // Ten of 4 us of calls, and 8 pieces of 10,000 bytes: 8 * 1.3 us of the device each.
  const PieceSample ten = run(question, {8, 10'000, PieceWay::batch}, 10);
  CHECK(ten.done_us == doctest::Approx(4 + 10 * 8 * 1.3 + 3));
  CHECK(ten.repeats == 10);
  CHECK(run({.device = device.id()}, {8, 10'000, PieceWay::batch}, 10).done_us ==
        doctest::Approx(10 * (4 + 8 * 1.3 + 3)));
}

TEST_CASE("a spoiled piece is found") {
  // The second call of the device is the wait for the first copy; then a byte is another.
  nlohmann::json faults = nlohmann::json::array();
  faults.push_back({{"call", 2}, {"kind", "corrupt"}});
  const Device device(nlohmann::json{{"faults", faults}});
  const Step<Pieces> step{{.device = device.id()}, {4, 4096, PieceWay::kernel}};
  const auto runner = backend().open({&step, 1});
  runner->prepare(step);
  std::vector<PieceSample> samples;
  CHECK(runner->run(1, samples));
  const auto wrong = runner->check(samples);
  REQUIRE(wrong);
  CHECK(wrong->find("expected 0x") != std::string::npos);
  CHECK(samples[0].intact == 0);
  samples.clear();
  runner->prepare(step);  // all anew
  CHECK(runner->run(1, samples));
  CHECK_FALSE(runner->check(samples));
}

TEST_CASE("slots: contiguous, at a pitch, or a random half of a pool") {
  const PieceSlots dense(PieceLayout::contiguous, 5, 100, 1), rows(PieceLayout::strided, 5, 100, 1),
      pool(PieceLayout::scattered, 5, 100, 1), other(PieceLayout::scattered, 5, 100, 2);
  CHECK(dense.offset(3) == 300);
  CHECK(dense.bytes() == 500);
  CHECK(rows.offset(3) == 600);
  CHECK(rows.bytes() == 1000);
  CHECK(pool.bytes() == 1000);
  std::set<std::uint64_t> taken;
  for (std::uint32_t k = 0; k < 5; ++k) {
    taken.insert(pool.offset(k));
    CHECK(pool.offset(k) % 100 == 0);
    CHECK(pool.piece_in()[pool.offset(k) / 100] == k);
  }
  CHECK(taken.size() == 5);
  CHECK(std::ranges::count(pool.piece_in(), PieceSlots::empty) == 5);
  CHECK(pool.slot_of() != other.slot_of());
  for (const PieceLayout layout : {PieceLayout::contiguous, PieceLayout::strided, PieceLayout::scattered})
    CHECK(PieceSlots::area_bytes(layout, 5, 100) == PieceSlots(layout, 5, 100, 1).bytes() + 512);
}

TEST_CASE("a wrong byte is named by its piece, or by what it is between") {
  const PieceSlots rows(PieceLayout::strided, 4, 100, 1), pool(PieceLayout::scattered, 4, 100, 1);
  CHECK(rows.sentence(256 + 200 + 17, 100, 0xa3, 0x5c) ==
        "byte 17 of piece 1 of 4 is 0x5c, expected 0xa3: never written");
  CHECK(rows.sentence(256 + 200 + 17, 100, 0xa3, 0x00) == "byte 17 of piece 1 of 4 is 0x00, expected 0xa3");
  CHECK(rows.sentence(256 + 150, 100, 0xa5, 0x00) == "byte 51 behind piece 0 is 0x00, expected 0xa5");
  CHECK(rows.sentence(255, 100, 0xa5, 0x00) == "byte 1 before the first slot is 0x00, expected 0xa5");
  CHECK(rows.sentence(256 + 800, 100, 0xa5, 0x00) == "byte 1 behind the last slot is 0x00, expected 0xa5");
  const std::uint64_t place = 256 + pool.offset(2) + 5;
  CHECK(pool.sentence(place, 100, 1, 0) == "byte 5 of piece 2 of 4 is 0x00, expected 0x01");
  std::uint64_t free = 0;
  while (pool.piece_in()[free] != PieceSlots::empty) ++free;
  CHECK(pool.sentence(256 + 100 * free, 100, 0xa5, 0) ==
        "byte 0 of slot " + std::to_string(free) + ", which no piece is for, is 0x00, expected 0xa5");
}

TEST_CASE("planes of pieces: all pieces, and as many planes as rows where that divides them") {
  for (std::uint32_t n = 1; n <= 300; ++n) {
    const PiecePlanes p = planes_of(n);
    CHECK(p.rows * p.planes == n);
    CHECK(p.planes <= p.rows);
  }
  CHECK(planes_of(4096).planes == 64);
  CHECK(planes_of(512).planes == 16);
  CHECK(planes_of(7).planes == 1);
}

TEST_CASE("what no device does is refused with a way out") {
  const auto why = [](PieceCase c, PieceShape s) { return why_no_pieces({c, s}).value_or(""); };
  const PieceCase usual{.device = "cuda:0"};
  CHECK(why(usual, {8, 64, PieceWay::kernel}).empty());
  CHECK(why(usual, {8, 64, PieceWay::copy_2d}) ==
        "--way copy-2d: scattered pieces have no pitch: use --layout strided");
  CHECK(why({.device = "cuda:0", .layout = PieceLayout::strided}, {8, 64, PieceWay::copy_2d}).empty());
  CHECK(why({.device = "cuda:0", .layout = PieceLayout::strided}, {1, GiB, PieceWay::copy_3d})
            .starts_with("--way copy-3d: its pitch"));
  CHECK_FALSE(why(usual, {0, 64, PieceWay::kernel}).empty());
  CHECK_FALSE(why(usual, {65537, 64, PieceWay::kernel}).empty());
  CHECK_FALSE(why(usual, {8, 0, PieceWay::kernel}).empty());
  CHECK_FALSE(why(usual, {8, UINT64_MAX / 2, PieceWay::kernel}).empty());
  CHECK_FALSE(why({.device = "cuda:0", .direction = Direction::h2h}, {8, 64, PieceWay::loop}).empty());
  CHECK_FALSE(why({.device = "cuda:0", .direction = Direction::peer}, {8, 64, PieceWay::loop}).empty());
  CHECK_FALSE(why({.device = "cuda:0", .target = "cuda:1"}, {8, 64, PieceWay::loop}).empty());
}

TEST_CASE("between the GPUs of a simulated node") {
  const PieceCase question{.device = "sim:node8:0", .direction = Direction::peer, .target = "sim:node8:1"};
  const Step<Pieces> step{question, {64, 64 * KiB, PieceWay::kernel}};
  CHECK_FALSE(backend().refuses(step));
  CHECK(run(question, step.axes).done_us > 0);
  Step<Pieces> apart = step;
  apart.question.target = "sim:h200";
  CHECK(backend().refuses(apart).value_or("").find("within a node") != std::string::npos);
}

}  // namespace pieces_test

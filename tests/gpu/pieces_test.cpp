// Copies of pieces on this machine's first GPU, and to its second one where there is one: each way, direction and
// layout, with sizes whose words are 16, 8, 4, 2 and 1 bytes.
#include <doctest/doctest.h>

#include <cmath>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/peers.hpp"
#include "netpipe/pieces/cuda.hpp"

namespace pieces_test {

using namespace npgpu;

namespace {

const Backend<Pieces>& backend() {
  for (const auto& one : backends<Pieces>())
    if (one->device_kind() == "cuda") return *one;
  throw Error(ErrorKind::failed, "no backend");
}

constexpr PieceLayout all_layouts[] = {PieceLayout::contiguous, PieceLayout::strided, PieceLayout::scattered};

std::vector<PieceCase> all_cases() {
  std::vector<PieceCase> all;
  for (const PieceLayout layout : all_layouts)
    for (const PieceLayout other : all_layouts)
      for (const Direction direction : {Direction::h2d, Direction::d2h, Direction::d2d, Direction::peer}) {
        PieceCase c{.device = "cuda:0", .direction = direction, .layout = layout, .other_layout = other};
        if (direction == Direction::peer) {
          if (devices::gpus().size() < 2 || !cuda::can_see(0, 1)) continue;
          c.target = "cuda:1";
        }
        all.push_back(c);
      }
  return all;
}

std::vector<PieceShape> all_shapes() {
  return piece_shapes(
      {1, 7, 256}, {1, 6, 12, 24, 100, 512, 4099, 65536},
      {PieceWay::loop, PieceWay::copy_2d, PieceWay::copy_3d, PieceWay::batch, PieceWay::graph, PieceWay::kernel});
}

void copy_byte(void* to, const void* from) {
  const cuda::Stream stream;
  cuda::check(cudaMemcpyAsync(to, from, 1, cudaMemcpyDefault, stream.get()), "copying a byte");
  stream.synchronize();
}
void write_byte(std::byte* at, unsigned char value) { copy_byte(at, &value); }

}  // namespace

TEST_CASE("each way brings each piece to its place, and nothing else") {
  std::size_t ran = 0;
  for (const PieceCase& c : all_cases()) {
    std::vector<Step<Pieces>> steps;
    for (const PieceShape& shape : all_shapes())
      if (const Step<Pieces> step{c, shape}; !backend().refuses(step)) steps.push_back(step);
    const auto runner = backend().open(steps);
    for (const Step<Pieces>& step : steps) {
      CAPTURE(title(step.question));
      CAPTURE(text_of(step.axes));
      runner->prepare(step);
      std::vector<PieceSample> samples;
      CHECK(runner->run(2, samples));
      REQUIRE(samples.size() == 1);
      const auto wrong = runner->check(samples);
      CHECK_MESSAGE(!wrong, wrong.value_or(""));
      CHECK(samples[0].intact == 1);
      CHECK(samples[0].host_us > 0);
      CHECK(samples[0].done_us >= samples[0].host_us);
      ++ran;
    }
  }
  CHECK(ran > 1000);
}

TEST_CASE("the most pieces, and copies that follow each other") {
  for (const PieceWay way : {PieceWay::loop, PieceWay::batch, PieceWay::graph, PieceWay::kernel}) {
    for (const bool async : {false, true}) {
      const Step<Pieces> step{{.device = "cuda:0", .direction = Direction::d2h, .async = async},
                              {most_pieces, 256, way}};
      if (backend().refuses(step)) continue;
      CAPTURE(text_of(step.axes));
      const auto runner = backend().open({&step, 1});
      runner->prepare(step);
      std::vector<PieceSample> samples;
      CHECK(runner->run(2, samples));
      const auto wrong = runner->check(samples);
      CHECK_MESSAGE(!wrong, wrong.value_or(""));
    }
  }
}

TEST_CASE("a spoiled piece, and a byte that no piece is for, are found") {
  for (const Direction direction : {Direction::h2d, Direction::d2h, Direction::d2d})
    for (const PieceLayout layout : all_layouts) {
      const PieceCase c{.device = "cuda:0", .direction = direction, .layout = layout, .other_layout = layout};
      const Step<Pieces> step{c, {16, 96, PieceWay::kernel}};
      CAPTURE(title(c));
      cuda::CudaPieceRunner runner({&step, 1});
      std::vector<PieceSample> samples;
      const auto verdict = [&] {
        cuda::check(cudaDeviceSynchronize(), "waiting");
        return runner.check(samples).value_or("");
      };
      runner.prepare(step);
      // Nothing was copied yet.
      CHECK(verdict().find(": never written") != std::string::npos);
      REQUIRE(runner.run(1, samples));
      CHECK(verdict() == "");
      const PieceSlots& slots = runner.target_slots();
      std::byte* const seventeenth = runner.target() + slots.offset(5) + 17;
      unsigned char before = 0;
      copy_byte(&before, seventeenth);
      write_byte(seventeenth, before ^ 1);
      CHECK(verdict().starts_with("byte 17 of piece 5 of 16 is"));
      CHECK(samples[0].intact == 0);
      write_byte(seventeenth, before);
      CHECK(verdict() == "");
      write_byte(runner.target() - 1, 0);
      CHECK(verdict().starts_with("byte 1 before the first slot is 0x00"));
      write_byte(runner.target() - 1, 0xA5);
      write_byte(runner.target() + slots.bytes(), 0);
      CHECK(verdict().starts_with("byte 1 behind the last slot is 0x00"));
      write_byte(runner.target() + slots.bytes(), 0xA5);
      if (layout == PieceLayout::strided) {
        write_byte(runner.target() + slots.offset(3) + 96, 0);
        CHECK(verdict() == "byte 1 behind piece 3 is 0x00, expected 0xa5");
      }
      if (layout == PieceLayout::scattered) {
        std::uint64_t free = 0;
        while (slots.piece_in()[free] != PieceSlots::empty) ++free;
        write_byte(runner.target() + free * slots.pitch() + 5, 0);
        CHECK(verdict().starts_with("byte 5 of slot " + std::to_string(free) + ", which no piece is for"));
      }
    }
}

}  // namespace pieces_test

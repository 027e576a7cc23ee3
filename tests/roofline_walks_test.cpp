// The host's roofline: every kind of work of every instruction set, on memory whose words are wrong, too.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "npgpu/error.hpp"
#include "npgpu/runner.hpp"
#include "probes/roofline/walks.hpp"

namespace roofline_walks_test {

using namespace npgpu;

namespace {

struct Made {
  alignas(64) std::byte memory[64 * walks::granularity];
  walks::Part part;
  explicit Made(DataType type) {
    part.elements = memory;
    part.bytes = sizeof memory;
    walks::fill(type, part);
  }
};

template <class T> void spoil(Made& made, std::uint64_t i) { static_cast<T*>(made.part.elements)[i] *= -1; }

}  // namespace

TEST_CASE("work by intensity: an element is taken once at half or a quarter of an operation a byte") {
  CHECK(walks::work_of(DataType::fp32, 512)->taken == 8);
  CHECK(walks::work_of(DataType::fp32, 512)->times == 0);
  CHECK(walks::work_of(DataType::fp32, 64)->taken == 1);
  CHECK(walks::work_of(DataType::fp64, 64)->taken == 2);
  CHECK(walks::work_of(DataType::fp32, 1024)->times == 1);
  CHECK(walks::work_of(DataType::fp64, 256 * 1024)->times == 512);
  for (const std::uint32_t wrong : {0u, 32u, 96u}) CHECK_FALSE(walks::work_of(DataType::fp32, wrong));
  CHECK_FALSE(walks::work_of(DataType::fp16, 1024));
  for (const DataType type : {DataType::fp32, DataType::fp64})
    for (std::uint32_t intensity = 64; intensity <= 256 * 1024; intensity *= 2) {
      const auto bytes = static_cast<double>(walks::vectors_of_step * chains::bytes_of(type));  // of a step of one lane
      CHECK(2 * walks::work_of(type, intensity)->multiply_adds() == intensity / 1024.0 * bytes);
    }
}

TEST_CASE("every instruction set leaves what one pass must, however many there were, and a wrong word shows") {
  for (const Isa isa : isas_here())
    for (const DataType type : {DataType::fp32, DataType::fp64})
      for (std::uint32_t intensity = 64; intensity <= 256 * 1024; intensity *= 4) {
        CAPTURE(name(isa));
        CAPTURE(intensity);
        const walks::Work work = *walks::work_of(type, intensity);
        const walks::Walk walk = walks::find(isa, type, work);
        REQUIRE(static_cast<bool>(walk));
        Made made(type);
        walk(made.part, work.times, 1);
        CHECK(walks::check(isa, type, work, made.part).value_or("") == "");
        walk(made.part, work.times, 3);
        CHECK(walks::check(isa, type, work, made.part).value_or("") == "");
        // A word that was wrong while it was read, and is right again.
        type == DataType::fp64 ? spoil<double>(made, 0) : spoil<float>(made, 0);
        walk(made.part, work.times, 1);
        CHECK(walks::check(isa, type, work, made.part).value_or("").find("of memory") != std::string::npos);
        walks::fill(type, made.part);
        CHECK(walks::check(isa, type, work, made.part).value_or("").find("chain 0") != std::string::npos);
      }
}

TEST_CASE("the probe's own shapes run, small, and what cannot be is refused") {
  if (isas_here().empty()) return;
  const Probe& probe = find_probe("roofline", "host");
  for (const ProbeCase& c : probe.cases("host")) {
    for (Shape shape : probe.shapes(c)) {
      CHECK(probe.refuses({c, shape}).value_or("") == "");
      if (shape.intensity > 8192) continue;
      shape.bytes = shape.blocks * std::uint64_t{1} * MiB;
      const ProbeStep step{c, shape};
      const auto runner = probe.open({&step, 1});
      runner->prepare(step);
      CHECK(runner->work() == doctest::Approx(intensity_of(shape) * static_cast<double>(shape.bytes)));
      std::vector<ProbeSample> samples;
      CHECK(runner->run(2, samples));
      CHECK(runner->check(samples).value_or("") == "");
    }
    Shape odd = probe.shapes(c).front();
    for (const auto change : {+[](Shape& s) { s.intensity = 96; }, +[](Shape& s) { s.ilp = 4; },
                              +[](Shape& s) { s.bytes = 64; }, +[](Shape& s) { s.blocks = 1 << 20; }}) {
      Shape wrong = odd;
      change(wrong);
      CHECK(probe.refuses({c, wrong}).has_value());
    }
  }
}

}  // namespace roofline_walks_test

// A soak's loads on this machine's GPUs, and the memory test: right where nothing is wrong, and a word that is spoiled
// on purpose is found.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/soak/memory_test.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/load.hpp"

namespace soak_test {

using namespace npgpu;

namespace {

const Backend<Soaks>& backend_for(const DeviceInfo& device) {
  const Backend<Soaks>* backend = nullptr;
  for (const auto& one : backends<Soaks>())
    if (one->device_kind() == devices::kind_of(device.id)) backend = one.get();
  REQUIRE(backend);
  return *backend;
}

constexpr std::uint64_t tested = 256 * MiB;
constexpr std::uint64_t word = 8;

// Spoils the bytes at an offset of the first piece after a pass of this pattern was written.
soak::MemoryTestOptions with_spoiled(MemoryPattern pattern, std::uint64_t offset, std::uint64_t bits,
                                     std::uint64_t& address) {
  soak::MemoryTestOptions options{.passes = soak::few_passes(5), .most_bytes = tested};
  options.written = [=, &address](const soak::Pass& pass, const std::vector<soak::Piece>& pieces) {
    if (pass.pattern != pattern) return;
    std::uint64_t value = 0;
    address = pieces.front().address + offset;
    auto* const where = reinterpret_cast<void*>(address);
    const cuda::Stream stream;
    cuda::check(cudaMemcpyAsync(&value, where, sizeof value, cudaMemcpyDefault, stream.get()), "reading a word");
    stream.synchronize();
    value ^= bits;
    cuda::check(cudaMemcpyAsync(where, &value, sizeof value, cudaMemcpyDefault, stream.get()), "spoiling a word");
    stream.synchronize();
  };
  return options;
}

}  // namespace

TEST_CASE("every load works for a second on each GPU at once, and its results are right") {
  const std::vector<DeviceInfo> gpus = devices::gpus();
  const Backend<Soaks>& backend = backend_for(gpus.front());
  std::vector<Step<Soaks>> steps;
  std::uint32_t number = 0;
  for (const SoakLoad load :
       {SoakLoad::fp32, SoakLoad::fp64, SoakLoad::tensor, SoakLoad::memory, SoakLoad::h2d, SoakLoad::d2h,
        SoakLoad::fp64_tensor, SoakLoad::peer, SoakLoad::together, SoakLoad::memory_test}) {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      Step<Soaks> step{{.device = gpus[i].id, .load = load}, {number, 1000}};
      if (gpus.size() > 1 && (load == SoakLoad::peer || load == SoakLoad::together))
        step.question.target = gpus[(i + 1) % gpus.size()].id;
      if (!backend.refuses(step)) steps.push_back(step);
    }
    ++number;
  }
  CHECK(steps.size() >= 8 * gpus.size());
  const auto runner = backend.open(steps);
  for (const auto& step : steps) {
    CAPTURE(title(step.question));
    runner->prepare(step);
    std::vector<SoakSample> samples;
    CHECK(runner->run(1, samples));  // what a schedule throws away
    samples.clear();
    CHECK(runner->run(1, samples));
    const auto wrong = runner->check(samples);
    CHECK_MESSAGE(!wrong, wrong.value_or(""));
    const std::size_t least = step.question.load == SoakLoad::together      ? 4
                              : step.question.load == SoakLoad::memory_test ? 2
                                                                            : 1;
    CHECK(samples.size() >= least);
    for (const SoakSample& s : samples) {
      CAPTURE(name(s.part));
      CHECK(s.intact == 1);
      CHECK(s.mismatches == 0);
      CHECK(s.done > 0);
      CHECK(s.busy_us > 0);
      const bool is_copy = s.part == SoakLoad::d2h || s.part == SoakLoad::h2d || s.part == SoakLoad::peer;
      if (!is_copy && s.part != SoakLoad::test_write) CHECK(s.compared == s.done);
      else if (s.part == SoakLoad::h2d || s.part == SoakLoad::d2h) CHECK(s.compared > 0);
      MESSAGE(title(step.question), " ", name(s.part), ": ", s.done / s.busy_us * 1e-3, " G/s, compared ",
              s.compared / s.done, ", repeats ", s.repeats, ", ", s.sm_clock_mhz, " MHz, ", s.power_w, " W, ",
              s.temperature_c, " C, reasons ", s.throttle_reasons);
    }
  }
}

TEST_CASE("memory that nobody spoils is right with every pattern") {
  const std::string device = devices::gpus().front().id;
  const auto found =
      soak::memory_tester_for(device)->test(device, {.passes = soak::all_passes(), .most_bytes = tested});
  CHECK(found.bytes == tested);
  CHECK(found.mismatches == 0);
  CHECK(found.words.empty());
  CHECK(found.read == 130.0 * tested);
  MESSAGE("writes ", found.written / found.writing.count() * 1e-9, " GB/s, reads ",
          found.read / found.reading.count() * 1e-9, " GB/s");
}

TEST_CASE("a word that is spoiled on purpose is found, with its address and its bits") {
  const std::string device = devices::gpus().front().id;
  for (const MemoryPattern pattern :
       {MemoryPattern::walking, MemoryPattern::inverse, MemoryPattern::address, MemoryPattern::random})
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{12345} * word, tested - word}) {
      CAPTURE(name(pattern));
      CAPTURE(offset);
      std::uint64_t address = 0;
      constexpr std::uint64_t bits = (std::uint64_t{1} << 63) | 4;
      const auto found = soak::memory_tester_for(device)->test(device, with_spoiled(pattern, offset, bits, address));
      CHECK(found.mismatches == 1);
      REQUIRE(found.words.size() == 1);
      CHECK(found.words[0].address == address);
      CHECK((found.words[0].expected ^ found.words[0].found) == bits);
      CHECK(found.words[0].pattern == pattern);
      CHECK(found.words[0].again);
      if (pattern == MemoryPattern::address) CHECK(found.words[0].expected == address);
    }
}

TEST_CASE("of many wrong words the first hundred are kept, and all are counted") {
  const std::string device = devices::gpus().front().id;
  soak::MemoryTestOptions options{.passes = {{MemoryPattern::random, 1}}, .most_bytes = 64 * MiB};
  options.written = [](const soak::Pass&, const std::vector<soak::Piece>& pieces) {
    const cuda::Stream stream;
    cuda::check(cudaMemsetAsync(reinterpret_cast<void*>(pieces.front().address), 0, 1000 * word, stream.get()),
                "spoiling words");
    stream.synchronize();
  };
  const auto found = soak::memory_tester_for(device)->test(device, options);
  CHECK(found.mismatches == 1000);
  CHECK(found.words.size() == soak::most_words);
}

TEST_CASE("the device's words are those of the host's formula") {
  const std::string device = devices::gpus().front().id;
  soak::MemoryTestOptions options{.passes = soak::few_passes(9), .most_bytes = 64 * MiB};
  options.written = [](const soak::Pass& pass, const std::vector<soak::Piece>& pieces) {
    std::vector<std::uint64_t> words(1000);
    const cuda::Stream stream;
    cuda::check(cudaMemcpyAsync(words.data(), reinterpret_cast<const void*>(pieces.front().address),
                                words.size() * word, cudaMemcpyDefault, stream.get()),
                "reading words");
    stream.synchronize();
    for (std::size_t i = 0; i < words.size(); ++i)
      REQUIRE(words[i] == soak::word_of(pass.pattern, pass.number, i, pieces.front().address + i * word));
  };
  CHECK(soak::memory_tester_for(device)->test(device, options).mismatches == 0);
}

}  // namespace soak_test

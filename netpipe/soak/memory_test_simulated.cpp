// The memory test of a simulated device: it takes the time that its memory's limit allows, and no memory. A bit that
// the device's course flips while a pass writes stays so, and one that it flips while a pass reads is right the second
// time.
#include <cmath>

#include "netpipe/devices/simulated/device.hpp"
#include "netpipe/devices/simulated/library.hpp"
#include "netpipe/soak/memory_test.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::soak {

namespace {

constexpr std::uint64_t first_address = 0x700000000000;

class SimulatedTester final : public MemoryTester {
 public:
  std::string_view rank() const override { return "sim"; }
  MemoryTested test(const std::string& device, const MemoryTestOptions& options) const override {
    const double rate = devices::find(device).memory.per_s;
    if (!(rate > 0)) throw Error(ErrorKind::usage, "the spec of " + device + " does not state its memory's rate");
    const simulated::Spec spec = simulated::spec_of(device);
    simulated::Age& age = simulated::age_of(device);
    MemoryTested tested;
    tested.bytes = std::min(options.most_bytes, spec.memory_bytes) / word_bytes * word_bytes;
    const auto whole = static_cast<double>(tested.bytes);
    const Seconds once{whole / rate};
    const auto move = [&](const Pass& pass, bool stays) {
      if (const simulated::Change* const now = age.change(spec.course); now && now->is_lost)
        simulated::lose(device, "while its memory was tested");
      const double every = spec.course.flip_every_bytes, before = age.bytes;
      const std::uint64_t flips = age.move(spec.course, whole);
      age.worked += once;
      tested.mismatches += flips;
      for (std::uint64_t i = 0; i < flips && tested.words.size() < most_words; ++i) {
        const double at = (std::floor(before / every) + 1 + static_cast<double>(i)) * every;
        const auto index = static_cast<std::uint64_t>(std::fmin(at - before, whole - 1)) / word_bytes;
        const std::uint64_t address = first_address + index * word_bytes;
        const std::uint64_t right = word_of(pass.pattern, pass.number, index, address);
        tested.words.push_back({pass.pattern, address, right, right ^ (std::uint64_t{1} << (index % 64)), stays});
      }
    };
    for (const Pass& pass : options.passes) {
      if (options.stop && options.stop()) break;
      move(pass, true);
      if (options.written) options.written(pass, {{first_address, tested.bytes}});
      move(pass, false);
      tested.written += whole;
      tested.read += whole;
      tested.writing += once;
      tested.reading += once;
    }
    return tested;
  }
};

}  // namespace

}  // namespace npgpu::soak

NPGPU_REGISTERED(soak::MemoryTester, npgpu::soak::SimulatedTester)

#include "netpipe/soak/device_soak.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/soak/memory_test.hpp"
#include "npgpu/measuring/campaign.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::soak {

namespace {

// Results are compared after each piece. All that a kernel did is in its results, however long it ran; of copies the
// last of a piece is compared, so that their pieces are as short as comparing allows.
constexpr Seconds usual_piece{0.05};
constexpr double compare_share = 3;  // a piece of copies takes so many times as long as comparing
constexpr int simulated_pieces = 4;  // of a slice
constexpr Seconds between_readings{0.05};

EnergyCase energy_case(const SoakCase& c, SoakLoad load) {
  EnergyCase e{.device = c.device};
  const auto computes = [&](EnergyWork work, DataType type, Space space = Space::registers) {
    e.work = work;
    e.type = type;
    e.space = space;
  };
  switch (load) {
    case SoakLoad::fp32: computes(EnergyWork::fma, DataType::fp32); break;
    case SoakLoad::fp64: computes(EnergyWork::fma, DataType::fp64); break;
    case SoakLoad::tensor:
      computes(EnergyWork::wgmma, DataType::fp16, Space::shared);
      if (energy::refuses(e)) computes(EnergyWork::mma, DataType::fp16);
      break;
    case SoakLoad::fp64_tensor: computes(EnergyWork::mma, DataType::fp64); break;
    case SoakLoad::memory: e.work = EnergyWork::read; break;
    case SoakLoad::h2d: e.work = EnergyWork::h2d; break;
    case SoakLoad::d2h: e.work = EnergyWork::d2h; break;
    default: e.work = EnergyWork::peer; e.target = c.target;
  }
  // Random numbers where the work can have them: they cost the power of a program's own.
  if (!is_link_copy(e.work)) {
    e.operands = Operands::random;
    if (energy::refuses(e)) e.operands = Operands::usual;
  }
  return e;
}

bool is_copy(SoakLoad load) { return load == SoakLoad::h2d || load == SoakLoad::d2h || load == SoakLoad::peer; }

}  // namespace

std::vector<SoakLoad> parts_of(const SoakCase& c) {
  if (c.load != SoakLoad::together) return {c.load};
  std::vector<SoakLoad> all;
  for (const SoakLoad load : {SoakLoad::tensor, SoakLoad::memory, SoakLoad::h2d, SoakLoad::d2h, SoakLoad::peer})
    if ((load != SoakLoad::peer || !c.target.empty()) && !energy::refuses(energy_case(c, load))) all.push_back(load);
  return all;
}

std::optional<std::string> refuses(const SoakCase& c) {
  if (c.load == SoakLoad::memory_test) {
    if (memory_tester_for(c.device)) return std::nullopt;
    return "this program tests no memory of " + c.device;
  }
  if (c.load == SoakLoad::test_write || c.load == SoakLoad::test_read)
    return "it is a part of a memory test, and no load";
  if (c.load == SoakLoad::together)
    return parts_of(c).empty() ? std::optional<std::string>("none of its parts can run") : std::nullopt;
  return energy::refuses(energy_case(c, c.load));
}

struct DeviceSoak::Part {
  SoakLoad load{};
  bool is_beside = false;  // other loads of the same device
  EnergyCase question;
  energy::CopyForm form;
  std::unique_ptr<energy::Load> work;  // opened by the thread that first runs it
  // What the slice has so far:
  SoakSample sample;
  std::string wrong;
  Seconds comparing{0.001};  // the last comparison
  bool is_gone = false;      // the device that it copies to was lost

  void begin() {
    sample = {};
    sample.part = load;
    sample.repeats = 0;
    sample.done = sample.compared = sample.busy_us = 0;
    wrong.clear();
  }
};

// What the device says of itself, read again and again. Of a simulated one, whenever it is asked.
class DeviceSoak::Watch {
 public:
  Watch(const std::string& device, bool simulated, Seconds elapsed)
      : device_(device), elapsed_(elapsed), begin_(steady_clock().now()) {
    if (simulated) return;
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        std::this_thread::sleep_for(between_readings);
        if (!stop.stop_requested()) read_if_it_answers();
      }
    });
  }
  void read_if_it_answers() {
    try {
      read(steady_clock().now() - begin_);
    } catch (const Error&) {  // a lost device: its loads say so
    }
  }
  void read(Seconds since_begin) {
    const Telemetry t = devices::telemetry(device_);
    const std::lock_guard lock(mutex_);
    reasons_.add(t.throttle_reasons);
    if ((t.throttle_reasons & slowing_reasons) && std::isnan(throttled_)) throttled_ = (elapsed_ + since_begin).count();
    for (auto& [mean, value] : {std::pair{&clock_, t.sm_clock_mhz}, std::pair{&power_, t.power_w}})
      if (std::isfinite(value)) mean->first += value, ++mean->second;
    temperature_ = std::fmax(temperature_, t.temperature_c);
  }
  // REQUIRES: nothing is read any more but by this thread.
  void end() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
  }
  void put(SoakSample& sample) const {
    const auto mean = [](const std::pair<double, int>& sum) {
      return sum.second ? sum.first / sum.second : not_measured;
    };
    sample.elapsed_s = elapsed_.count();
    sample.sm_clock_mhz = mean(clock_);
    sample.power_w = mean(power_);
    sample.temperature_c = temperature_;
    sample.throttle_reasons = reasons_.value();
    if (sample.throttle_reasons & slowing_reasons) sample.throttled_s = throttled_;
  }

 private:
  const std::string device_;
  const Seconds elapsed_, begin_;
  std::mutex mutex_;
  FrequentReasons reasons_;
  std::pair<double, int> clock_{}, power_{};
  double throttled_ = not_measured, temperature_ = not_measured;
  std::jthread thread_;  // last: it ends before what it writes into
};

DeviceSoak::DeviceSoak(std::string device, bool thorough)
    : device_(std::move(device)), simulated_(devices::find(device_).simulated), thorough_(thorough) {}
DeviceSoak::~DeviceSoak() = default;

DeviceSoak::Part& DeviceSoak::part(const SoakCase& c, SoakLoad load, bool beside) {
  std::unique_ptr<Part>& known = parts_[{load, beside}];
  if (!known) {
    known = std::make_unique<Part>();
    known->load = load;
    known->is_beside = beside;
    known->question = energy_case(c, load);
    known->form.gated = !beside;
  }
  known->begin();
  return *known;
}

// Pieces until `stop` says so, each compared.
void DeviceSoak::work(Part& part, Seconds length, const std::function<bool()>& stop) {
  const bool is_short = is_copy(part.load) && !simulated_;
  const Seconds usual = simulated_ ? length / simulated_pieces : usual_piece;
  if (!part.work) {
    part.work = energy::open_load(part.question, part.form);
    // Kernels are loaded, and the length of a repeat becomes known: each run has eight times as many at most.
    constexpr int most_runs = 10;
    for (int i = 0; i < most_runs; ++i) {
      const Seconds took = part.work->run(usual).took;
      if (simulated_) took_ += took;
      if (took >= usual / 2) break;
    }
  }
  do {
    const auto done = part.work->run(is_short ? std::min(usual, compare_share * part.comparing) : usual);
    if (simulated_) took_ += std::max(done.took, Seconds{1e-9});
    if (done.repeats == 0) continue;  // its gate timed out
    const Seconds begin = steady_clock().now();
    const auto wrong = part.work->check();
    part.comparing = steady_clock().now() - begin;
    SoakSample& sample = part.sample;
    sample.repeats += done.repeats;
    sample.done += done.work;
    sample.compared += is_copy(part.load) ? done.work / static_cast<double>(done.repeats) : done.work;
    sample.busy_us += microseconds(done.timed);
    if (!wrong) continue;
    ++sample.mismatches;
    if (part.wrong.empty()) part.wrong = *wrong;
    part.work->renew();
  } while (!stop());
}

// Where several run at once, the loss of another device ends the copies to it alone.
void DeviceSoak::work_beside(Part& part, Seconds length, const std::function<bool()>& stop) {
  try {
    work(part, length, stop);
  } catch (const Error& e) {
    const bool is_of_another = e.kind() == ErrorKind::lost && !e.device().empty() && e.device() != device_;
    if (!part.is_beside || !is_of_another) throw;
    part.is_gone = true;
  }
}

void DeviceSoak::run_parts(const std::vector<Part*>& parts, Seconds length) {
  const Seconds begin = steady_clock().now();
  const auto is_over = [&] { return steady_clock().now() - begin >= length; };
  std::exception_ptr failed;
  if (parts.size() == 1) {
    work(*parts.front(), length, is_over);
  } else {
    std::mutex mutex;
    std::vector<std::jthread> threads;
    for (Part* part : parts)
      threads.emplace_back([&, part] {
        try {
          work_beside(*part, length, is_over);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!failed) failed = std::current_exception();
        }
      });
  }
  took_ = steady_clock().now() - begin;
  if (failed) std::rethrow_exception(failed);
}

Slice DeviceSoak::run(const SoakCase& c, const SoakSlice& slice, Seconds elapsed) {
  const Seconds length{slice.length_ms * 1e-3};
  took_ = Seconds{0};
  Watch watch(device_, simulated_, elapsed);
  if (c.load == SoakLoad::memory_test) return memory_test(slice, watch);
  std::vector<Part*> parts;
  for (const SoakLoad load : parts_of(c))
    if (Part& one = part(c, load, c.load == SoakLoad::together); !one.is_gone) parts.push_back(&one);
  if (simulated_) {
    const auto each = length / static_cast<double>(parts.size());
    while (took_ < length)
      for (Part* part : parts) {
        if (took_ >= length) break;
        work_beside(*part, std::min(each, simulated_pieces * (length - took_)), [] { return true; });
        watch.read(took_);
      }
  } else {
    run_parts(parts, length);
  }
  watch.end();
  Slice all;
  for (Part* part : parts) {
    if (part->is_gone) continue;
    SoakSample& sample = part->sample;
    sample.repeats = std::max<std::uint64_t>(sample.repeats, 1);
    watch.put(sample);
    add_counters(sample);
    all.samples.push_back(sample);
    if (all.wrong.empty() && !part->wrong.empty())
      all.wrong = parts.size() > 1 ? fmt::format("{}: {}", name(part->load), part->wrong) : part->wrong;
  }
  return all;
}

Slice DeviceSoak::memory_test(const SoakSlice& slice, Watch& watch) {
  const Seconds begin = steady_clock().now();
  const MemoryTested tested =
      memory_tester_for(device_)->test(device_, {.passes = thorough_ ? all_passes() : few_passes(slice.number)});
  took_ = simulated_ ? tested.writing + tested.reading : steady_clock().now() - begin;
  if (simulated_) watch.read(took_);
  watch.end();
  Slice all;
  for (const SoakLoad part : {SoakLoad::test_write, SoakLoad::test_read}) {
    const bool reads = part == SoakLoad::test_read;
    SoakSample& sample = all.samples.emplace_back();
    sample.part = part;
    sample.repeats = 1;
    sample.done = reads ? tested.read : tested.written;
    sample.compared = reads ? tested.read : 0;
    sample.busy_us = microseconds(reads ? tested.reading : tested.writing);
    sample.mismatches = reads ? tested.mismatches : 0;
    watch.put(sample);
    add_counters(sample);
  }
  for (const WrongWord& word : tested.words) {
    SoakSample& sample = all.samples.emplace_back();
    sample.part = SoakLoad::test_read;
    sample.repeats = 1;
    sample.elapsed_s = all.samples.front().elapsed_s;
    sample.pattern = word.pattern;
    sample.address = word.address;
    sample.expected = word.expected;
    sample.found = word.found;
    sample.again = word.again;
  }
  if (tested.mismatches > 0) {
    const WrongWord& first = tested.words.front();
    all.wrong = fmt::format("{} wrong words of {}, the first at {:#x} ({} pattern): {:#018x}, not {:#018x}",
                            tested.mismatches, static_cast<std::uint64_t>(tested.read / 8), first.address,
                            name(first.pattern), first.found, first.expected);
  }
  return all;
}

void DeviceSoak::add_counters(SoakSample& sample) const {
  const Facts counted = devices::counters(device_);
  sample.ecc_corrected = number_fact(counted, "ecc_corrected_volatile");
  sample.ecc_uncorrected = number_fact(counted, "ecc_uncorrected_volatile");
  sample.pcie_replays = number_fact(counted, "pcie_replays");
  sample.xids = number_fact(counted, "xids");
}

// ---- memory tests --------------------------------------------------------------------------------

const MemoryTester* memory_tester_for(const std::string& device) {
  for (const auto& one : registered<MemoryTester>())
    if (one->rank() == devices::kind_of(device)) return one.get();
  return nullptr;
}

namespace {
constexpr std::uint64_t word_bits = 64;
}

std::vector<Pass> all_passes() {
  std::vector<Pass> all;
  for (std::uint64_t bit = 0; bit < word_bits; ++bit)
    for (const MemoryPattern pattern : {MemoryPattern::walking, MemoryPattern::inverse}) all.push_back({pattern, bit});
  all.push_back({MemoryPattern::address, 0});
  all.push_back({MemoryPattern::random, 0});
  return all;
}

std::vector<Pass> few_passes(std::uint64_t number) {
  return {{MemoryPattern::walking, number % word_bits},
          {MemoryPattern::inverse, number % word_bits},
          {MemoryPattern::address, 0},
          {MemoryPattern::random, number}};
}

}  // namespace npgpu::soak

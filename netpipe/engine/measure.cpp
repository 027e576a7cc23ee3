#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/series.hpp"
#include "npgpu/vocabulary/trace.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

std::optional<std::string> flaw_of_intact(std::int32_t intact) {
  if (intact < -1 || intact > 1) return fmt::format("has the unknown intact code {}", intact);
  return std::nullopt;
}

std::string causes_text(std::uint32_t causes) {
  static constexpr std::array<std::pair<Cause, const char*>, 10> words{
      {{Cause::host_busy, "others used the host's processors"},
       {Cause::cpu_steal, "the virtual machine's host took processors"},
       {Cause::core_shared, "no core of its own"},
       {Cause::device_busy, "another process used the device"},
       {Cause::link_busy, "others' bytes went over the link"},
       {Cause::throttled, "the device held its clocks back"},
       {Cause::clock_changed, "the device's clock changed"},
       {Cause::memory_freed, "another process freed device memory, which the driver cleared"},
       {Cause::siblings, "other devices of the node were measured at the same time"},
       {Cause::host_limited, "a CPU quota stopped this process"}}};
  std::string text;
  for (const auto& [cause, what] : words)
    if (causes & static_cast<std::uint32_t>(cause)) text += (text.empty() ? "" : ", ") + std::string(what);
  return text;
}

std::string disturbance_text(std::uint32_t causes, const std::set<std::string>& by) {
  if (!causes) return "";
  // A kernel's threads of all processors are one: migration/0 (18), migration/11 (71).
  std::map<std::string, std::vector<std::string>> alike;
  for (const std::string& one : by) alike[one.substr(0, one.find('/'))].push_back(one);
  std::vector<std::string> programs;
  for (const auto& [program, all] : alike)
    programs.push_back(all.size() == 1 ? all[0] : fmt::format("{} ({} of them)", program, all.size()));
  if (programs.empty()) return causes_text(causes);
  constexpr std::size_t most = 3;
  const std::string more = programs.size() > most ? fmt::format(", and {} more", programs.size() - most) : "";
  if (!more.empty()) programs.resize(most);
  return fmt::format("{}; most of all by {}{}", causes_text(causes), fmt::join(programs, ", "), more);
}

namespace {

// "1 4096 0": kind, repeats and why of a step.
std::string text_of_step(const Schedule::Step& step) {
  return std::to_string(static_cast<int>(step.kind)) + ' ' + std::to_string(step.repeats) + ' ' +
         std::to_string(static_cast<int>(step.why));
}

Schedule::Step step_of_text(const std::string& text) {
  std::uint64_t numbers[3] = {};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::uint64_t& number : numbers) {
    const auto read = std::from_chars(at, end, number);
    if (read.ec != std::errc()) throw Error(ErrorKind::failed, "the leading rank's schedule says '" + text + "'");
    at = read.ptr < end ? read.ptr + 1 : end;
  }
  return {static_cast<Schedule::Step::Kind>(numbers[0]), numbers[1], static_cast<Stop>(numbers[2])};
}

class AgreedSchedule final : public Schedule {
 public:
  AgreedSchedule(std::unique_ptr<Schedule> own, Consensus& consensus) : own_(std::move(own)), consensus_(consensus) {}

  void begin(std::uint64_t bytes, std::uint64_t max_repeats) override { own_->begin(bytes, max_repeats); }
  Step next() override {
    const bool leads = consensus_.leads();
    return step_of_text(consensus_.of_leader(leads ? text_of_step(own_->next()) : std::string()));
  }
  void record(Seconds timed, Seconds spent) override {
    if (consensus_.leads()) own_->record(timed, spent);
  }
  std::string text() const override { return own_->text(); }
  Seconds guess(Seconds one_repeat) const override { return own_->guess(one_repeat); }

 private:
  std::unique_ptr<Schedule> own_;
  Consensus& consensus_;
};

constexpr int max_voids = 3;  // gates that time out in a row before the point is given up

// Copies are compared after a visit's first run, too, and not only after its last one: what a device spoils while it
// wakes up is written over by all copies that follow. Larger ones, whose comparison takes 10 ms and more, only once.
template <class K> bool compares_first(const Step<K>& step) {
  constexpr std::uint64_t quickly_compared = 64 * MiB;
  if constexpr (std::is_same_v<K, Transfers>) return step.axes.bytes <= quickly_compared;
  else return false;
}

}  // namespace

std::unique_ptr<Schedule> agreed_schedule(std::unique_ptr<Schedule> own, Consensus& consensus) {
  return std::make_unique<AgreedSchedule>(std::move(own), consensus);
}

template <class K>
std::optional<Measured<K>> measure(Runner<K>& runner, Schedule& schedule, const Step<K>& step,
                                   const std::function<bool()>& interrupted, const std::function<void()>& settle) {
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::failed, fmt::format("{}: {} ({})", title(step.question), why, text_of(step.axes)));
  };
  const Seconds begin = steady_clock().now();
  Measured<K> measured;
  measured.visit.axes = step.axes;
  runner.prepare(step);
  if (settle) settle();
  runner.disturbances();  // of what went before
  measured.visit.work = runner.work();
  schedule.begin(runner.bytes(), runner.max_repeats());

  std::vector<typename K::Sample> trial;
  std::uint32_t trials = 0;
  std::size_t last_trial = 0;  // its first sample
  int voids = 0;
  std::optional<std::string> first_wrong;
  std::vector<typename K::Sample> first;  // run of the visit, once it was compared
  for (;;) {
    if (interrupted && interrupted()) return std::nullopt;
    const Schedule::Step next = schedule.next();
    if (next.kind == Schedule::Step::Kind::stop) {
      measured.visit.stop = next.why;
      break;
    }
    trial.clear();
    const Seconds before = runner.clock().now();
    const bool valid = runner.run(next.repeats, trial);
    const Seconds spent = runner.clock().now() - before;
    if (!valid) {
      ++measured.visit.void_trials;
      if (++voids == max_voids)
        fail(fmt::format("the gate timed out {} times in a row: use a timing without a gate", voids));
      continue;
    }
    voids = 0;
    if (first.empty() && compares_first<K>(step)) {
      first_wrong = runner.check(trial);
      first = trial;
    }
    schedule.record(K::timed(step.question, trial), spent);
    if (next.kind != Schedule::Step::Kind::trial) continue;
    last_trial = measured.samples.size();
    for (auto& sample : trial) {
      sample.trial = trials;
      measured.samples.push_back(sample);
    }
    ++trials;
  }
  if (measured.samples.empty()) fail("the schedule asked for no trial");

  measured.visit.samples = static_cast<std::uint32_t>(measured.samples.size());
  if (auto wrong = runner.check(std::span(measured.samples).subspan(last_trial))) measured.mismatch = std::move(*wrong);
  if (first_wrong && measured.mismatch.empty()) {
    measured.mismatch = "in the first run, " + *first_wrong;
    // The samples of the first trial stand for it, where it was none itself.
    for (std::size_t i = 0; i < std::min(first.size(), measured.samples.size()); ++i)
      if (first[i].intact == 0) measured.samples[i].intact = 0;
  }
  measured.visit.telemetry = runner.telemetry();
  measured.visit.disturbed = runner.disturbances();
  measured.visit.wall_us = microseconds(steady_clock().now() - begin);
  return measured;
}

NPGPU_FOR_KINDS(&measure<K>)

}  // namespace npgpu

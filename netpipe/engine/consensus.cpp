#include "npgpu/consensus.hpp"

#include <charconv>
#include <utility>

#include "npgpu/error.hpp"

namespace npgpu {

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

}  // namespace

std::unique_ptr<Schedule> agreed_schedule(std::unique_ptr<Schedule> own, Consensus& consensus) {
  return std::make_unique<AgreedSchedule>(std::move(own), consensus);
}

}  // namespace npgpu

#include "netpipe/cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/engine/saturated.hpp"
#include "netpipe/report/format.hpp"
#include "npgpu/clock.hpp"

namespace npgpu::cli {

std::string clock_text(Seconds t) {
  const auto s = std::max(0L, saturated<long>(std::round(t.count())));
  return s >= 3600 ? fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
                   : fmt::format("{}:{:02}", s / 60, s % 60);
}

std::string bar_text(double fraction, const std::string& left, const std::string& rest, std::size_t columns) {
  constexpr int cells = 16;
  std::string bar(saturated<std::size_t>(fraction * cells), '#');
  bar.resize(cells, '.');
  return cut_to(fmt::format("[{}] {:3.0f} %{} | {}", bar, fraction * 100, left, rest), columns);
}

Progress::Progress(ProgressForm form) : form_(form), begin_(steady_clock().now()), last_round_(begin_) {}

Progress::~Progress() { clear(); }

void Progress::begin(const Plan& plan, Seconds expected) {
  by_round_ = plan.is_of_node() && form_ == ProgressForm::cases;
  begin_ = last_round_ = steady_clock().now();
  expected_ = expected.count();
  cases_ = plan.cases();
}

void Progress::point(const Point& point) {
  title_ = point.title;
  last_ = point.text;
  expected_done_ += point.expected.count();
  if (form_ == ProgressForm::points)
    unsaved_.push_back(fmt::format("saved /{}/{:04} {}: {}", point.kind, point.series, point.row, point.text));
  // A terminal need not see more than ten pictures a second.
  if (form_ == ProgressForm::bar && steady_clock().now() - last_drawn_ > Seconds{0.1}) draw();
}

void Progress::skipped(Seconds expected) { expected_ -= expected.count(); }

void Progress::series_done(const SeriesEnd& series) {
  ++cases_done_;
  if ((form_ == ProgressForm::cases && !by_round_) || form_ == ProgressForm::points)
    unsaved_.push_back(fmt::format("{}/{} {}: {} in {}{}{}", cases_done_, cases_, series.title,
                                   counted(series.tally.measured, "point"), clock_text(series.wall),
                                   rest_of(series.tally), series.given_up ? ", given up" : ""));
}

void Progress::saved() {
  for (const std::string& line : unsaved_) note(line);
  unsaved_.clear();
}

void Progress::note(const std::string& line) {
  if (form_ == ProgressForm::none) return;
  clear();
  std::cerr << one_line(line) + '\n' << std::flush;
}

void Progress::failed(const std::string& sentence) {
  if (++failures_ == 1 || !by_round_) return note("failed: " + sentence);
  if (failures_ == 2) note("failed: more, which are summed up at the end");
}

void Progress::round_done(std::uint32_t round, std::uint32_t rounds) {
  constexpr Seconds seldom{5};
  const Seconds now = steady_clock().now();
  if (by_round_ && now - last_round_ < seldom) return;
  last_round_ = now;
  note(fmt::format("round {} of {} done after {}", round, rounds, clock_text(now - begin_)));
}

void Progress::clear() {
  if (!drawn_) return;
  std::cerr << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

void Progress::draw() {
  last_drawn_ = steady_clock().now();
  const double fraction = expected_ > 0 ? std::clamp(expected_done_ / expected_, 0.0, 1.0) : 1.0;
  std::string left;
  if (expected_done_ > 0)
    left = " left " + clock_text((last_drawn_ - begin_) * std::max(0.0, (expected_ - expected_done_) / expected_done_));
  const auto columns = static_cast<std::size_t>(std::max(terminal_width(STDERR_FILENO, 80), 20)) - 1;
  const std::string rest = fmt::format("{}/{} {} | {}", cases_done_, cases_, title_, last_);
  std::cerr << "\r\x1b[K" + one_line(bar_text(fraction, left, rest, columns)) << std::flush;
  drawn_ = true;
}

}  // namespace npgpu::cli

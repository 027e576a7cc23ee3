#include "netpipe/cli/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "npgpu/clock.hpp"
#include "npgpu/report.hpp"

namespace npgpu::cli {

namespace {

std::string numbers(const std::vector<PointSummary>& lanes) {
  std::string text;
  for (const PointSummary& lane : lanes) {
    if (!text.empty()) text += " | ";
    text += time_text(lane.time_us.value) + ' ' + rate_text(lane.rate.value);
    const double half = (lane.time_us.high - lane.time_us.low) / 2 / lane.time_us.value;
    if (std::isfinite(half)) text += fmt::format(" ±{:.2f} %", half * 100);
    if (lane.stop == Stop::not_converged) text += " (never narrowed)";
  }
  return text;
}

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

}  // namespace

std::string clock_text(Seconds t) {
  const auto s = static_cast<long>(std::max(0.0, std::round(t.count())));
  return s >= 3600 ? fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60) : fmt::format("{}:{:02}", s / 60, s % 60);
}

Progress::Progress(bool quiet, Seconds expected)
    : form_(quiet ? Form::none : isatty(STDERR_FILENO) ? Form::bar : Form::lines),
      begin_(steady_clock().now()),
      expected_(expected.count()) {}

Progress::~Progress() { clear(); }

void Progress::sweep(std::size_t number, std::size_t of, const std::string& title, std::size_t points) {
  sweep_ = number;
  sweeps_ = of;
  title_ = title;
  points_ = points;
  done_ = 0;
  last_.clear();
  if (form_ == Form::lines) say(fmt::format("sweep {}/{}: {}", number, of, title));
  if (form_ == Form::bar) draw();
}

void Progress::point(std::size_t sweep_in_trace, const std::vector<PointSummary>& lanes, Seconds expected) {
  told(size_text(lanes.front().bytes), numbers(lanes), fmt::format("{} {}", sweep_in_trace, lanes.front().bytes), expected);
}

void Progress::shape(std::size_t probe_in_trace, const ProbeSeries& of_one_point, Seconds expected) {
  const ProbePoint& point = of_one_point.points.front();
  std::string numbers = probe_point_text(of_one_point);
  if (point.stop == Stop::not_converged) numbers += " (never narrowed)";
  const std::string shape = text_of(point.axes);
  told(shape, numbers, fmt::format("probe {} {}", probe_in_trace, shape), expected);
}

void Progress::job(std::size_t streams_in_trace, const JobSeries& of_one_point, Seconds expected) {
  const JobPoint& point = of_one_point.points.front();
  std::string numbers = job_point_text(of_one_point);
  if (point.stop == Stop::not_converged) numbers += " (never narrowed)";
  const std::string job = text_of(point.axes);
  told(job, numbers, fmt::format("streams {} {}", streams_in_trace, job), expected);
}

void Progress::told(const std::string& what, const std::string& numbers, const std::string& saved_as, Seconds expected) {
  ++done_;
  expected_done_ += expected.count();
  last_ = what + ' ' + numbers;
  if (form_ == Form::lines) unsaved_.push_back("saved " + saved_as + ": " + numbers);
  // A terminal need not see more than ten pictures a second.
  if (form_ == Form::bar && steady_clock().now() - last_drawn_ > Seconds{0.1}) draw();
}

void Progress::skipped(Seconds expected) {
  ++done_;
  expected_ -= expected.count();
}

void Progress::saved() {
  for (const std::string& line : unsaved_) say(line);
  unsaved_.clear();
}

void Progress::say(const std::string& line) {
  if (form_ == Form::none) return;
  clear();
  std::cerr << line << '\n' << std::flush;
}

void Progress::clear() {
  if (!drawn_) return;
  std::cerr << "\r\033[K" << std::flush;
  drawn_ = false;
}

void Progress::draw() {
  last_drawn_ = steady_clock().now();
  const double fraction = expected_ > 0 ? std::clamp(expected_done_ / expected_, 0.0, 1.0) : 1.0;
  std::string left;
  if (expected_done_ > 0) {
    const Seconds so_far = last_drawn_ - begin_;
    left = " left " + clock_text(so_far * ((expected_ - expected_done_) / expected_done_));
  }
  constexpr int cells = 16;
  const int full = static_cast<int>(fraction * cells);
  std::string bar(static_cast<std::size_t>(full), '#');
  bar.resize(cells, '.');
  std::string line = fmt::format("[{}] {:3.0f} %{} | {}/{} {} | {}", bar, fraction * 100, left, sweep_, sweeps_, title_, last_);
  const std::size_t width = terminal_width() - 1;
  if (line.size() > width) line.resize(width);
  while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xC0) == 0x80) line.pop_back();
  std::cerr << '\r' << line << "\033[K" << std::flush;
  drawn_ = true;
}

}  // namespace npgpu::cli

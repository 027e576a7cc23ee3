#include "netpipe/cli/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/report/foreign.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/layout.hpp"
#include "npgpu/model/result.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

int terminal_width(int descriptor, int otherwise) {
  const char* columns = std::getenv("COLUMNS");
  int width = 0;
  if (columns && std::from_chars(columns, columns + std::strlen(columns), width).ec == std::errc{} && width > 0)
    return width;
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

bool takes_escapes(int descriptor) {
  const char* terminal = std::getenv("TERM");
  return isatty(descriptor) && terminal && *terminal && std::strcmp(terminal, "dumb") != 0;
}

TextStyle terminal_style() {
  TextStyle style;
  const char* no_color = std::getenv("NO_COLOR");
  style.color = takes_escapes(STDOUT_FILENO) && !(no_color && *no_color);
  style.whole_tables = terminal_width(STDOUT_FILENO, 0) == 0;
  style.width = std::clamp(terminal_width(STDOUT_FILENO, style.width), 60, 200);
  return style;
}

void complain(std::string_view what) {
  // What a user typed may stand in it, however long.
  constexpr std::size_t first = 1200, last = 300;
  std::string text = one_line(what);
  if (text.size() > first + last)
    text = fmt::format("{} ... ({} characters) ... {}", text.substr(0, first), text.size() - first - last,
                       text.substr(text.size() - last));
  std::cerr << "npgpu: " + text + '\n' << std::flush;
}

void complain(const std::exception& e) {
  complain(e.what());
  if (const auto* const error = dynamic_cast<const ListedError*>(&e))
    for (const std::string& line : error->below()) std::cerr << "  " + one_line(line) + '\n' << std::flush;
}

Trace read_for_figures(const std::string& path) {
  Trace trace = read_trace(path, Guard::child);
  if (!trace.doubts.empty()) complain(path + ": " + doubts_text(trace));
  return trace;
}

std::vector<Trace> read_runs_for_figures(const std::string& path) {
  std::vector<Trace> runs = read_runs(path, Guard::child);
  for (const Trace& run : runs)
    if (!run.doubts.empty()) complain(path + ": " + doubts_text(run));
  return runs;
}

namespace {

constexpr std::array<std::string_view, 5> own_sequences{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[1;31m", "\r\x1b[K"};

// Bytes of ASCII that need no look.
bool is_usual(char c) { return (c >= ' ' && c <= '~') || c == '\n'; }

std::size_t length_of(unsigned char lead) {
  return lead < 0xc2 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 1;
}

}  // namespace

bool PlainBuffer::pass(bool end) {
  std::string out;
  std::string_view rest = held_;
  while (!rest.empty()) {
    const std::size_t usual = static_cast<std::size_t>(std::ranges::find_if_not(rest, is_usual) - rest.begin());
    out += rest.substr(0, usual);
    rest.remove_prefix(usual);
    if (rest.empty()) break;
    const auto own = std::ranges::find_if(own_sequences, [&](std::string_view one) { return rest.starts_with(one); });
    if (own != own_sequences.end()) {
      out += *own;
      rest.remove_prefix(own->size());
      continue;
    }
    const bool may_become_own =
        std::ranges::any_of(own_sequences, [&](std::string_view one) { return one.starts_with(rest); });
    const std::size_t length = length_of(static_cast<unsigned char>(rest.front()));
    if (!end && (may_become_own || rest.size() < length)) break;
    const std::size_t bytes = character_at(rest, 0).bytes;
    out += one_line(rest.substr(0, bytes));
    rest.remove_prefix(bytes);
  }
  held_.erase(0, held_.size() - rest.size());
  const auto count = static_cast<std::streamsize>(out.size());
  return to_->sputn(out.data(), count) == count;
}

PlainBuffer::int_type PlainBuffer::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const std::lock_guard lock(one_);
  held_ += traits_type::to_char_type(c);
  return pass(false) ? c : traits_type::eof();
}

std::streamsize PlainBuffer::xsputn(const char* text, std::streamsize count) {
  const std::lock_guard lock(one_);
  held_.append(text, static_cast<std::size_t>(count));
  return pass(false) ? count : 0;
}

int PlainBuffer::sync() {
  const std::lock_guard lock(one_);
  const bool passed = pass(true);
  return to_->pubsync() == 0 && passed ? 0 : -1;
}

PlainStream::~PlainStream() {
  stream_.flush();
  stream_.rdbuf(before_);
}

namespace {

volatile std::sig_atomic_t stop_came = 0;
volatile std::sig_atomic_t save_came = 0;

// `timeout` and batch systems signal the process and then its group, so that one wish to stop comes twice. Who asks
// again after a second is in a hurry: the program ends at once.
void on_stop(int signal) {
  static volatile std::sig_atomic_t first_s = 0;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const auto second = static_cast<std::sig_atomic_t>(now.tv_sec);
  if (stop_came && second - first_s > 1) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  if (!stop_came) first_s = second;
  stop_came = 1;
}
void on_save(int) { save_came = 1; }

void install(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signal, &action, nullptr);
}

}  // namespace

void catch_signals() {
  // SA_RESTART: a checkpoint in progress must not fail with EINTR.
  install(SIGTERM, on_stop, SA_RESTART);
  install(SIGINT, on_stop, SA_RESTART);
  install(SIGXCPU, on_stop, SA_RESTART);  // the soft limit of processor time; the hard one ends the program
  struct sigaction hangup {};
  if (sigaction(SIGHUP, nullptr, &hangup) != 0 || hangup.sa_handler != SIG_IGN) install(SIGHUP, on_stop, SA_RESTART);
  install(SIGUSR1, on_save, SA_RESTART);
  install(SIGPIPE, SIG_IGN, 0);
  install(SIGXFSZ, SIG_IGN, 0);
}

bool stop_asked() { return stop_came != 0; }

bool save_asked() {
  if (!save_came) return false;
  save_came = 0;
  return true;
}

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

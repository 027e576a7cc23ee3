// The terminal that the program writes to, text laid out for it, and the signals that come from there.
#pragma once

#include <cstdint>
#include <exception>
#include <iosfwd>
#include <mutex>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include "netpipe/cli/measure.hpp"
#include "npgpu/measuring/campaign.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu::cli {

// Columns of the terminal behind a file descriptor: COLUMNS if it is a number, else the terminal's own, else
// `otherwise`.
int terminal_width(int descriptor, int otherwise);
// True if escape sequences work there: a terminal that is not dumb.
bool takes_escapes(int descriptor);

// How standard output is laid out: its width (100 if it is no terminal), and colour if it takes escapes and NO_COLOR is
// not set.
TextStyle terminal_style();

// "npgpu: ..." to standard error: one line, whatever the text holds, and what a ListedError lists below it.
void complain(std::string_view);
void complain(const std::exception&);

// The trace in this file, read by a child process (Guard::child). Which of its values cannot be, standard error says:
// for commands that show figures and judge nothing.
Trace read_for_figures(const std::string& path);
// The same of each run of a merged file.
std::vector<Trace> read_runs_for_figures(const std::string& path);

// The last door to a terminal: whatever a text passed or did not pass before, standard output and standard error let no
// control character through, none that turns the direction of text, no bytes that are not UTF-8 and no escape sequence
// but the program's own (bold, dim, red, and clearing its line of progress).

class PlainBuffer : public std::streambuf {
 public:
  explicit PlainBuffer(std::streambuf* to) : to_(to) {}

 protected:
  int_type overflow(int_type) override;
  std::streamsize xsputn(const char*, std::streamsize) override;
  int sync() override;

 private:
  // Writes what is whole of `held_`; at the `end` all of it.
  bool pass(bool end);
  std::streambuf* to_;
  std::string held_;  // the beginning of a character or of a sequence
  std::mutex one_;    // ranks complain from several threads
};

// The stream writes through a PlainBuffer as long as this lives.
class PlainStream {
 public:
  explicit PlainStream(std::ostream& stream)
      : stream_(stream), buffer_(stream.rdbuf()), before_(stream.rdbuf(&buffer_)) {}
  ~PlainStream();
  PlainStream(const PlainStream&) = delete;
  PlainStream& operator=(const PlainStream&) = delete;

 private:
  std::ostream& stream_;
  PlainBuffer buffer_;
  std::streambuf* before_;
};

// Signals, as batch systems and impatient people send them. Handlers only set flags; the campaign asks between trials.
//
// SIGTERM, SIGINT, SIGHUP: stop after the trial, save, exit 75; a second one kills. A SIGHUP that is ignored already
// (nohup) stays so. SIGUSR1: save now, go on. SIGPIPE and SIGXFSZ are ignored: a closed terminal must not cost a
// measurement, and a file that may not grow is an error of the write.
void catch_signals();
bool stop_asked();
// True once for each SIGUSR1.
bool save_asked();

// What a person sees on standard error while a plan runs: a bar with the time left on a terminal, else a line for each
// round, case or point, written once what it says is safely on disk.

class Progress final : public Observer {
 public:
  explicit Progress(ProgressForm);
  ~Progress() override;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void begin(const Plan&, Seconds expected) override;
  void note(const std::string& sentence) override;
  void point(const Point&) override;
  void skipped(Seconds expected) override;
  void series_done(const SeriesEnd&) override;
  // Only the first failure of a node's matrix has a line.
  void failed(const std::string& sentence) override;
  void round_done(std::uint32_t round, std::uint32_t rounds) override;
  void saved() override;

 private:
  void draw();
  void clear();
  ProgressForm form_;
  bool by_round_ = false;  // lines for cases are lines for rounds, not more often than a person reads
  bool drawn_ = false;
  Seconds begin_, last_drawn_{0}, last_round_{0};
  double expected_ = 0, expected_done_ = 0;
  std::size_t cases_ = 0, cases_done_ = 0;
  std::size_t failures_ = 0;
  std::string title_, last_;
  std::vector<std::string> unsaved_;
};

// "1:05", "2:03:10".
std::string clock_text(Seconds);
// The line of the bar, at most `columns` characters.
std::string bar_text(double fraction, const std::string& left, const std::string& rest, std::size_t columns);

}  // namespace npgpu::cli

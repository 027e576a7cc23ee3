// What a person sees on standard error while a plan runs: a bar with the time left on a terminal, else a line for each
// round, case or point, written once what it says is safely on disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "netpipe/cli/measure_options.hpp"
#include "npgpu/units.hpp"

namespace npgpu::cli {

class Progress {
 public:
  // `expected`: a guess of the whole run; point() and skipped() get their share of it.
  // `by_round`: lines for cases are lines for rounds, not more often than a person reads.
  Progress(ProgressForm, std::size_t cases, Seconds expected, bool by_round = false);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A point was measured: of which case, where it stands in the trace ("/transfers/0003 12"), and what came out.
  void point(const std::string& title, const std::string& place, const std::string& result, Seconds expected);
  void skipped(Seconds expected);  // already in the trace, or given up
  void case_done(const std::string& summary);
  void saved();  // everything reported so far is on disk
  void say(const std::string& line);
  // Something could not be measured, or came out wrong. By rounds only the first has a line.
  void failed(const std::string& sentence);
  void round_done(std::uint32_t round, std::uint32_t rounds);

 private:
  void draw();
  void clear();
  ProgressForm form_;
  bool by_round_;
  bool drawn_ = false;
  Seconds begin_, last_drawn_{0}, last_round_{0};
  double expected_, expected_done_ = 0;
  std::size_t cases_, cases_done_ = 0;
  std::size_t failures_ = 0;
  std::string title_, last_;
  std::vector<std::string> unsaved_;
};

// "1:05", "2:03:10".
std::string clock_text(Seconds);
// The line of the bar, at most `columns` characters.
std::string bar_text(double fraction, const std::string& left, const std::string& rest, std::size_t columns);

}  // namespace npgpu::cli

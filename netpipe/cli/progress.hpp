// What a person sees while it runs, on standard error: a bar with the time left on a terminal, else a line a
// point, written when the point is safely on disk ("saved 3 4096: ...": sweep 3, 4096 bytes; "saved probe 0 132 x 1024
// threads, ilp 4: ..."; "saved streams 2 60 MiB in, 16 chunks in 16 streams: ...").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npgpu/model.hpp"
#include "npgpu/probe.hpp"
#include "npgpu/units.hpp"

namespace npgpu::cli {

class Progress {
 public:
  // `expected`: the plan's guess of the whole run, of which point() is told its share.
  Progress(bool quiet, Seconds expected);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void sweep(std::size_t number, std::size_t of, const std::string& title, std::size_t points);
  void point(std::size_t sweep_in_trace, const std::vector<PointSummary>& lanes, Seconds expected);
  void shape(std::size_t probe_in_trace, const ProbeSeries& of_one_point, Seconds expected);
  void job(std::size_t streams_in_trace, const JobSeries& of_one_point, Seconds expected);
  void skipped(Seconds expected);  // already in the trace, or given up
  void saved();                    // everything told so far is on disk
  void say(const std::string& line);

 private:
  enum class Form { none, lines, bar };
  void told(const std::string& what, const std::string& numbers, const std::string& saved_as, Seconds expected);
  void draw();
  void clear();
  Form form_;
  bool drawn_ = false;
  Seconds begin_;
  double expected_, expected_done_ = 0;
  Seconds skipped_time_{0};
  std::string title_, last_;
  std::size_t sweep_ = 0, sweeps_ = 0, done_ = 0, points_ = 0;
  std::vector<std::string> unsaved_;
  Seconds last_drawn_{0};
};

// "1:05", "2:03:10".
std::string clock_text(Seconds);

}  // namespace npgpu::cli

// What a person sees on standard error while a plan runs: a bar with the time left on a terminal, else a line for each
// round, case or point, written once what it says is safely on disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "netpipe/cli/measure_options.hpp"
#include "npgpu/campaign.hpp"

namespace npgpu::cli {

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
  // Of a node's matrix only the first failure has a line.
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

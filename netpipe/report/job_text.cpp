#include "netpipe/report/text_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/report/format.hpp"
#include "netpipe/report/layout.hpp"

namespace npgpu {

namespace {

std::string bytes_cell(std::uint64_t bytes) { return bytes ? size_text(bytes) : "-"; }

std::string header(const JobSeries& sweep, const Ink& ink, std::size_t width) {
  const std::string name = (sweep.simulated ? "SIMULATED " : "") + title(sweep.question);
  std::string out = (sweep.simulated ? ink.alarm(name) : ink.bold(name)) + '\n';
  out += labelled("device", sweep.device_name.empty() ? sweep.question.device : sweep.device_name, width);
  if (!sweep.binding.empty()) out += labelled("bound to", sweep.binding, width);
  if (!sweep.schedule.empty()) out += labelled("schedule", sweep.schedule, width);
  return out;
}

std::string time_note(Gating gated) {
  switch (gated) {
    case Gating::open:
      break;
    case Gating::gated:
      return "us: the device's time, from the opening of the gate to the end of the last stream's work";
    case Gating::last_stream_free:
      return fmt::format(
          "us: the host's time, from the first call to the end of the last stream's work while all other streams wait "
          "behind a gate, which is opened where that has not ended {:.0f} us after the last call",
          microseconds(last_stream_free_patience));
  }
  return "us: the host's time, from the first call to the end of synchronization";
}

}  // namespace

std::string text_of(const JobShape& job) {
  std::string text;
  const auto part = [&](const std::string& words) { text += (text.empty() ? "" : ", ") + words; };
  if (job.bytes_in) part(size_text(job.bytes_in) + " in");
  if (job.bytes_out) part(size_text(job.bytes_out) + " out");
  if (job.kernel_bytes) part(fmt::format("kernel {} x {}", size_text(job.kernel_bytes), job.iterations));
  part(fmt::format("{} chunk{} in {} stream{}", job.chunks, job.chunks == 1 ? "" : "s", job.streams,
                   job.streams == 1 ? "" : "s"));
  if (job.threads != JobShape{}.threads) part(fmt::format("{} threads a block", job.threads));
  return text;
}

std::string job_point_text(const JobSeries& sweep) {
  const auto all = summarize(sweep);
  if (all.empty() || !std::isfinite(all.front().time_us.value)) return "not usable";
  const Estimate& time = all.front().time_us;
  std::string text = time_text(time.value);
  const double half = (time.high - time.low) / 2 / time.value;
  if (std::isfinite(half)) text += fmt::format(" ±{:.2f} %", half * 100);
  return text;
}

std::string jobs_text(const JobSeries& sweep, const TextStyle& style) {
  const Ink ink(style.color);
  const auto width = static_cast<std::size_t>(std::max(40, style.width));
  std::string out = header(sweep, ink, width);
  if (!sweep.error.empty())
    out += ink.alarm(labelled(sweep.points.empty() ? "NOT RUN" : "STOPPED", sweep.error, width));
  if (sweep.points.empty()) {
    if (sweep.error.empty()) out += labelled("points", "none were measured", width);
    return out;
  }
  const bool fresh = sweep.question.pool == StreamPool::fresh;
  Table table;
  table.column("in", Align::right);
  table.column("out", Align::right);
  table.column("kernel", Align::right);
  table.column("rounds", Align::right);
  table.column("chunks", Align::right);
  table.column("streams", Align::right, 3);
  table.column("us", Align::point);
  table.column("95 % interval", Align::right, 1);
  table.column("speed-up", Align::point);
  if (fresh) table.column("creating us", Align::point);
  table.column("issuing us", Align::point, 2);
  table.column("trials", Align::right, 4);
  table.column("", Align::left);
  bool never = false, wrong = false;
  for (const JobSummary& s : summarize(sweep)) {
    const bool usable = s.time_us.value > 0;
    const bool narrow = std::isfinite(s.time_us.low) && usable;
    std::vector<std::string> cells{bytes_cell(s.job.bytes_in),
                                   bytes_cell(s.job.bytes_out),
                                   bytes_cell(s.job.kernel_bytes),
                                   s.job.kernel_bytes ? std::to_string(s.job.iterations) : "-",
                                   std::to_string(s.job.chunks),
                                   std::to_string(s.job.streams),
                                   digits_text(s.time_us.value),
                                   narrow
                                       ? fmt::format("{:+.1f} {:+.1f} %", 100 * (s.time_us.low / s.time_us.value - 1),
                                                     100 * (s.time_us.high / s.time_us.value - 1))
                                       : "-",
                                   digits_text(s.speed_up, 3)};
    if (fresh) cells.push_back(digits_text(s.create_us));
    cells.push_back(digits_text(s.issue_us));
    cells.push_back(std::to_string(s.trials));
    cells.push_back(std::string(usable ? "" : "!") + (s.stop == Stop::not_converged ? "*" : ""));
    never |= s.stop == Stop::not_converged;
    wrong |= !usable;
    table.row(std::move(cells));
  }
  out += '\n';
  const auto lines = table.lines(width);
  for (std::size_t i = 0; i < lines.size(); ++i) out += i == 0 ? ink.dim(lines[i]) : lines[i];
  const auto note = [&](const std::string& text) { out += "  " + wrapped(text, width, 4, 2) + '\n'; };
  note(time_note(sweep.question.gating));
  note("speed-up: over the same job unsplit in one stream");
  if (never) note("* the interval never narrowed to the schedule's tolerance before the budget of the job was spent");
  if (wrong) note("! no usable trial: results were wrong");
  std::string names;
  for (const std::string& name : table.left_out()) names += (names.empty() ? "" : ", ") + name;
  if (!names.empty()) note(fmt::format("left out at {} columns: {}", width, names));
  return out;
}

}  // namespace npgpu

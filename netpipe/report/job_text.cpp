// One series of jobs: a row for each job.
#include <fmt/format.h>

#include <map>

#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

std::string bytes_cell(std::uint64_t bytes) { return bytes ? size_text(bytes) : "-"; }

std::string time_note(Gating gating) {
  switch (gating) {
    case Gating::open: break;
    case Gating::gated: return "us: device time, from the opening of the gate to the end of the last stream's work";
    case Gating::last_stream_free:
      return fmt::format(
          "us: host time, from the first call to the end of the last stream's work, while all other streams wait "
          "behind a gate; the gate is opened if that work has not ended {:.0f} us after the last call",
          microseconds(last_stream_free_patience));
  }
  return "us: host time, from the first call to the end of synchronization";
}

}  // namespace

void series_text(Document& doc, const JobSeries& series, bool) {
  if (!heading(doc, series)) return;
  Table table({right("in"), right("out"), right("kernel"), right("iterations", 2), right("chunks"), right("streams", 3),
               decimal("us"), right("95 % interval", 1), decimal("speed-up"),
               decimal("create us", 2, series.question.pool == StreamPool::fresh), decimal("issue us", 2),
               right("trials", 4), left("")});
  const auto points = points_by_axes(series);
  Marks marks;
  for (const JobResult& s : results(series))
    table.row({bytes_cell(s.axes.bytes_in), bytes_cell(s.axes.bytes_out), bytes_cell(s.axes.kernel_bytes),
               s.axes.kernel_bytes ? std::to_string(s.axes.iterations) : "-", std::to_string(s.axes.chunks),
               std::to_string(s.axes.streams), digits_text(s.time_us.value), interval_text(s.time_us),
               digits_text(s.speed_up, 3), digits_text(s.create_us), digits_text(s.issue_us), std::to_string(s.trials),
               marks.take(points.at(s.axes), s.unsteady, s.time_us.value > 0)});
  doc.gap();
  doc.table(std::move(table));
  doc.note(time_note(series.question.gating));
  doc.note("speed-up: over the same job unsplit in one stream");
  marks.notes(doc, "jobs", series.unsteady_above);
  doc.left_out();
}

}  // namespace npgpu

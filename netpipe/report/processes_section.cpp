#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "netpipe/report/format.hpp"
#include "netpipe/report/matrix_sections.hpp"

namespace npgpu {

namespace {

// As wide as a screen has place for.
std::string short_range(const Estimate& e) {
  if (!std::isfinite(e.low + e.high)) return "-";
  return fmt::format("{}-{}", digits_text(e.low, 3), digits_text(e.high, 3));
}

// Large copies have a rate, others a time.
bool has_rate(const ProcessFigure& figure) { return figure.bytes >= MiB; }
Estimate shown(const ProcessFigure& figure, const Estimate& us) {
  if (!has_rate(figure)) return us;
  const auto rate = [&](double time) { return static_cast<double>(figure.bytes) / time * 1e-3; };
  return {rate(us.value), rate(us.high), rate(us.low), "GB/s", us.method};
}

}  // namespace

Section processes_section(const ProcessGpu& gpu) {
  Section section{
      .name = fmt::format("{} with a second process: us, and GB/s of large copies, by the host's clock", gpu.id)};
  Table table({left(""), decimal("value"), left("95 %", 2), decimal("times"), left("95 %", 1), left("")});
  bool is_disturbed = false, is_idle = false;
  for (const ProcessFigure& figure : gpu.figures) {
    const Estimate alone = shown(figure, figure.alone_us);
    table.row({figure.name + (has_rate(figure) ? ", GB/s" : ", us"), digits_text(alone.value), short_range(alone), "",
               "", figure.disturbed.empty() ? "" : "d"});
    is_disturbed |= !figure.disturbed.empty();
    for (const ProcessCell& cell : figure.cells) {
      const Estimate beside = shown(figure, cell.time_us);
      table.row({fmt::format("  with one that {}", deed_of(cell.beside)), digits_text(beside.value),
                 short_range(beside), digits_text(cell.times.value, 3), short_range(cell.times),
                 std::string(cell.disturbed.empty() ? "" : "d") + (cell.did_nothing ? "0" : "")});
      is_disturbed |= !cell.disturbed.empty();
      is_idle |= cell.did_nothing;
    }
  }
  section.table = std::move(table);
  if (!gpu.sharing.empty()) section.notes.push_back(gpu.sharing);
  section.notes.emplace_back(
      "times: the time with the second process over the time alone; both were measured alternately, in the same "
      "rounds");
  if (is_disturbed) section.notes.emplace_back("d: others than the second process disturbed it");
  if (is_idle) section.notes.emplace_back("0: the second process did nothing in that time");
  for (const MatrixFinding& cost : gpu.costs) section.entries.push_back({"COST", {cost.text}});
  for (const MatrixFinding& doubt : gpu.doubts) section.entries.push_back({"IDLE", {doubt.text}, true});
  return section;
}

}  // namespace npgpu

#include "netpipe/model/matrix/processes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "netpipe/engine/sort_stably.hpp"
#include "netpipe/model/calls/calls.hpp"
#include "netpipe/model/probes/derivation.hpp"
#include "npgpu/model.hpp"

namespace npgpu::model {

namespace {

std::string process_figure_name(const TransferCase& c, std::uint64_t bytes) {
  const std::string way = c.direction == Direction::h2d   ? "to the GPU"
                          : c.direction == Direction::d2h ? "to the host"
                                                          : "in the GPU";
  return fmt::format("{} copy {}{}", size_text(bytes), way, c.executor == Executor::sm_kernel ? " by a kernel" : "");
}
std::string process_figure_name(const CallCase& c, const CallShape& shape) {
  if (c.call == Call::launch && shape == CallShape{.blocks = 1}) return "empty kernel until done";
  return fmt::format("{} {} until done", name(c.call), text_of(shape));
}

const Estimate& process_us(const TransferResult& r) { return r.time_us; }
const Estimate& process_us(const CallResult& r) { return r.done_us; }
std::uint64_t process_bytes(const TransferSize& size) { return size.bytes; }
std::uint64_t process_bytes(const CallShape&) { return 0; }
std::string process_figure(const TransferSeries& series, const TransferSize& size) {
  return process_figure_name(series.question, size.bytes);
}
std::string process_figure(const CallSeries& series, const CallShape& shape) {
  return process_figure_name(series.question, shape);
}

template <class Case> Case without_second_process(Case question) {
  question.beside = Beside::nobody;
  return question;
}

class ProcessGatherer {
 public:
  // Every figure that was measured alone and with a second process.
  template <class K> void take(const std::vector<Series<K>>& all) {
    std::vector<const Series<K>*> in_order;
    for (const Series<K>& series : all)
      if (!is_beside(series.question)) in_order.push_back(&series);
    if constexpr (requires(const Series<K>* one) { one->question.direction; })
      sort_stably(in_order, {}, [](const Series<K>* series) { return series->question.direction; });
    for (const Series<K>* series : in_order)
      for (const Result<K>& alone : results(*series))
        if (alone.lane == 0) take(all, *series, alone);
  }
  // Small copies, large ones, launches.
  std::vector<ProcessGpu> finish() {
    for (ProcessGpu& gpu : gpus_) sort_stably(gpu.figures, {}, [](const ProcessFigure& one) { return one.bytes - 1; });
    return std::move(gpus_);
  }

 private:
  template <class K> void take(const std::vector<Series<K>>& all, const Series<K>& without, const Result<K>& alone) {
    ProcessFigure figure{
        process_figure(without, alone.axes), process_bytes(alone.axes), process_us(alone), alone.disturbed, {}};
    for (const Series<K>& series : all) {
      if (!is_beside(series.question) || without_second_process(series.question) != without.question ||
          series.device_uuid != without.device_uuid)
        continue;
      for (const Result<K>& same : results(series))
        if (same.axes == alone.axes && same.lane == 0) figure.cells.push_back(process_cell(series, same, alone));
    }
    if (figure.cells.empty()) return;
    sort_stably(figure.cells, {}, &ProcessCell::beside);
    gpu(device_of(without.question)).figures.push_back(std::move(figure));
  }

  template <class K>
  static ProcessCell process_cell(const Series<K>& series, const Result<K>& result, const Result<K>& alone) {
    const Estimate& us = process_us(result);
    const Point<K> point = points_by_axes(series).at(result.axes);
    ProcessCell cell{series.question.beside, us, {}, false, false, result.disturbed};
    cell.times = quotient({us}, {process_us(alone)}, "1", "both ends of both intervals");
    cell.did_nothing = is_working(cell.beside) && std::ranges::any_of(point.counted(), [](const Visit<K>* visit) {
                         return visit->beside_done == 0;
                       });
    cell.is_longer = !cell.did_nothing && cell.times.value >= 1 + process_share && !(cell.times.low <= 1);
    return cell;
  }

  ProcessGpu& gpu(const std::string& id) {
    const auto known = std::ranges::find(gpus_, id, &ProcessGpu::id);
    return known == gpus_.end() ? gpus_.emplace_back(ProcessGpu{.id = id}) : *known;
  }

  std::vector<ProcessGpu> gpus_;
};

// "2.01 times as long (1.98 to 2.05)"
std::string times_as_long(const Estimate& times) {
  const auto digits = [](double value) {
    return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
  };
  if (!std::isfinite(times.low + times.high)) return digits(times.value) + " times as long (without an interval)";
  return fmt::format("{} times as long ({} to {})", digits(times.value), digits(times.low), digits(times.high));
}

// What all figures together say of one kind of second process.
void add_process_costs(ProcessGpu& gpu, Beside beside) {
  std::vector<std::pair<const ProcessFigure*, const ProcessCell*>> longer;
  std::vector<std::string> nothing;
  std::size_t others = 0;
  for (const ProcessFigure& figure : gpu.figures)
    for (const ProcessCell& cell : figure.cells) {
      if (cell.beside != beside) continue;
      if (cell.did_nothing) nothing.push_back(figure.name);
      else if (cell.is_longer) longer.emplace_back(&figure, &cell);
      else ++others;
    }
  const std::string who = fmt::format("{} with a second process that {}", gpu.id, deed_of(beside));
  if (!nothing.empty())
    gpu.doubts.push_back(
        {{gpu.id},
         fmt::format("{}: it did nothing while these were measured, so they do not show what it costs: {}", who,
                     fmt::join(nothing, "; "))});
  if (longer.empty() && others == 0) return;
  sort_stably(longer, std::greater<>(), [](const auto& one) { return one.second->times.value; });
  std::vector<std::string> parts;
  for (const auto& [figure, cell] : longer)
    parts.push_back(
        fmt::format("{} {} takes {}", figure->bytes ? "a" : "an", figure->name, times_as_long(cell->times)));
  if (others > 0)
    parts.push_back(fmt::format("{} is seen to take {:g} % longer", longer.empty() ? "nothing" : "no other figure",
                                process_share * 100));
  gpu.costs.push_back({{gpu.id}, fmt::format("{}: {}", who, fmt::join(parts, "; "))});
}

std::string sharing_of(const Trace& trace, const std::string& id) {
  for (const auto& [group, facts] : trace.provenance) {
    if (text_fact(facts, "id") != id || !group.starts_with("gpu")) continue;
    if (number_fact(facts, "simulated") > 0) return "simulated: two processes share in equal parts what both use";
    if (number_fact(facts, "mig_mode") > 0)
      return "MIG is on, and both processes are on the same instance, where their kernels take turns unless MPS runs";
  }
  const double mps = number_fact(facts_of(trace.provenance, "host"), "mps_daemon");
  if (mps > 0) return "an MPS daemon runs: kernels of processes that are its clients may run at the same time";
  if (mps == 0) return "no MPS daemon runs: kernels of several processes take turns (time slices)";
  return {};
}

}  // namespace

std::vector<ProcessGpu> processes_of(const Trace& trace) {
  ProcessGatherer gatherer;
  gatherer.take<Transfers>(trace.of<Transfers>());
  gatherer.take<Calls>(trace.of<Calls>());
  std::vector<ProcessGpu> all = gatherer.finish();
  for (ProcessGpu& gpu : all) {
    gpu.sharing = sharing_of(trace, gpu.id);
    for (const Beside beside : {Beside::idle, Beside::copies, Beside::kernels, Beside::launches})
      add_process_costs(gpu, beside);
  }
  return all;
}

}  // namespace npgpu::model

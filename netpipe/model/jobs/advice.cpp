#include "npgpu/model/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <stdexcept>
#include <tuple>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/model/calls/calls.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

namespace {

constexpr std::uint64_t chunk_line = 128;
constexpr std::uint32_t most_chunks = 65536;
// Finer cuts are tried up to so many chunks; beyond only what the memory asks for.
constexpr std::uint64_t fine_enough = 512;

std::uint64_t rounded_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0); }

// The buffers of one chunk, the largest.
Buffers one_chunk(const Job& job, std::uint32_t chunks) {
  const auto bytes = [&](std::uint64_t total) {
    if (job.items) return rounded_up(job.items, chunks) * (total / job.items);
    return std::min(total, padded(rounded_up(total, chunks), chunk_line));
  };
  return {bytes(job.in_bytes), bytes(job.out_bytes)};
}

// Every chunk has a line of each copy, and whole items.
bool has_lines(const Job& job, std::uint64_t chunks) {
  return keeps_items_whole(job.items, chunks) && (!job.in_bytes || job.in_bytes / chunks >= chunk_line) &&
         (!job.out_bytes || job.out_bytes / chunks >= chunk_line);
}

template <class Splits, class Key> const SplitTime& least_by(const Splits& splits, Key key) {
  const auto found = std::ranges::min_element(splits, {}, key);
  if (found == std::ranges::end(splits)) throw std::out_of_range("no split of a job");
  return *found;
}

Curve curve_over_nodes(const std::map<std::uint32_t, double>& us) {
  std::vector<Curve::Point> points;
  for (const auto& [nodes, t] : us) points.push_back({static_cast<double>(nodes), from_microseconds(t)});
  return Curve(std::move(points));
}

// The call's time over the graph's nodes: medians of the jobs that have as many.
std::map<std::uint32_t, double> launches_of_jobs(const Trace& trace, const std::string& device,
                                                 const std::string& device_uuid) {
  std::map<std::uint32_t, std::vector<double>> us;
  for (const JobSeries& series : trace.of<Jobs>()) {
    const JobCase& c = series.question;
    if (c.issue != Issuing::graph || c.device != device || series.device_uuid != device_uuid) continue;
    for (const JobResult& s : results(series)) {
      const std::uint32_t stages = (s.axes.bytes_in > 0) + (s.axes.kernel_bytes > 0) + (s.axes.bytes_out > 0);
      if (std::isfinite(s.issue_us)) us[stages * s.axes.chunks].push_back(s.issue_us);
    }
  }
  std::map<std::uint32_t, double> medians;
  for (const auto& [nodes, all] : us) medians.emplace(nodes, median(all));
  return medians;
}

std::vector<double> predicted_us(const MeasuredWorkload& w, const Job& job, const MeasuredCosts& m, bool graph) {
  std::vector<double> all;
  for (const std::uint32_t n : w.streams) {
    const StreamCosts costs = graph ? as_graph(m.costs, *m.graph, job, n) : m.costs;
    all.push_back(microseconds(simulate_total(job, n, costs, w.question.order).total));
  }
  return all;
}

}  // namespace

Buffers buffers_of(const Job& job, std::uint32_t chunks, std::uint32_t streams) {
  Buffers b = one_chunk(job, chunks);
  const std::uint64_t whole = saturating_plus(job.in_bytes, job.out_bytes);
  b.all_bytes = streams >= chunks ? whole : std::min(whole, streams * (b.in_bytes + b.out_bytes));
  return b;
}

std::vector<std::uint32_t> stream_counts_of(const Job& job, std::uint32_t most) {
  std::vector<std::uint32_t> all;
  for (const std::uint32_t n : stream_counts(most))
    if (n == 1 || has_lines(job, n)) all.push_back(n);
  return all;
}

std::vector<SplitTime> one_chunk_a_stream(const Prediction& p, Order order) {
  std::vector<SplitTime> all;
  for (const StreamTime& one : p.candidates) all.push_back({one.streams, one.streams, order, one.run});
  return all;
}

std::vector<SplitTime> chunks_in_turn(const Job& job, const StreamCosts& costs, std::uint64_t most_bytes,
                                      std::uint32_t max_streams) {
  std::vector<SplitTime> all;
  for (const std::uint32_t streams : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 10u, 12u, 16u, 20u, 24u, 32u, 48u, 64u}) {
    if (streams > max_streams) break;
    const auto fit = [&](std::uint64_t chunks) {
      const Buffers each = one_chunk(job, static_cast<std::uint32_t>(chunks));
      return streams * (each.in_bytes + each.out_bytes) <= most_bytes;
    };
    if (job.items) {
      for (std::uint64_t chunks = 2 * streams; chunks <= std::min(job.items, fine_enough); ++chunks)
        if (has_lines(job, chunks) && fit(chunks))
          all.push_back({static_cast<std::uint32_t>(chunks), streams, Order::depth_first, {}});
      continue;
    }
    // The fewest chunks of which one a stream fits, all streams with as many.
    const std::uint64_t whole = job.in_bytes + job.out_bytes;
    std::uint64_t fewest =
        std::max<std::uint64_t>(1, rounded_up(whole, std::max<std::uint64_t>(most_bytes / streams, 1)));
    while (fewest <= most_chunks && has_lines(job, fewest) && !fit(fewest)) ++fewest;
    std::uint64_t last = 0;
    for (const std::uint64_t percent : {100, 150, 200, 300, 400, 600, 800, 1200, 1600, 2400, 3200}) {
      const std::uint64_t chunks =
          rounded_up(std::max<std::uint64_t>(fewest * percent / 100, 2 * streams), streams) * streams;
      if (chunks == last || chunks > most_chunks || !has_lines(job, chunks)) continue;
      if (percent > 100 && chunks > fine_enough) break;
      last = chunks;
      all.push_back({static_cast<std::uint32_t>(chunks), streams, Order::depth_first, {}});
    }
  }
  in_parallel(all.size(), [&](std::size_t i) {
    all[i].run = simulate_total(job, all[i].chunks, costs, Order::depth_first, all[i].streams);
  });
  return all;
}

const SplitTime& fastest(std::span<const SplitTime> splits) {
  return least_by(splits, [](const SplitTime& s) { return std::pair{s.run.total, s.streams}; });
}

const SplitTime& fewest_streams(std::span<const SplitTime> splits, double slower_by) {
  const Seconds most = (1 + slower_by) * fastest(splits).run.total;
  std::vector<const SplitTime*> enough;
  for (const SplitTime& s : splits)
    if (s.run.total <= most) enough.push_back(&s);
  return **std::ranges::min_element(enough, {}, [](const SplitTime* s) {
    return std::tuple{s->streams, s->run.total, s->chunks};
  });
}

const SplitTime& advised_split(const Job& job, std::span<const SplitTime> splits) {
  const Seconds most = (1 + same_time_tolerance) * fastest(splits).run.total;
  std::vector<const SplitTime*> enough;
  for (const SplitTime& s : splits)
    if (s.run.total <= most) enough.push_back(&s);
  return **std::ranges::min_element(enough, {}, [&](const SplitTime* s) {
    const bool is_round = job.items ? job.items % s->chunks == 0 : std::has_single_bit(s->chunks);
    // A job that gains nothing stays whole.
    return std::tuple{s->chunks > 1, buffers_of(job, s->chunks, s->streams).all_bytes, s->streams, !is_round,
                      s->run.total};
  });
}

std::vector<SplitTime> splits_of(const Job& job, const StreamCosts& costs, Order order, const Prediction& prediction,
                                 std::optional<std::uint64_t> max_memory, std::uint32_t max_streams) {
  const std::uint64_t whole = buffers_of(job, 1, 1).all_bytes, most = std::min(whole, max_memory.value_or(whole));
  std::vector<SplitTime> all;
  if (whole <= most) all = one_chunk_a_stream(prediction, order);
  if (whole == 0) return all;
  const std::vector<SplitTime> in_turn = chunks_in_turn(job, costs, most, max_streams);
  all.insert(all.end(), in_turn.begin(), in_turn.end());
  return all;
}

Advice advise(const Job& job, const MeasuredCosts& measured, Order order, const Forecast& forecast,
              const ModelErrors& errors, std::optional<std::uint64_t> max_memory, std::uint32_t max_streams) {
  const StreamCosts& costs = measured.costs;
  std::vector<SplitTime> all = splits_of(job, costs, order, forecast.prediction, {}, max_streams);
  Advice a;
  a.advised = advised_split(job, all);
  a.max_memory = max_memory;
  a.is_limited = max_memory && buffers_of(job, a.advised.chunks, a.advised.streams).all_bytes > *max_memory;
  if (a.is_limited) {
    all = splits_of(job, costs, order, forecast.prediction, max_memory, max_streams);
    if (all.empty())
      throw Error(
          ErrorKind::usage,
          fmt::format("{} of device memory are too little for a stream with chunks of {} each way",
                      size_text(*max_memory), job.items ? "one item" : fmt::format("one line of {} B", chunk_line)));
    a.advised = advised_split(job, all);
  }
  a.best = fastest(all);
  a.is_capped = a.best.streams > 1 && a.best.streams >= max_streams;
  if (a.is_limited)
    for (const SplitTime& s : all) {
      if (a.in_memory.empty() || a.in_memory.back().streams != s.streams) a.in_memory.push_back(s);
      else if (s.run.total < a.in_memory.back().run.total) a.in_memory.back() = s;
    }
  if (measured.graph && !a.is_limited) {
    std::vector<std::uint32_t> counts;
    for (const StreamTime& one : forecast.prediction.candidates) counts.push_back(one.streams);
    a.graph = advise_graph(job, costs, *measured.graph, order, counts, a.advised);
  }
  const auto unsplit = std::ranges::find(forecast.prediction.candidates, 1u, &StreamTime::streams);
  if (unsplit != forecast.prediction.candidates.end())
    for (const LengthClass& one : errors.classes)
      if (one.workloads && one.has(microseconds(unsplit->run.total))) a.error = one;
  a.error_source = errors.source;
  a.error_in_turn = errors.in_turn;
  return a;
}

std::optional<GraphCosts> graph_costs(const Trace& trace, const std::string& device, const std::string& device_uuid) {
  std::vector<CallSeries> forks;
  for (const CallSeries& series : trace.of<Calls>())
    if (series.question.form == GraphForm::fork && series.device_uuid == device_uuid) forks.push_back(series);
  std::map<std::uint32_t, double> launch, instantiate;
  for (const model::GraphRow& row : model::graph_rows(forks, device)) {
    if (std::isfinite(row.graph_host_us.value)) launch.emplace(row.nodes, row.graph_host_us.value);
    if (std::isfinite(row.instantiate_us.value)) instantiate.emplace(row.nodes, row.instantiate_us.value);
  }
  const auto of_jobs = launches_of_jobs(trace, device, device_uuid);
  if (of_jobs.size() >= 2) return GraphCosts{curve_over_nodes(of_jobs), curve_over_nodes(instantiate), true};
  if (launch.size() < 2) return std::nullopt;
  return GraphCosts{curve_over_nodes(launch), curve_over_nodes(instantiate)};
}

std::uint32_t nodes_of(const Job& job, std::uint32_t chunks) {
  const bool has_kernel = job.kernel.count() > 0 || !job.kernel_of_fraction.empty();
  return chunks * ((job.in_bytes > 0) + has_kernel + (job.out_bytes > 0));
}

StreamCosts as_graph(const StreamCosts& streams, const GraphCosts& graph, const Job& job, std::uint32_t chunks) {
  const double nodes = nodes_of(job, chunks);
  // A line through the two smallest graphs, down to none: what a launch takes without nodes.
  const auto points = graph.launch.points();
  const Seconds slope = (points[1].time - points[0].time) / (points[1].x - points[0].x);
  const Seconds none = std::clamp(points[0].time - points[0].x * slope, Seconds{0}, points[0].time);
  const Seconds all = nodes < points[0].x ? none + nodes * slope : graph.launch(nodes);
  const Seconds node = nodes > 0 ? std::max(Seconds{0}, all - none) / nodes : Seconds{0};
  StreamCosts costs = streams;
  costs.graph_launch = none;
  costs.issue = {node, node, node};
  costs.issue_h2d = costs.issue_kernel = costs.issue_d2h = {};
  costs.stream_create = Seconds{0};
  return costs;
}

GraphAdvice advise_graph(const Job& job, const StreamCosts& streams, const GraphCosts& graph, Order order,
                         std::span<const std::uint32_t> candidates, const SplitTime& advised_streams) {
  std::vector<SplitTime> all;
  for (const std::uint32_t n : candidates)
    all.push_back({n, n, order, simulate_total(job, n, as_graph(streams, graph, job, n), order)});
  GraphAdvice a{fastest(all), fewest_streams(all)};
  if (!graph.instantiate.empty()) a.instantiate = graph.instantiate(nodes_of(job, a.advised.chunks));
  const Seconds saved = advised_streams.run.total - a.advised.run.total;
  a.gain = saved / advised_streams.run.total;
  if (a.gain >= same_time_tolerance && a.instantiate) a.pays_after = std::ceil(*a.instantiate / saved);
  return a;
}

std::vector<GraphComparison> compare_graphs(std::span<const MeasuredWorkload> streams,
                                            std::span<const MeasuredWorkload> graphs, const MeasuredCosts& m) {
  if (!m.graph)
    throw Error(ErrorKind::usage, m.device + ": what graphs cost is not known: npgpu calls --append measures it");
  std::vector<GraphComparison> all;
  for (const MeasuredWorkload& w : streams)
    for (const MeasuredWorkload& g : graphs) {
      JobCase as_streams = g.question;
      as_streams.issue = Issuing::streams;
      if (as_streams != w.question || g.job != w.job || w.question.pool != StreamPool::pooled) continue;
      const Job job = job_of(w, m);
      all.push_back({w, g, microseconds(job.kernel), predicted_us(w, job, m, false), predicted_us(g, job, m, true)});
    }
  return all;
}

}  // namespace npgpu

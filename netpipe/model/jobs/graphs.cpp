#include "npgpu/graphs.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "netpipe/model/calls/calls.hpp"
#include "npgpu/advice.hpp"
#include "npgpu/error.hpp"

namespace npgpu {

namespace {

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

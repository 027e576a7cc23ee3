// What a node charges for streams, as JSON: a twin's spec holds it, and the facts of a device that is such a twin.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "npgpu/model/simulate.hpp"

namespace npgpu {

namespace {

using CostsJson = nlohmann::ordered_json;

// Calls each(name, member) for every member, whether it is written or read.
template <class Costs, class Each> void each_cost(Costs& c, Each each) {
  each("issue_s", c.issue);
  each("issue_h2d_s", c.issue_h2d);
  each("issue_kernel_s", c.issue_kernel);
  each("issue_d2h_s", c.issue_d2h);
  each("submit_s", c.submit);
  each("call_factors", c.call_factors);
  each("graph_launch_s", c.graph_launch);
  each("stream_create_s", c.stream_create);
  each("copy_h2d_s", c.copy_h2d);
  each("copy_d2h_s", c.copy_d2h);
  each("gap_s", c.gap);
  each("latency_s", c.latency);
  each("latency_of_waiting_only", c.latency_of_waiting_only);
  each("duplex_slowdown_h2d", c.duplex_slowdown_h2d);
  each("duplex_slowdown_d2h", c.duplex_slowdown_d2h);
  each("duplex_extra_gap_s", c.duplex_extra_gap);
  each("gap_ahead_of_kernel_s", c.gap_ahead_of_kernel);
  each("gap_behind_kernel_s", c.gap_behind_kernel);
  each("copy_engines", c.copy_engines);
  each("queues", c.queues);
  each("implicit_sync", c.implicit_sync);
  each("serial_copies", c.serial_copies);
  each("compute", c.compute);
}

CostsJson json_of_cost(Seconds t) { return t.count(); }
CostsJson json_of_cost(double x) { return x; }
CostsJson json_of_cost(bool is) { return is; }
CostsJson json_of_cost(int n) { return n; }
CostsJson json_of_cost(const std::vector<double>& all) { return all; }
CostsJson json_of_cost(const Stages& s) { return {s.h2d.count(), s.kernel.count(), s.d2h.count()}; }
CostsJson json_of_cost(const Queues& q) { return {q.h2d, q.kernel, q.d2h}; }
CostsJson json_of_cost(ImplicitSync sync) { return name(sync); }
CostsJson json_of_cost(Compute compute) { return name(compute); }
CostsJson json_of_cost(const Curve& curve) {
  CostsJson all = CostsJson::array();
  for (const Curve::Point& p : curve.points()) all.push_back({p.x, p.time.count()});
  return all;
}

void read_cost(const CostsJson& from, Seconds& t) { t = Seconds{from.get<double>()}; }
void read_cost(const CostsJson& from, double& x) { x = from.get<double>(); }
void read_cost(const CostsJson& from, bool& is) { is = from.get<bool>(); }
void read_cost(const CostsJson& from, int& n) { n = from.get<int>(); }
void read_cost(const CostsJson& from, std::vector<double>& all) { all = from.get<std::vector<double>>(); }
void read_cost(const CostsJson& from, Stages& s) {
  s = {Seconds{from.at(0).get<double>()}, Seconds{from.at(1).get<double>()}, Seconds{from.at(2).get<double>()}};
}
void read_cost(const CostsJson& from, Queues& q) {
  q = {from.at(0).get<std::uint32_t>(), from.at(1).get<std::uint32_t>(), from.at(2).get<std::uint32_t>()};
}
template <class Word> void read_word(const CostsJson& from, Word& word) {
  const auto found = named<Word>(from.get<std::string>());
  if (!found) throw Error(ErrorKind::usage, "one of " + choices<Word>());
  word = *found;
}
void read_cost(const CostsJson& from, ImplicitSync& sync) { read_word(from, sync); }
void read_cost(const CostsJson& from, Compute& compute) { read_word(from, compute); }
void read_cost(const CostsJson& from, Curve& curve) {
  std::vector<Curve::Point> points;
  for (const CostsJson& p : from) points.push_back({p.at(0).get<double>(), Seconds{p.at(1).get<double>()}});
  curve = Curve(std::move(points));
}

}  // namespace

std::string text_of(const StreamCosts& costs) {
  CostsJson all;
  each_cost(costs, [&](const char* key, const auto& cost) { all[key] = json_of_cost(cost); });
  return all.dump();
}

StreamCosts stream_costs_of(std::string_view text) {
  const CostsJson all = CostsJson::parse(text, nullptr, false);
  if (!all.is_object()) throw Error(ErrorKind::usage, "what streams cost is no JSON object");
  StreamCosts costs;
  std::size_t read = 0;
  each_cost(costs, [&](const char* key, auto& cost) {
    const auto found = all.find(key);
    if (found == all.end()) throw Error(ErrorKind::usage, fmt::format("what streams cost: {} is missing", key));
    try {
      read_cost(*found, cost);
      ++read;
    } catch (const std::exception& wrong) {
      throw Error(ErrorKind::usage, fmt::format("what streams cost: {}: {}", key, wrong.what()));
    }
  });
  if (read != all.size()) throw Error(ErrorKind::usage, "what streams cost has a key that nobody knows");
  constexpr std::uint32_t most_queues = 1u << 20;
  if (std::max({costs.queues.h2d, costs.queues.kernel, costs.queues.d2h}) > most_queues)
    throw Error(ErrorKind::usage, "what streams cost: queues: a million at most");
  (void)chunk_times({.in_bytes = 1}, 1, costs);  // refuses what no simulation takes
  return costs;
}

}  // namespace npgpu

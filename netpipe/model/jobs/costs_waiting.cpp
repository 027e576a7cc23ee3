// What operations wait for in other streams: each rule is simulated, and the one nearest to the measured job is taken.
#include <algorithm>
#include <cmath>

#include "netpipe/model/jobs/costs.hpp"

namespace npgpu::model {

namespace {

// A job behind the gate whose kernel takes about as long as its copies, unsplit and in chunks.
struct SplitJob {
  std::optional<JobResult> whole, split;
};

SplitJob split_job(const JobPoints& points, Order order, std::uint64_t bytes_in) {
  SplitJob found;
  for (const JobResult& s : points.find([&](const JobCase&c, const JobShape&j) {
         return c.workload == Workload::compute && c.order == order && c.gating == Gating::gated && j.kernel_bytes &&
                j.bytes_out && j.bytes_in == bytes_in && j.streams == j.chunks && j.bytes_out > MiB &&
                j.kernel_bytes > j.bytes_out;
       }))
    (s.axes.chunks == 1 ? found.whole : found.split) = s;
  return found;
}

}  // namespace

// Adds the number of the rule with which the simulator comes nearest, and returns it; nothing where the trace has no
// such job, or two rules give it times so near to each other that it cannot tell them apart.
std::optional<std::size_t> CostMeasuring::nearest_rule(Cost cost, Order order, std::uint64_t bytes_in,
                                                       const std::vector<StreamCosts>& rules, const std::string& method,
                                                       const std::string& meaning) {
  constexpr double apart = 0.05;  // of the times by two rules
  const auto [whole, split] = split_job(points_, order, bytes_in);
  if (!whole || !split) return std::nullopt;
  // The kernel's time is what the unsplit job takes besides its copies.
  const double kernel = where_reaches(whole->time_us.value, 1e-3, whole->time_us.value,
                                      [&](double us) { return simulated_us(rules.front(), whole->axes, order, us); });
  std::vector<double> off;  // of each rule
  for (const StreamCosts& rule : rules)
    off.push_back(std::log(simulated_us(rule, split->axes, order, kernel) / split->time_us.value));
  const auto distance = [](double x) { return std::abs(x); };
  const auto best = std::ranges::min_element(off, {}, distance);
  const auto number = static_cast<std::size_t>(best - off.begin());
  const auto is_other = [&](double x) { return std::abs(x - *best) >= apart; };
  const auto tells = std::ranges::count_if(off, is_other) + 1 == static_cast<std::ptrdiff_t>(off.size());
  const double value = tells ? static_cast<double>(number) : not_measured;
  CostParameter& p = add(cost, {value, value, value, "1", method}, meaning);
  if (tells) return number;
  p.note = "the job takes as long by two of the rules";
  return std::nullopt;
}

void CostMeasuring::waits_for_other_streams() {
  StreamCosts& costs = out_.costs;
  std::vector<StreamCosts> rules(3, costs_behind_gate());
  for (const ImplicitSync sync : {ImplicitSync::none, ImplicitSync::start, ImplicitSync::end})
    rules[static_cast<std::size_t>(sync)].implicit_sync = sync;
  if (const auto rule = nearest_rule(
          Cost::implicit_sync, Order::breadth_first, 0, rules,
          "four kernels, then four copies out, in a stream each: the rule with which the simulator comes nearest",
          "what a copy out waits for in other streams: 0 nothing, 1 the start of each kernel issued before it, 2 its "
          "end"))
    costs.implicit_sync = static_cast<ImplicitSync>(*rule);
  rules.assign(2, costs_behind_gate());
  rules[1].serial_copies = true;
  if (const auto rule = nearest_rule(
          Cost::serial_copies, Order::depth_first, 32 * MiB, rules,
          "four chunks copied in, computed and copied out, chunk after chunk, in a stream each: the rule with which "
          "the simulator comes nearest",
          "whether a copy waits for those issued before it in other streams: 0 no, 1 yes"))
    costs.serial_copies = *rule == 1;
}

}  // namespace npgpu::model

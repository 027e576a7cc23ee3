// The points of a device's jobs in streams by what they ask, and slopes through them.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "npgpu/model/result.hpp"

namespace npgpu::model {

struct XY {
  double x = 0, y = 0;
};

class JobPoints {
 public:
  void add(const JobSeries&);  // unless its jobs are graphs
  bool empty() const { return all_.empty(); }

  using Wanted = std::function<bool(const JobCase&, const JobShape&)>;
  // Without those with one stream free, or only those: they show who waits for whom, and their times are of no call,
  // copy or kernel.
  std::vector<JobResult> find(const Wanted&, bool last_stream_free = false) const;
  // A number of each job over its chunks; null: its time.
  std::vector<XY> over_chunks(const Wanted&, double JobResult::*y = nullptr) const;
  // Medians of the times of all points that are this job, and of their bounds, in us; nothing if there is none.
  std::optional<Estimate> time(Workload, Order, bool gated, const JobShape&) const;
  // The deciles of what all calls of a job took from trial to trial, over their median: of each job of several chunks
  // that the host issued at once, in enough trials, and that nobody disturbed.
  using Deciles = std::array<double, 9>;
  const std::vector<Deciles>& calls_over_usual() const { return calls_over_usual_; }

 private:
  struct Entry {
    JobCase question;
    JobResult summary;
  };
  std::vector<Entry> all_;
  std::vector<Deciles> calls_over_usual_;
};

// Theil and Sen: the median of the slopes of all pairs with different x, which few wild points do not move. NaN with
// fewer than two x.
double theil_sen_slope(std::span<const XY>);
// With the percentiles of slopes of points drawn from these with replacement (bootstrap, fixed seed): 95 % of them.
// Fewer than 6 points give no interval, and the method says so.
Estimate theil_sen(std::span<const XY>, const std::string& unit, const std::string& method);
// The median of scattered values, and its interval from order statistics; as above with fewer than 6.
Estimate median_of(std::span<const double>, const std::string& unit, const std::string& method);

// Whether chunks of a whole job share the memory of fewer streams, as predict_in_turn() predicts.
bool takes_turns(const JobCase&, const JobShape&);

// Half of an interval, as a weight takes it: 1 % of the value where it is not known (NaN), and 0.1 % at least.
double half_for_weight(double value, double half);

// The x between low and high where a rising f reaches `wanted`: halved until it is known to 1e-12 of the range.
double where_reaches(double wanted, double low, double high, const std::function<double(double)>& f);

}  // namespace npgpu::model

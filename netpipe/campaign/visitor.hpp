// Visits the points of a campaign: opens what measures them, measures, writes, and reports what failed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "netpipe/campaign/condition.hpp"
#include "netpipe/campaign/lost_devices.hpp"
#include "netpipe/campaign/neighbours.hpp"
#include "netpipe/campaign/rank_notes.hpp"
#include "netpipe/campaign/standing.hpp"
#include "netpipe/ranks/hang_watchdog.hpp"
#include "npgpu/consensus.hpp"

namespace npgpu::campaign {

inline bool asks(const std::function<bool()>& whether) { return whether && whether(); }

// Of a running campaign.
struct State {
  // Opens the trace. The plan and the settings outlive it.
  State(const Plan&, const Settings&);

  Seconds begin{0};         // of the campaign, of the steady clock
  std::uint32_t round = 0;  // that visits are of
  ClassDrifts drifts{};     // after the last round
  std::mt19937_64 random;   // of the order of visits
  NeighbourWatch neighbours;
  Conditions conditions;
  RankNotes ranks;
  TraceWriter writer;
  const std::optional<Trace> before;  // that it continues
  LostDevices lost{};
  std::map<std::string, Seconds> busy_until{};  // by device, in the context that it has
};

class Visitor {
 public:
  Visitor(State&, const Settings&, Observer&, CampaignResult&);

  // What is due of this batch in this round; these points of it. For K out of Kinds, as below.
  template <class K> void visit(BatchProgress<K>&);
  template <class K> void visit(BatchProgress<K>&, const std::vector<PlannedPoint<K>*>&);
  // Of the guess of the campaign's time, what one visit takes.
  template <class K> Seconds share(const Batch<K>&, const Step<K>&) const;
  // Something is wrong with a series: nothing more of it is measured, and the rest goes on.
  template <class K> void give_up(SeriesProgress<K>&, const SeriesError& why);
  template <class K> void done(const SeriesProgress<K>&);
  void save();

 private:
  ranks::HangWatchdog make_watchdog();
  template <class K> const SeriesError* lost_among(const std::vector<PlannedPoint<K>*>&) const;
  template <class K>
  void begin(SeriesProgress<K>&, const Batch<K>&, const typename K::Case&, const Schedule&, const Runner<K>*);
  template <class K> void one(SeriesProgress<K>&, const Batch<K>&, PlannedPoint<K>&, Schedule&, Runner<K>&);
  bool has_rested(const DeviceInfo&) const;
  template <class Sample> void number(std::vector<Sample>&);
  template <class K> void fail(const SeriesProgress<K>&, const SeriesError& why);

  State& state_;
  const Settings& settings_;
  Observer& observer_;
  CampaignResult& result_;
  Consensus* with_ = nullptr;  // with whom the batch is measured
  ranks::HangWatchdog watchdog_;
  std::uint64_t trials_ = 0;
};

}  // namespace npgpu::campaign

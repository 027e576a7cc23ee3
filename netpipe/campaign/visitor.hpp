// A visitor of the points of a campaign, and what it keeps of devices, ranks and neighbours meanwhile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "netpipe/campaign/progress.hpp"
#include "netpipe/ranks/world.hpp"
#include "npgpu/measuring/campaign.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu::campaign {

// The condition of devices over a run: what their links were trained to while bytes went over them, and what they
// counted until its end.
class Conditions {
 public:
  explicit Conditions(std::vector<DeviceInfo> devices) : devices_(std::move(devices)) {}

  // Right after a visit that copied so many bytes at a time between the host and this device. Looks at the link, but
  // not after each visit: it is not known how long every driver takes for that.
  void copied(const DeviceInfo&, std::uint64_t bytes);
  // Writes gpu0_after, ... into the trace.
  void note(TraceWriter&) const;

 private:
  struct Seen {
    LinkState link;  // the most
    Seconds at{-1e9};
  };
  std::vector<DeviceInfo> devices_;
  std::map<std::string, Seen> seen_;
};

// Devices that stopped answering during a campaign. They are left alone: each further call may block for seconds in the
// driver, and the other devices are still to be measured.

template <class Case> bool takes_part(const Case& c, const std::string& device) {
  if constexpr (requires { devices_of(c); }) {
    const std::vector<std::string> all = devices_of(c);
    return std::ranges::find(all, device) != all.end();
  } else {
    return device_of(c) == device;
  }
}
template <class Case> bool crosses_devices(const Case& c) {
  if constexpr (std::is_same_v<Case, TransferCase>) return c.direction == Direction::peer;
  else if constexpr (requires { devices_of(c); }) return true;
  else return false;
}
inline bool crosses_link(const TransferCase& c) {
  return c.direction == Direction::h2d || c.direction == Direction::d2h;
}

class LostDevices {
 public:
  // Notes the loss of `device`, or of the one that the failure names; nothing where the failure is no loss.
  void note(const std::string& device, const SeriesError& why) {
    if (why.kind != Failure::lost) return;
    const std::string& id = why.device.empty() ? device : why.device;
    lost_.try_emplace(id, SeriesError{id + " was lost before", Failure::lost, id});
  }
  bool contains(const std::string& device) const { return lost_.contains(device); }
  // The first of them that takes part in all of `what`; null where there is none.
  template <class T, class Question>
  const SeriesError* among(const std::vector<T>& what, const Question& question) const {
    for (const auto& [id, why] : lost_)
      if (std::ranges::all_of(what, [&](const T& one) { return takes_part(question(one), id); })) return &why;
    return nullptr;
  }

 private:
  std::map<std::string, SeriesError> lost_;  // by device
};

// What ranks say of themselves, and what they chose by measuring: a run that is continued does not choose again.

class RankNotes {
 public:
  explicit RankNotes(const RankSession& session) : session_(session) {}
  void note(const std::string& group, TraceWriter& to) const {
    if (!session_.facts) return;
    if (const Facts facts = session_.facts(); !facts.empty()) to.note(group, facts);
  }
  void recall(const Trace& before) const {
    if (session_.recall) session_.recall(facts_of(before.provenance, choices));
  }
  void note_choices(TraceWriter& to) {
    if (!session_.choices) return;
    const Facts facts = session_.choices();
    if (facts.size() != std::exchange(noted_, facts.size())) to.note(choices, facts);
  }

 private:
  static constexpr const char* choices = "ranks_chunks";  // of the trace's provenance

  const RankSession& session_;
  std::size_t noted_ = 0;
};

// Others on the machine: waited for before a run, and watched around its visits.

class NeighbourWatch {
 public:
  // Watches these devices and the host; a simulated device has the neighbours that its spec names.
  explicit NeighbourWatch(const std::vector<DeviceInfo>&);

  // Who is there now: looks for a quarter of a second, again and again until all is quiet, `patience` is over or
  // `interrupted` says so. "" if it became quiet, else what was seen last, as "host: others used ...".
  std::string wait(Seconds patience, const std::function<bool()>& interrupted);

  // Around a visit to a point of this device.
  void begin(const std::string& device, bool is_host_timed);
  Disturbance end();
  // After end(), once for each device: "cuda:0: ..." where some of what others do cannot be seen; else empty.
  std::string cannot_see();

 private:
  std::map<std::string, std::unique_ptr<DeviceWatch>> watches_;
  std::vector<DeviceWatch*> active_;
  std::set<std::string> said_;
};

// A campaign of several ranks asks the others here. Without others, where `with` is null, each answer is this process's
// own.
inline bool any(Consensus* with, bool mine) { return with ? with->any(mine) : mine; }
inline bool of_leader(Consensus* with, bool mine) { return with ? with->of_leader(mine) : mine; }
inline std::string first_failure(Consensus* with, const std::string& mine) {
  return with && with->any(!mine.empty()) ? with->first_failure(mine) : mine;
}
// The causes that any of them saw.
std::uint32_t causes_of_all(Consensus* with, std::uint32_t mine);
// The leader's choice of elements of a list that all have: their places in it.
std::vector<std::size_t> places_of_leader(Consensus& with, const std::vector<std::size_t>& mine);

inline bool asks(const std::function<bool()>& whether) { return whether && whether(); }

// What a running campaign has opened, and what it knows so far.
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

// Visits the points of a campaign: opens what measures them, measures, writes, and reports what failed.
class Visitor {
 public:
  Visitor(State&, const Settings&, Observer&, CampaignResult&);

  // What is due of this batch in this round; these points of it. For K out of Kinds, as below.
  template <class K> void visit(BatchProgress<K>&);
  template <class K> void visit(BatchProgress<K>&, const std::vector<PlannedPoint<K>*>&);
  // What one visit takes of the guess of the campaign's time.
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

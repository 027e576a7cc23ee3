// A campaign runs a plan into a trace: rounds, convergence, neighbours, lost devices and checkpoints. Whatever happens,
// what was measured is saved, and what was not is reported.
//
// Example:
//   npgpu::Plan plan;
//   const npgpu::DeviceInfo gpu = npgpu::devices::find("sim:h200");  // or cuda:0; npgpu/plan.hpp has more
//   const npgpu::Module& module = npgpu::default_module(gpu);
//   const auto copy = npgpu::case_on(std::string(module.name()), gpu.id, npgpu::Direction::h2d);
//   npgpu::add<npgpu::Transfers>(plan, module, gpu,
//                                npgpu::steps_of<npgpu::Transfers>(copy, npgpu::axes_of({npgpu::MiB})));
//   npgpu::Settings settings;
//   settings.output = "copies.h5";
//   const npgpu::CampaignResult result = npgpu::measure(plan, settings);
//   for (const std::string& failure : result.failures) std::cerr << failure << '\n';
//   const npgpu::Trace trace = npgpu::read_trace(settings.output);
//   npgpu::report_text(std::cout, npgpu::TraceResults(trace), {});
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "npgpu/plan.hpp"
#include "npgpu/repetition.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

class Consensus;

struct Tally {
  std::size_t measured = 0;   // points
  std::size_t kept = 0;       // points that a resumed trace already had
  std::size_t disturbed = 0;  // points whose figures rest on disturbed visits
  std::uint32_t causes = 0;   // of all of them
  std::set<std::string> disturbers{};

  void operator+=(const Tally&);
};

struct CampaignResult : Tally {
  std::vector<std::string> failures{};      // a sentence each
  std::size_t reported_by_other_ranks = 0;  // failures
  bool stopped = false;                     // by Settings::stop, or because a rank is lost
  bool rank_lost = false;
  Seconds wall{0};
};

// Watches a campaign while it runs.
class Observer {
 public:
  struct Point {
    std::string title;                // of its case
    std::string_view kind;            // transfers
    std::size_t series = 0, row = 0;  // where it is in the trace
    std::string text;                 // "64 KiB 21.4 GB/s ±0.3 %"
    Seconds expected{0};              // its share of the expected time
  };
  struct SeriesEnd {
    std::string title;
    Tally tally;
    Seconds wall{0};  // of its visits; of a soak's at least the length of its slices
    bool given_up = false;
  };

  virtual ~Observer() = default;
  virtual void begin(const Plan&, Seconds expected) { (void)expected; }
  virtual void note(const std::string& sentence) { (void)sentence; }
  virtual void point(const Point&) {}
  virtual void skipped(Seconds expected) { (void)expected; }  // a point that the trace has, or that was given up
  virtual void series_done(const SeriesEnd&) {}
  virtual void failed(const std::string& sentence) { (void)sentence; }
  virtual void round_done(std::uint32_t round, std::uint32_t rounds) { (void)round, (void)rounds; }
  virtual void saved() {}  // all that was reported so far is on disk
};

using PointNames = std::set<std::pair<std::string, std::string>>;  // titles of case and axes

// A campaign of several ranks, each a process that runs the same plan.
struct RankSession {
  Consensus* everyone = nullptr;     // outlives the campaign; null: there is one rank only
  std::function<Facts()> facts{};    // of the ranks, for the trace; called by all at its beginning and end
  std::function<Facts()> choices{};  // what they chose by measuring so far, for the trace, and back from one that is
  std::function<void(const Facts&)> recall{};  // continued
  std::function<std::uint64_t()> heard{};      // how many messages of others have come so far
  Seconds patience{60};                        // without a message, or a trial: another rank hangs
  std::string output{};                        // the name that each rank's trace has its own from
  // Ends the process from another thread while a trial does not end; `save` saves the trace, which then says why. Does
  // not return.
  std::function<void(bool stopped, const std::function<void(const std::string& why)>& save)> leave{};
};

// Processes that measure one GPU each, all at once.
class GpuProcesses {
 public:
  struct Part {
    std::string device, trace;
    Seconds begun{0};    // its first point, of the steady clock
    std::string failed;  // how it ended before its time; empty: it did not
    bool stopped = false;
  };
  virtual ~GpuProcesses() = default;
  // Returns when the processes of these devices have ended, in the order of `devices`. When `stop` returns true they
  // are asked to save what they have, and end. Throws Error if one cannot be started.
  virtual std::vector<Part> run(const std::vector<std::string>& devices, const std::function<bool()>& stop) = 0;
};

struct Settings {
  std::string output;  // the trace's path
  std::string plan;    // what was asked for, in one line; a trace is resumed only with the same
  std::string argv;    // the command line, for the trace
  IfExists if_exists = IfExists::refuse;
  Repetitions repetitions = default_repetitions();
  std::uint64_t seed = 1;  // of the order in which points are visited
  // So many rounds go by in one context of each device, where the plan allows new ones; 0: all of them.
  std::uint32_t rounds_per_context = 1;
  Seconds patience{0};         // how long neighbours are waited for before the run
  bool require_quiet = false;  // throws Error(busy) if neighbours are still there
  bool side_by_side = false;   // several GPUs at once, each by one of `processes`
  std::shared_ptr<GpuProcesses> processes{};
  // Of what such a process measured: the points that are doubtful because others were measured meanwhile. Their visits
  // are marked so.
  std::function<PointNames(const Trace&)> doubtful{};
  // Rounds from this one, and before that one: where a trace is continued with more visits to its points, whatever
  // their budget.
  std::uint32_t first_round = 0, end_round = UINT32_MAX;
  bool is_second_look() const { return first_round > 0; }
  std::function<bool()> stop{};  // asked between trials: true ends the campaign, with its trace saved
  std::function<bool()> save{};  // asked between trials: true saves the trace now
  // Of one of several processes that measure GPUs at once: returns when no other of them copies with the host's
  // processors, and none does while its result lives. Two such copies at once slow each other.
  std::function<std::shared_ptr<void>()> host_turn{};
  std::function<void()> ready{};  // called before the first point, when all is prepared
  RankSession ranks{};

  template <class K> const Repetition& repetition() const { return std::get<RepetitionOf<K>>(repetitions); }
  template <class K> Repetition& repetition() { return std::get<RepetitionOf<K>>(repetitions); }
  std::uint32_t rounds() const;      // the most of any kind
  std::uint32_t max_visits() const;  // to a point of any kind
};

// Measures the plan, and writes the trace at `settings.output`. Throws Error if the trace cannot be written; what
// cannot be measured is in the result's failures and in the trace.
CampaignResult measure(const Plan&, const Settings&, Observer&);
CampaignResult measure(const Plan&, const Settings&);  // nobody watches

// A guess of the whole campaign's time.
Seconds guess(const Plan&, const Settings&);

}  // namespace npgpu

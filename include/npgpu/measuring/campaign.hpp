// Campaigns: how often points are visited, how many trials a visit has and when a point has converged; the plan of what
// is measured; the run of a plan into a trace; and the measurement of a function of your own.
//
// Example:
//   npgpu::Settings settings;
//   npgpu::Repetition& copies = settings.repetition<npgpu::Transfers>();
//   copies.rounds = 6;
//   copies.adaptive.tolerance = 0.02;
//   copies.adaptive.budget = npgpu::Seconds{0.1};
//   std::cout << copies.schedule()->text() << ", at most " << copies.max_visits() << " visits to a point\n";
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "npgpu/measuring/runner.hpp"
#include "npgpu/model/result.hpp"
#include "npgpu/vocabulary/call.hpp"
#include "npgpu/vocabulary/trace.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

// How the points of a kind are repeated.
struct Repetition {
  bool is_classic = false;
  ClassicOptions classic;
  AdaptiveOptions adaptive;
  std::uint32_t rounds = 1;  // in which every point is visited

  // A visit shares the point's budget with the others, and needs fewer trials than a point that is visited once.
  static constexpr std::uint32_t usual_rounds = 6;  // the least from which ranks give an interval

  // Points that take more than `much_more` times their budget get only `min_visits` visits. An example are walks
  // through memory far beyond the caches.
  static constexpr double much_more = 2;
  static constexpr std::uint32_t min_visits = 3;

  // The same with adaptive trials of at least this length, and the time for four of them in each visit.
  Repetition with_trials_from(Seconds min_trial) const;

  // Adaptive points that did not converge in these rounds get as many visits again, within their budget, if more visits
  // narrow their interval.
  std::uint32_t max_visits() const { return is_classic || rounds == 1 ? rounds : 2 * rounds; }

  // The state of a point after some visits.
  struct Standing {
    Stop stop = Stop::not_converged;
    bool visits_narrow_it = true;
  };
  // Whether a point with this standing, which took so long in all, is visited in this round.
  bool wants_visit(std::uint32_t round, const Standing& so_far, Seconds spent) const;
  // The standing of a point after these visits. `last`: how the last one ended. The drift is that of the point's class.
  // A point has converged when its published interval, drift included, is within the tolerance. More visits narrow the
  // scatter from visit to visit, and not what all points of a class share.
  Standing standing(Stop last, const ByVisit& each_us, const DriftByTime&) const;
  std::unique_ptr<Schedule> schedule() const {
    return is_classic ? classic_schedule(classic) : adaptive_schedule(adaptive);
  }
};

template <class K> struct RepetitionOf : Repetition {};
using Repetitions = Kinds::Tuple<RepetitionOf>;

// The defaults of the program.
Repetitions default_repetitions();

// What a campaign measures, decided and checked before it begins: steps of all kinds, and what was left out and why.
//
// Example:
//   npgpu::Plan plan;
//   const npgpu::DeviceInfo gpu = npgpu::devices::find("sim:h200");  // or cuda:0
//   const npgpu::Module& module = npgpu::default_module(gpu);
//   const auto copy = npgpu::case_on(std::string(module.name()), gpu.id, npgpu::Direction::h2d);
//   npgpu::add<npgpu::Transfers>(plan, module, gpu,
//                                npgpu::steps_of<npgpu::Transfers>(copy, npgpu::axes_of({npgpu::MiB})));
//   std::cout << plan.points() << " point\n";

// Steps that share a runner, in the order in which they run.
template <class K> struct Batch {
  const Backend<K>* backend = nullptr;  // outlives the plan
  DeviceInfo device;
  std::vector<Step<K>> steps;
  MemoryNeed need;
  Seconds min_trial{0};                    // no trial is shorter, but those that the classic schedule makes
  std::vector<DeviceInfo> more_devices{};  // others that have steps in it, too

  const DeviceInfo& device_for(const typename K::Case& question) const {
    for (const DeviceInfo& one : more_devices)
      if (one.id == device_of(question)) return one;
    return device;
  }

  std::set<typename K::Case> cases() const {
    std::set<typename K::Case> all;
    for (const Step<K>& step : steps) all.insert(step.question);
    return all;
  }
};
template <class K> using Batches = std::vector<Batch<K>>;

struct Plan {
  Kinds::Tuple<Batches> batches;
  std::vector<std::string> left_out;  // a sentence each

  template <class K> Batches<K>& of() { return std::get<Batches<K>>(batches); }
  template <class K> const Batches<K>& of() const { return std::get<Batches<K>>(batches); }
  std::vector<DeviceInfo> devices() const;  // each once, in order
  bool allows_context_reset() const;        // all of its backends do
  bool is_of_node() const;                  // so many copies between GPUs that their titles say little to a person
  std::size_t points() const;
  std::size_t cases() const;
};

// Adds a batch of these steps to the plan. Steps that the backend refuses are left out, each reason named once in
// `left_out`; all are left out if they need more memory than is free. For K out of Kinds.
template <class K>
void add(Plan&, const Backend<K>&, const DeviceInfo&, const std::vector<Step<K>>&, Seconds min_trial = Seconds{0});
// One case over all these axes.
template <class K>
std::vector<Step<K>> steps_of(const typename K::Case& question, const std::vector<typename K::Axes>& axes) {
  std::vector<Step<K>> steps;
  for (const auto& one : axes) steps.push_back({question, one});
  return steps;
}
std::vector<TransferSize> axes_of(const std::vector<std::uint64_t>& sizes);  // bytes
// "transfer sim:h200 ...", the title of its case; of several cases the kind and the device.
template <class K> std::string title_of(const Batch<K>&);

// The backends of a kind that reach devices of this kind (cuda, host, sim).
template <class B>
std::vector<const B*> reaching(const std::vector<std::unique_ptr<B>>& all, std::string_view device_kind) {
  std::vector<const B*> some;
  for (const auto& one : all)
    if (one->device_kind() == device_kind) some.push_back(one.get());
  return some;
}
// The module that moves a device's bytes when the user names none. Throws Error(nothing) if this build has none.
const Module& default_module(const DeviceInfo& device, Executor executor = Executor::copy_engine);

// A campaign runs a plan into a trace: rounds, convergence, neighbours, lost devices and checkpoints. Whatever happens,
// what was measured is saved, and what was not is reported.
//
// Example:
//   npgpu::Plan plan;
//   const npgpu::DeviceInfo gpu = npgpu::devices::find("sim:h200");  // or cuda:0
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

// What a visit takes of the host that visits of other processes need, too.
enum class HostShare {
  processors,  // it copies with the host's processors: two such copies at once slow each other
  both_ways,   // a GPU copies both ways at once: where two did, those to the GPUs fell from 48 to 30 GB/s on an H200's
               // host
  one_way,     // a GPU copies one way, beside which others may do the same
};

struct Settings {
  std::string output;  // the trace's path
  std::string plan;    // what was asked for, in one line; a trace is resumed only with the same
  std::string argv;    // the command line, for the trace
  IfExists if_exists = IfExists::refuse;
  Repetitions repetitions = default_repetitions();
  std::uint64_t seed = 1;  // of the order in which points are visited
  // So many rounds go by in one context of each device, where the plan allows new ones; 0: all of them, in the context
  // that is there.
  std::uint32_t rounds_per_context = 1;
  Seconds patience{0};         // how long neighbours are waited for before the run
  bool require_quiet = false;  // throws Error(busy) if neighbours are still there
  bool side_by_side = false;   // several GPUs at once, each by one of `processes`
  std::shared_ptr<GpuProcesses> processes{};
  // Names the points of such a process that are doubtful because others were measured meanwhile. Their visits are
  // marked so.
  std::function<PointNames(const Trace&)> doubtful{};
  // Rounds from this one, and before that one: where a trace is continued with more visits to its points, whatever
  // their budget.
  std::uint32_t first_round = 0, end_round = UINT32_MAX;
  bool is_second_look() const { return first_round > 0; }
  std::function<bool()> stop{};  // asked between trials: true ends the campaign, with its trace saved
  std::function<bool()> save{};  // asked between trials: true saves the trace now
  // Set where several processes measure GPUs at once: returns when no other of them does what would slow this visit,
  // and none does while its result lives.
  std::function<std::shared_ptr<void>(HostShare)> host_turn{};
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

// A function of your own, measured as npgpu measures its own: in rounds, on a quiet core, with what neighbours
// disturbed marked, and with 95 % intervals.
//
// Example:
//   std::vector<double> x;
//   npgpu::Function scale{.name = "scale", .sizes = {1 << 16}};
//   scale.prepare = [&](std::uint64_t bytes) { x.assign(bytes / sizeof(double), 1); };
//   scale.call = [&] { for (double& one : x) one *= 1.5; };
//   npgpu::Settings settings;
//   settings.output = "scale.h5";
//   std::cout << npgpu::measure({scale}, settings).measured << " points\n";
//
// For a kernel, say of which device it is and how its work is waited for; with its stream, the device times it, too:
//   scale.device = "cuda:0";
//   scale.call = [=] { scale_kernel<<<blocks, threads, 0, stream>>>(x, n); };
//   scale.wait = [=] { cudaStreamSynchronize(stream); };
//   scale.stream = stream;
//
// The trace is one of calls: `npgpu report scale.h5`, `npgpu compare`, and npgpu.load() of the Python package read it.

struct Function {
  std::string name;             // letters, digits, "-", "_" and "."
  std::string device = "host";  // whose neighbours are watched, and whose clocks are recorded: host, cuda:0
  // One call. It may return before its work is done; then `wait` returns when the work of all calls is done.
  std::function<void()> call{};
  std::function<void()> wait{};
  // Called before each visit to a size, at least once, not timed: what `call` works on. REQUIRES: memory that `call`
  // uses lives as long as the campaign; a function's device is never reset between rounds.
  std::function<void(std::uint64_t size)> prepare{};
  // Called after each visit, not timed: a sentence about what is wrong with the results, or nothing.
  std::function<std::optional<std::string>()> check{};
  std::vector<std::uint64_t> sizes{0};  // bytes; 0: it has no size
  // The cudaStream_t that `call` enqueues into: its work is then also timed by the device, behind a gate, without what
  // launches cost. REQUIRES: `call` enqueues at most `operations` operations and does not wait for the device.
  std::optional<void*> stream{};
  std::uint32_t operations = 1;
};

// Measures these functions, each alone (one call, then the wait) and back to back (many calls, then one wait), and
// those with a stream gated. Throws Error: usage for a name, a device or a function that is missing; and as measure().
CampaignResult measure(const std::vector<Function>&, const Settings&, Observer&);
CampaignResult measure(const std::vector<Function>&, const Settings&);

}  // namespace npgpu

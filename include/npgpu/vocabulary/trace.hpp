// The trace on disk. data/TRACE_FORMAT.md is the contract; this is the only way to it from C++.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   std::cout << trace.root.hostname << ", " << trace.root.start_time_utc << '\n';
//   for (const npgpu::TransferSeries& series : trace.of<npgpu::Transfers>())
//     std::cout << title(series.question) << ": " << series.visits.size() << " visits\n";
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "npgpu/vocabulary/call.hpp"
#include "npgpu/vocabulary/collective.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/job.hpp"
#include "npgpu/vocabulary/load.hpp"
#include "npgpu/vocabulary/partition.hpp"
#include "npgpu/vocabulary/pieces.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/record.hpp"
#include "npgpu/vocabulary/transfer.hpp"

namespace npgpu {

// ---- all kinds of measurement --------------------------------------------------------------------------------------
//
// A new kind is a header like npgpu/vocabulary/transfer.hpp, and a word in this list.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   npgpu::for_each_kind([&]<class K>() {
//     std::size_t visits = 0;
//     for (const npgpu::Series<K>& series : trace.of<K>()) visits += series.visits.size();
//     std::cout << K::name << ": " << trace.of<K>().size() << " series, " << visits << " visits\n";
//   });
template <class... Ks> struct List {
  // A tuple with one Of<K> for each.
  template <template <class> class Of> using Tuple = std::tuple<Of<Ks>...>;
  static constexpr std::array<std::string_view, sizeof...(Ks)> names{Ks::name...};
};

using Kinds = List<Transfers, Probes, Jobs, Calls, Partitions, Energies, Soaks, Pieces, Collectives,
                   Records>;  // in the order in which they are measured and reported

// Calls visit.operator()<K>() for every kind.
template <class Visit, class... Ks> constexpr void for_each_kind(Visit&& visit, List<Ks...>) {
  (visit.template operator()<Ks>(), ...);
}
template <class Visit> constexpr void for_each_kind(Visit&& visit) { for_each_kind(visit, Kinds{}); }
template <class Of, class... Ks> constexpr auto tuple_of_kinds(Of of, List<Ks...>) {
  return std::tuple{of.template operator()<Ks>()...};
}

// ---- the trace -----------------------------------------------------------------------------------------------------

struct TraceRoot {
  std::string run_uuid;
  std::string tool_version;
  std::string git_commit;
  std::string argv;
  std::string start_time_utc;  // 2026-11-21T06:19:25Z
  std::string hostname;
  std::string plan;        // what the run is to measure, in any words; --resume compares it
  std::uint64_t seed = 0;  // of the order in which the rounds visited the points
  bool complete = false;   // the run reached its end
};
template <>
inline constexpr auto fields_of<TraceRoot> = fields(
    field("run_uuid", &TraceRoot::run_uuid), field("tool_version", &TraceRoot::tool_version),
    field("git_commit", &TraceRoot::git_commit), field("argv", &TraceRoot::argv), field("plan", &TraceRoot::plan),
    field("seed", &TraceRoot::seed), field("start_time_utc", &TraceRoot::start_time_utc),
    field("hostname", &TraceRoot::hostname));  // and `complete`, which a resumed run's has not

// Group name under /provenance (build, host, gpu0, slurm, environment) and its attributes.
using Provenance = std::vector<std::pair<std::string, Facts>>;
// The facts of one of its groups; none if it has no such group.
inline Facts facts_of(const Provenance& provenance, std::string_view group) {
  for (const auto& [name, facts] : provenance)
    if (name == group) return facts;
  return {};
}

template <class K> using AllSeries = std::vector<Series<K>>;

struct Trace {
  int version_major = 3;
  int version_minor = 5;
  TraceRoot root;
  Provenance provenance;
  Kinds::Tuple<AllSeries> series;
  // Values that cannot be, a text each: "gpu0: multiprocessors of -1". They are not in the trace; see set_doubts().
  std::vector<std::string> doubts;

  template <class K> std::vector<Series<K>>& of() & { return std::get<AllSeries<K>>(series); }
  template <class K> const std::vector<Series<K>>& of() const& { return std::get<AllSeries<K>>(series); }
  // A trace that nobody keeps gives the series themselves: for (const auto& one : read_trace(path).of<Calls>()) is
  // safe.
  template <class K> std::vector<Series<K>> of() && { return std::get<AllSeries<K>>(std::move(series)); }
};

// For programs that use HDF5 through this header only: HDF5 does not clean up at exit, because that crashes after a
// damaged file was read. REQUIRES: nothing else of this header was called before.
void skip_hdf5_cleanup_at_exit();

// HDF5 itself can crash or hang on a damaged file. Where a forked child reads it, such a file is an Error, too,
// and this process does not suffer from what HDF5 did to its memory. What this process wrote itself needs none.
enum class Guard { none, child };

// Reads a whole trace. FILE:N, where there is no file of that name, is run N of a merged file. Throws Error(usage)
// naming the file: missing, empty, truncated, not HDF5, not an npgpu trace, of another major version, with a damaged
// table, or merged of several runs of which none was named. Ignores unknown columns, attributes and groups.
Trace read_trace(const std::filesystem::path&, Guard = Guard::none);

// The same, and all runs of a merged file where none was named; never empty. With headers only, series have neither
// visits nor samples, and nothing is known of their tables: enough to list runs.
enum class Depth { whole, headers };
std::vector<Trace> read_runs(const std::filesystem::path&, Guard = Guard::none, Depth = Depth::whole);

// Writes all runs of these files, traces and merged files, into one merged file, in this order. Each keeps everything
// that its trace holds.
struct MergeOptions {
  bool replace = false;     // a file that exists
  bool incomplete = false;  // take runs that did not reach their end, too
};
// Throws Error(usage) with a line for each file that is refused: as read_trace() does, not complete, or a run that is
// among the others already; and as TraceWriter does where the merged file cannot be written. Then nothing is written.
void merge_traces(const std::filesystem::path& merged, std::span<const std::filesystem::path> traces,
                  const TraceRoot& by, MergeOptions = {});

// One file of many: what `digest` made of it, or why it could not be read, in one sentence without the file's name.
struct ReadDigest {
  std::string bytes, error;
};
// Reads traces in child processes, because HDF5 is not made for threads. `digest` is called there, with the trace and
// the bytes of its file, and what it returns is sent back. The result is in the order of the paths. A file on which
// HDF5 crashes or hangs costs its process, and another one goes on. `done`: called with the number of files so far.
// Throws Error(failed) if no process can be made.
using Digest = std::function<std::string(const Trace&, std::span<const std::byte>)>;
std::vector<ReadDigest> read_many(std::span<const std::filesystem::path>, const Digest& digest, unsigned processes,
                                  const std::function<void(std::size_t)>& done = {});

enum class IfExists {
  refuse,
  replace,
  resume,  // continue it, with the same plan on the same host
  append,  // add another plan of the same host
};

// Writes a trace that is complete and readable at every instant: each checkpoint replaces the file by an atomic rename.
// Holds a lock (<path>.lock) as long as it lives. Throws Error naming the file.
class TraceWriter {
 public:
  // Takes the lock, tries the folder, and refuses or loads an existing file at once; creates or replaces `path` at the
  // first checkpoint. A resumed or appended trace keeps its run_uuid and start time, and holds `provenance` as
  // resume_1, resume_2, ...; it is refused if it is of another host, or (resume) was begun with another plan.
  TraceWriter(std::filesystem::path path, IfExists, const TraceRoot&, const Provenance&, Guard = Guard::none);
  ~TraceWriter();  // does not save; never throws
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // The trace that this one continues, as it was read under the lock; once. Nothing where it continues none.
  std::optional<Trace> take_continued();

  // Starts a series with this header, or finds the one with the same question, schedule and device if the trace was
  // resumed. Returns its index among its kind. Throws Error(usage) if what the resumed trace holds of that device is
  // another device's, or simulated where this is real. For K out of Kinds, as below.
  template <class K> std::size_t begin(const Series<K>& header);
  // REQUIRES, for these four: begin() of the same kind returned the index.
  template <class K> bool has(std::size_t index, const typename K::Axes&, std::uint32_t round) const;  // that visit
  template <class K> std::vector<typename K::Axes> axes(std::size_t index) const;  // of all points that it holds
  // add() sets the indices of the samples and of the visit.
  template <class K> void add(std::size_t index, const Visit<K>&, std::span<const typename K::Sample>);
  template <class K> void set_error(std::size_t index, const SeriesError&);
  // A group of this run's provenance: what is known only at its end. Replaces one of that name.
  void note(const std::string& group, const Facts&);

  // Saves if what is unsaved is worth its cost: at most 1 % of the run's wall time for saving, at most a few seconds
  // unsaved. Returns true if everything added so far is now on disk.
  bool checkpoint_if_due();
  void checkpoint();  // saves now
  void finish();      // marks the trace complete and saves it compressed; the last call
  Seconds time_saving() const;
  std::uint64_t checkpoints() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace npgpu

// What is a template for each kind, declared in a header and defined in this file: NPGPU_FOR_KINDS(&measure<K>).
#define NPGPU_FOR_KINDS(...)                                                                        \
  namespace {                                                                                       \
  [[maybe_unused, gnu::used]] const auto NPGPU_JOINED(__COUNTER__) =                                \
      ::npgpu::tuple_of_kinds([]<class K>() { return std::tuple{__VA_ARGS__}; }, ::npgpu::Kinds{}); \
  }

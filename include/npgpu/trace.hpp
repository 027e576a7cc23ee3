// The trace on disk. data/TRACE_FORMAT.md is the contract; this is the only way to it from C++.
// No HDF5 type appears here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "npgpu/device.hpp"
#include "npgpu/overlap.hpp"
#include "npgpu/probe.hpp"
#include "npgpu/sample.hpp"

namespace npgpu {

struct TraceRoot {
  std::string run_uuid;
  std::string tool_version;
  std::string git_commit;
  std::string argv;
  std::string start_time_utc;  // 2026-11-21T06:19:25Z
  std::string hostname;
  bool complete = false;       // the run reached its end
};

// Group name under /provenance (build, host, gpu0, slurm, environment) and its attributes.
using Provenance = std::vector<std::pair<std::string, Facts>>;

struct Trace {
  int version_major = 1;
  int version_minor = 0;
  TraceRoot root;
  Provenance provenance;
  std::vector<Sweep> sweeps;
  std::vector<ProbeSweep> probes;
  std::vector<OverlapSweep> streams;
};

// Reads a whole trace. Throws Error(usage) naming the file: missing, empty, truncated, not HDF5, not
// an npgpu trace, of a newer major version, or with a damaged table. Ignores unknown columns,
// attributes and groups.
Trace read_trace(const std::filesystem::path&);

enum class IfExists { refuse, replace, resume };

// Writes a trace that is complete and readable at every instant: each checkpoint replaces the file
// by an atomic rename. Holds a lock (<path>.lock) as long as it lives. Throws Error naming the file.
class TraceWriter {
 public:
  // Nothing is created at `path` before the first checkpoint, but the lock is taken, an existing file
  // refused, replaced at the first checkpoint, or loaded (resume), and the folder tried, at once.
  // With IfExists::resume and no file there, it starts a new one; the loaded root's run_uuid and
  // start time stay, and `provenance` given now is kept beside as resume_1, resume_2, ...
  TraceWriter(std::filesystem::path path, IfExists, const TraceRoot&, const Provenance&);
  ~TraceWriter();  // does not save; never throws
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // Starts a sweep with this header (its points and samples must be empty), or finds the one with the
  // same question and schedule if the trace was resumed. Returns its index.
  std::size_t begin_sweep(const Sweep& header);
  // True if that sweep already holds a point of this size.
  bool has_point(std::size_t sweep, std::uint64_t bytes) const;
  // The samples' and the point's indices are set here.
  void add_point(std::size_t sweep, Point, std::span<const Sample>);
  void set_sweep_error(std::size_t sweep, const std::string& why);

  // The same for a probe and its shapes.
  std::size_t begin_probe(const ProbeSweep& header);
  bool has_shape(std::size_t probe, const Shape&) const;
  void add_shape(std::size_t probe, ProbePoint, std::span<const ProbeSample>);
  void set_probe_error(std::size_t probe, const std::string& why);

  // The same for a case of jobs in streams.
  std::size_t begin_streams(const OverlapSweep& header);
  bool has_job(std::size_t streams, const JobShape&) const;
  // Jobs that the case holds already.
  std::vector<JobShape> jobs(std::size_t streams) const;
  void add_job(std::size_t streams, OverlapPoint, std::span<const OverlapSample>);
  void set_streams_error(std::size_t streams, const std::string& why);

  // Saves if what is unsaved is worth its cost: never more than 1 % of the run's wall time for saving,
  // never more than a few seconds unsaved. Returns true if everything added so far is now on disk.
  bool checkpoint_if_due();
  void checkpoint();                 // saves now
  void finish();                     // marks the trace complete and saves

  // What saving has cost so far.
  Seconds time_saving() const;
  std::uint64_t checkpoints() const;

 private:
  template <class S>
  std::size_t begin(const S& header);
  template <class S>
  void set_error(std::size_t index, const std::string& why);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace npgpu

// A trace being written, in memory: the HDF5 side of the writer. It knows no files, locks or clocks.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "netpipe/trace/image.hpp"
#include "netpipe/trace/tables.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::trace {

// Throws Flaw. After one, the document may hold half of a change, and sound() is false.
class Document {
 public:
  // A new trace without sweeps.
  Document(const TraceRoot&, const Provenance&);
  // Continues `loaded`, whose bytes these are: not complete any more, with the new root and provenance beside the old
  // as resume_1, resume_2, ...
  Document(std::span<const std::byte>, const Trace& loaded, const TraceRoot&, const Provenance&);

  std::size_t begin_sweep(const Sweep& header);
  bool has_point(std::size_t sweep, std::uint64_t bytes) const;
  void add_point(std::size_t sweep, Point, std::span<const Sample>);
  void set_error(std::size_t sweep, const std::string& why);
  void set_complete(bool);

  std::uint64_t bytes() const { return image_size(file_); }
  void take_image(Bytes& to) { trace::take_image(file_, to); }
  bool sound() const { return sound_; }

 private:
  struct SweepState {
    Sweep header;                   // without points and samples
    std::set<std::uint64_t> sizes;  // of its points
    bool begun = false;             // by this run, not only by the one that is continued
  };
  struct OpenSweep {
    std::size_t index;
    Handle group;
    Table<Point> points;
    Table<Sample> samples;
  };
  OpenSweep& open(std::size_t sweep);
  const SweepState& state(std::size_t sweep) const;
  template <class Change>
  void change(Change);

  Handle file_;
  std::vector<SweepState> sweeps_;
  std::optional<OpenSweep> open_;  // the last one used: a run goes sweep by sweep
  bool sound_ = true;
};

}  // namespace npgpu::trace

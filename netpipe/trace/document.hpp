// A trace being written, in memory: the HDF5 side of the writer. It knows no files, locks or clocks.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "netpipe/trace/image.hpp"
#include "netpipe/trace/series.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::trace {

// Throws FormatError. After one, the document may hold half of a change, and sound() is false.
class Document {
 public:
  // A new trace that holds no measurement.
  Document(const TraceRoot&, const Provenance&);
  // Continues `loaded`, whose bytes these are: not complete any more, with the new root and provenance beside the old
  // as resume_1, resume_2, ...
  Document(std::span<const std::byte>, const Trace& loaded, const TraceRoot&, const Provenance&);

  // For S out of TransferSeries, ProbeSeries and JobSeries.
  template <class S>
  std::size_t begin(const S& header);
  template <class S>
  bool has(std::size_t index, const typename KindOf<S>::Key&) const;
  template <class S>
  const std::set<typename KindOf<S>::Key>& keys(std::size_t index) const;
  template <class S>
  void add(std::size_t index, const typename KindOf<S>::Row&, std::span<const typename KindOf<S>::SampleRow>);
  template <class S>
  void set_error(std::size_t index, const std::string& why);
  void set_complete(bool);

  std::uint64_t bytes() const { return image_size(file_); }
  void take_image(Bytes& to) { trace::take_image(file_, to); }
  bool sound() const { return sound_; }

 private:
  template <class S>
  auto& series() {
    if constexpr (std::is_same_v<S, TransferSeries>)
      return sweeps_;
    else if constexpr (std::is_same_v<S, ProbeSeries>)
      return probes_;
    else
      return streams_;
  }
  template <class Change>
  void change(Change);

  Handle file_;
  Series<TransferSeries> sweeps_;
  Series<ProbeSeries> probes_;
  Series<JobSeries> streams_;
  bool sound_ = true;
};

}  // namespace npgpu::trace

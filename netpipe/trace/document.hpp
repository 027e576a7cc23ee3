// A trace in memory while it is written.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "netpipe/trace/hdf5.hpp"
#include "netpipe/trace/series.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::trace {

// Throws FormatError. After one, the document may hold half of a change, and sound() is false.
class Document {
 public:
  // A new trace that holds no measurement.
  Document(const TraceRoot&, const Provenance&);
  // Continues `loaded`, whose bytes these are: not complete any more, with the new root and provenance after the old
  // as resume_1, resume_2, ... Everything is copied into a new file, so that nothing is appended to a damaged one.
  Document(std::span<const std::byte>, const Trace& loaded, const TraceRoot&, const Provenance&);

  template <class K> std::size_t begin(const Series<K>& header) {
    std::size_t index = 0;
    change([&] { index = series<K>().begin(file_, header); });
    return index;
  }
  template <class K> const auto& visits(std::size_t index) const {
    return std::get<SeriesWriter<K>>(series_).visits(index);
  }
  template <class K> void add(std::size_t index, const Visit<K>& visit, std::span<const typename K::Sample> samples) {
    // What readers would refuse: the document stays sound without it.
    try {
      check_row(visit, visit.axes);
      for (const auto& sample : samples) check_row(sample, sample);
    } catch (const FormatError& flaw) {
      throw FormatError(std::string("a visit that was to be added ") + flaw.what());
    }
    visits<K>(index);
    change([&] { series<K>().add(file_, index, visit, samples); });
  }
  template <class K> void set_error(std::size_t index, const SeriesError& error) {
    visits<K>(index);
    change([&] { series<K>().set_error(file_, index, error); });
  }
  void note(const std::string& name, const Facts& facts) {
    change([&] {
      if (has_link(of_run_, name)) done(H5Ldelete(of_run_, name.c_str(), H5P_DEFAULT), "replace '" + name + "'");
      put(create_group(of_run_, name), facts);
    });
  }
  void set_complete(bool complete) {
    change([&] { trace::change(file_, "complete", complete); });
  }

  std::uint64_t bytes() const { return image_size(file_); }
  void take_image(Bytes& to, Packing) const;
  bool sound() const { return sound_; }

 private:
  template <class K> SeriesWriter<K>& series() { return std::get<SeriesWriter<K>>(series_); }
  template <class Change> void change(Change body) {
    sound_ = false;
    body();
    sound_ = true;
  }

  Handle file_;
  Handle of_run_;  // group of this run's provenance
  Kinds::Tuple<SeriesWriter> series_;
  bool sound_ = true;
};

// A file with the same in it, whose groups, tables and texts HDF5 wrote itself.
Bytes written_anew(std::span<const std::byte>);

}  // namespace npgpu::trace

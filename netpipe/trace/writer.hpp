// A trace in memory while it is written, and when to save it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "netpipe/trace/hdf5.hpp"
#include "netpipe/trace/series.hpp"
#include "npgpu/vocabulary/trace.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::trace {

// When to save. Fed with numbers; it never sees a clock or a file.
//
// Saving costs at most `share` of the wall time since the start, as long as that leaves nothing unsaved for longer than
// `patience`. The first addition is always worth a save. Where one save takes so long that patience would cost more
// than `max_share` of the wall time (a save of 1 s every 5 s), patience grows until it costs no more than that.
//
// Times are on any one monotonic clock. `bytes` is what a save would write.
class CheckpointPolicy {
 public:
  struct Limits {
    double share = 0.008;  // leaves room for the last save and for slow ones: below 1 % in all
    Seconds patience{5};
    double max_share = 0.1;
  };
  explicit CheckpointPolicy(Seconds start) : CheckpointPolicy(start, Limits()) {}
  CheckpointPolicy(Seconds start, Limits limits) : limits_(limits), start_(start), last_added_(start) {}

  void added(Seconds now) {
    gap_ = now - last_added_;
    last_added_ = now;
    if (!unsaved_) oldest_unsaved_ = now;
    unsaved_ = true;
  }
  bool unsaved() const { return unsaved_; }
  bool due(Seconds now, std::uint64_t bytes) const {
    if (!unsaved_) return false;
    if (saves_ == 0) return true;
    const Seconds cost = expected(bytes);
    const Seconds patience = std::max(limits_.patience, cost / limits_.max_share);
    if (now - oldest_unsaved_ + gap_ >= patience) return true;
    return spent_ + cost <= limits_.share * (now - start_);
  }
  // A save of `bytes` that took `cost` has just ended, with all that was added. (Not called for one that failed.)
  void saved(Seconds cost, std::uint64_t bytes) {
    constexpr double weight = 0.3;  // of the latest: one slow fsync is soon forgotten, a slower disk soon noticed
    usual_cost_ = saves_ == 0 ? cost : (1 - weight) * expected(bytes) + weight * cost;
    usual_bytes_ = bytes;
    spent_ += cost;
    ++saves_;
    unsaved_ = false;
  }

  // What a save of so many bytes will probably cost: as lately, and in proportion where the file has grown.
  Seconds expected(std::uint64_t bytes) const {
    if (usual_bytes_ == 0 || bytes <= usual_bytes_) return usual_cost_;
    return usual_cost_ * (static_cast<double>(bytes) / static_cast<double>(usual_bytes_));
  }
  Seconds spent() const { return spent_; }
  std::uint64_t saves() const { return saves_; }

 private:
  Limits limits_;
  Seconds start_;
  Seconds last_added_;
  Seconds gap_{0};  // between the last two additions: the next may come as late
  Seconds oldest_unsaved_{0};
  bool unsaved_ = false;
  Seconds spent_{0};
  Seconds usual_cost_{0};  // smoothed, of a save of usual_bytes_
  std::uint64_t usual_bytes_ = 0;
  std::uint64_t saves_ = 0;
};

// A trace in memory while it is written. Throws FormatError. After one, the document may hold half of a change, and
// sound() is false.
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

}  // namespace npgpu::trace

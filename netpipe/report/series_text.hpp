// The parts that text reports are made of.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "netpipe/report/document.hpp"
#include "netpipe/report/format.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/device.hpp"

namespace npgpu {

// "h2d"; "d2d back" where a duplex has one direction twice; "h2d cuda:1" where lanes of several devices have it.
std::string lane_name(const TransferCase&, std::uint32_t lane);
std::vector<std::uint32_t> measured_lanes(const TransferCase&);
std::vector<TransferResult> of_lane(std::vector<TransferResult>, std::uint32_t lane);

// Marks of a point behind its numbers, and the notes that explain them below a table:
//   !  no usable result    *  unsteady    d  disturbed
class Marks {
 public:
  template <class K> std::string take(const Point<K>& point, bool unsteady, bool usable = true) {
    for (const VisitInfo* visit : point.visits) void_trials_ += visit->void_trials;
    disturbers_.merge(disturbers_of(point));
    return take(unsteady, point.disturbed(), usable);
  }
  // `what`: "sizes", "shapes". `folded`: unsteady ones that have no row. `above`: half widths that are unsteady.
  void notes(Document&, const std::string& what, double above, std::size_t folded = 0) const;

 private:
  std::string take(bool unsteady, std::uint32_t causes, bool usable);

  std::size_t points_ = 0, unusable_ = 0, unsteady_ = 0, disturbed_ = 0, void_trials_ = 0;
  std::uint32_t causes_ = 0;
  std::set<std::string> disturbers_;
};

// Title, device, limit, binding, schedule, clocks, and why it stopped; false if there is no point to go on with.
template <class K> bool heading(Document&, const Series<K>&);

// Kinds with a table of their own; the template serves all others.
void series_text(Document&, const TransferSeries&, bool every_size);
void series_text(Document&, const ProbeSeries&, bool);
void series_text(Document&, const JobSeries&, bool);
template <class K> void series_text(Document&, const Series<K>&, bool);  // in series_text.cpp

// What a report has of a kind in place of a table for each series. The file that words it ends with a
// const Joined<KindReport>.
struct KindReport {
  std::string_view kind{};
  void (*text)(Document&, const TraceResults&) = nullptr;
  bool is_study = false;                                            // what all of its series came to stands for them
  std::vector<Section> (*sections)(const TraceResults&) = nullptr;  // of a screen

  std::string_view rank() const { return kind; }
};

// A row for each load of one device.
Table soak_table(const SoakDevice&);

// What a trace is about where it is not about one device's figures: collectives, energies, soaks, copies of pieces, the
// partition method.
Document studies_document(const TraceResults&);
// A table for each series of the other kinds, where they are few points and the overview has no figure of them:
// products of matrices, managed memory, flags.
Document lone_series_document(const TraceResults&, const Overview&);
// What a screen has of studies.
std::vector<Section> study_sections(const TraceResults&);
// What a table or picture of all says once, of every operation (" (fp32)", or nothing), and what each operation is and
// differs by ("all-reduce, in graphs").
struct OperationNames {
  std::string all;
  std::vector<std::string> each;
};
OperationNames operation_names(const CollectiveStudy&);

// Where the trace was taken, and what the plan left out.
void facts_text(Document&, const TraceResults&, std::size_t series_in_trace);
// A curve in words with numbers: "  best  ..." down to "  fit  ...". What the points do not carry is said with its
// reason. `copies`: how many copies of a size one operation makes. `queued`: times are from copy to copy.
void curve_text(Document&, std::span<const TransferResult> one_lane, std::size_t copies, bool queued);
// How the devices are built and what streams cost on them.
Document parameters_document(const std::vector<DeviceParameters>&, Detail);
Table roof_table(const Roofline&);
Document messages_document(std::span<const StagedMessages>);
Document partition_document(const TraceResults&);
// As matrix_text() and matrix_findings_text() have them; rows that would be wider than `width` get fewer digits.
Document matrix_document(const NodeMatrix&, std::size_t width);
Document matrix_findings_document(const MatrixVerdict&);

}  // namespace npgpu

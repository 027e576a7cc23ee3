#include "netpipe/report/json.hpp"

#include <algorithm>
#include <cmath>

#include "netpipe/model/calls/calls.hpp"
#include "netpipe/model/probes/probe_rates.hpp"
#include "netpipe/model/transfers/perturbed_sizes.hpp"
#include "netpipe/report/foreign.hpp"
#include "netpipe/report/series_text.hpp"
#include "npgpu/model/derive.hpp"
#include "npgpu/model/result.hpp"

namespace npgpu {

// ---- points of each kind --------------------------------------------------------------------------------------------

// What every result says: the fields of its point, and what it rests on.
template <class K>
inline constexpr auto head_of_result =
    members<Result<K>, in_place<&Result<K>::axes>, &Result<K>::trials, &Result<K>::stop, known<&Result<K>::disturbed>>;
template <class K>
inline constexpr auto form<Result<K>> =
    members<Result<K>, &head_of_result<K>, &Result<K>::time_us, called<"rate_per_s", &Result<K>::rate>>;
NPGPU_FORM(JobResult, &head_of_result<Jobs>, &T::time_us, &T::issue_us, &T::create_us, &T::destroy_us, &T::speed_up);
NPGPU_FORM(CallResult, &head_of_result<Calls>, &T::host_us, &T::done_us, &T::slowed);
NPGPU_FORM(EnergyResult, &head_of_result<Energies>, &T::power_w, &T::read_power_w, called<"rate_per_s", &T::rate>,
           &T::clock_mhz, &T::temperature_c);
NPGPU_FORM(SoakResult, &head_of_result<Soaks>, called<"busy_us", within<&T::time_us, &Estimate::value>>,
           called<"rate_per_s", within<&T::rate, &Estimate::value>>);
NPGPU_FORM(PieceResult, &head_of_result<Pieces>, &T::time_us, &T::host_us, called<"rate_per_s", &T::rate>);
NPGPU_FORM(RecordResult, &head_of_result<Records>, &T::time_us, called<"rate_per_s", &T::rate>, &T::total_us);
// What the library chose; null for what it did not say.
struct Chosen : CollectiveResult {};
template <auto At, const auto& words>
inline constexpr auto word_of = [](const Chosen& chosen) {
  const auto at = static_cast<std::size_t>(chosen.*At);
  return chosen.*At >= 0 && at < words.size() ? std::optional(std::string_view(words[at])) : std::nullopt;
};
NPGPU_FORM(Chosen, called<"algorithm", word_of<&T::algorithm, collective_algorithms>>,
           called<"protocol", word_of<&T::protocol, collective_protocols>>,
           called<"channels", known<[](const T& r) { return std::max(r.channels, 0); }>>,
           called<"path", word_of<&T::path, collective_paths>>);
NPGPU_FORM(CollectiveResult, &head_of_result<Collectives>, &T::time_us, called<"algorithm_bytes_per_s", &T::rate>,
           called<"bus_bytes_per_s", &T::bus_rate>, &T::host_us, &T::lanes_us,
           called<"chosen", [](const T& r) { return Chosen{r}; }>, called<"error", known<&T::why>>);

struct LanePoint : TransferResult {
  bool perturbed = false;  // a neighbour of the size that was asked for
};
NPGPU_FORM(LanePoint, within<&T::axes, &Transfers::Axes::bytes>, &T::lane, &T::trials, &T::stop, known<&T::disturbed>,
           &T::time_us, &T::min_us, &T::max_us, &T::mean_us, called<"rate_bytes_per_s", &T::rate>, &T::percent_of_limit,
           &T::perturbed);
NPGPU_FORM(CurveFit, called<"best_rate_bytes_per_s", &T::best_rate>, known<&T::best_bytes>,
           called<"smallest_sizes_us", &T::small_us>, called<"half_rate_bytes", &T::half_bytes>, &T::knee_bytes,
           called<"fit_latency_us", &T::latency_us>, called<"fit_rate_bytes_per_s", &T::rate>,
           called<"fit_worst_residual", &T::worst_residual>, &T::notes);
struct LaneCurve {
  std::uint32_t lane = 0;
  std::string name{};
  CurveFit curve{};
  std::vector<LanePoint> points{};
};
NPGPU_FORM(LaneCurve, &T::lane, &T::name, &T::curve, &T::points);

NPGPU_FORM(LawPoint, &T::passes, called<"times_by_law", &T::law>, called<"times", &T::measured>, &T::verdict);
NPGPU_FORM(Law, &T::rule, &T::counts);
NPGPU_FORM(RateClass, called<"least_divisor", &T::least>, called<"largest_divisor", &T::most>, &T::sizes, &T::relative,
           called<"rate_per_s", &T::rate>);
struct ProbedPoint {
  Shape shape{};
  std::uint32_t trials = 0;
  Stop stop = Stop::trials;
  std::string disturbed{};
  ProbeResult result{};
  std::optional<LawPoint> law{};
};
NPGPU_FORM(ProbedPoint, in_place<&T::shape>, &T::trials, &T::stop, known<&T::disturbed>,
           called<"rate_per_s", within<&T::result, &ProbeResult::rate>>,
           called<"rate_per_cycle", within<&T::result, &ProbeResult::cycle_rate>>,
           within<&T::result, &ProbeResult::clock_mhz>, within<&T::result, &ProbeResult::doubts>, &T::law);

namespace {

LaneCurve lane_curve(const std::vector<TransferResult>& points, std::uint32_t lane, const std::string& name) {
  std::vector<std::uint64_t> sizes;
  for (const TransferResult& p : points) sizes.push_back(p.axes.bytes);
  const PerturbedSizes perturbed = perturbed_sizes_of(sizes);
  LaneCurve curve{lane, name, fit_curve(points)};
  for (const TransferResult& p : points) curve.points.push_back({p, perturbed.folds(p.axes.bytes)});
  return curve;
}
std::vector<LaneCurve> lanes_of(const TransferSeries& series) {
  std::vector<LaneCurve> all;
  const auto points = results(series);
  for (const std::uint32_t lane : measured_lanes(series.question))
    all.push_back(lane_curve(of_lane(points, lane), lane, lane_name(series.question, lane)));
  return all;
}
std::optional<LaneCurve> together_of(const TransferSeries& series) {
  const std::size_t lanes = measured_lanes(series.question).size();
  if (lanes < 2) return std::nullopt;
  return lane_curve(results_of_all_lanes(series), 0, lanes == 2 ? "both" : "all");
}

std::vector<ProbedPoint> probed_points(const ProbeSeries& series) {
  const std::optional<Law> law = law_of(series);
  const std::vector<ProbeResult> rates = model::rates_of(series);
  std::vector<ProbedPoint> all;
  for (const ProbePoint& point : points_of(series)) {
    ProbedPoint& one = all.emplace_back(
        ProbedPoint{point.axes, trials_of(series, point), point.stop(), disturbance_of(point), {}, {}});
    const auto found = std::ranges::find(rates, point.axes, &ProbeResult::axes);
    if (found != rates.end()) one.result = *found;
    if (!law) continue;
    for (const LawPoint& p : law->points)
      if (p.shape == point.axes) one.law = p;
  }
  return all;
}
std::optional<std::vector<RateClass>> rate_classes_of(const ProbeSeries& series) {
  const std::optional<RateClasses> classes = classes_of(series);
  return classes ? std::optional(classes->classes) : std::nullopt;
}

}  // namespace

// ---- series ---------------------------------------------------------------------------------------------------------

// All of a series but points and samples: title, case, and the fields of SeriesInfo and of its context. An error that
// is none is null.
template <class K>
inline constexpr auto head_of_series =
    members<Series<K>, called<"title", [](const Series<K>& s) { return std::string(title(s.question)); }>,
            called<"case", &Series<K>::question>, in_place<base<SeriesInfo>>, in_place<base<typename K::Context>>,
            called<"error", known<&SeriesInfo::error>>>;
template <class K>
inline constexpr auto form<Series<K>> =
    members<Series<K>, &head_of_series<K>, called<"points", [](const Series<K>& s) { return results(s); }>>;
NPGPU_FORM(TransferSeries, &head_of_series<Transfers>, called<"lanes", &lanes_of>, called<"together", &together_of>);
NPGPU_FORM(ProbeSeries, &head_of_series<Probes>, called<"law", &law_of>, called<"classes", &rate_classes_of>,
           called<"points", &probed_points>);

// ---- what is derived from all series --------------------------------------------------------------------------------

NPGPU_FORM(EnergyFigure, within<&T::question, &EnergyCase::device>, &T::device_name, &T::simulated,
           called<"work", [](const T& f) { return work_text(f.question); }>,
           called<"counts",
                  [](const T& f) -> std::string {
                    if (is_idle(f.question.work)) return "rest";
                    return counts_operations(f.question.work) ? "operations" : "bytes";
                  }>,
           &T::counts_energy, within<&T::full, &EnergyResult::power_w>, within<&T::full, &EnergyResult::read_power_w>,
           called<"rate_per_s", within<&T::full, &EnergyResult::rate>>, &T::each_pj, &T::half_over_line,
           within<&T::full, &EnergyResult::clock_mhz>, called<"clock_lowered", &T::is_clock_lowered>,
           called<"at_power_limit", &T::is_at_power_limit>, within<&T::full, &EnergyResult::temperature_c>,
           known<within<&T::full, &EnergyResult::disturbed>>, called<"error", known<&T::why>>);

struct EstimateWithUnit : Estimate {};
NPGPU_FORM(EstimateWithUnit, in_place<base<Estimate>>, &T::unit);
NPGPU_FORM(Parameter, &T::name, called<"estimate", [](const T& p) { return EstimateWithUnit{p.estimate}; }>,
           &T::meaning, &T::reference, &T::reference_source, &T::verdict, known<&T::note>);
NPGPU_FORM(DeviceParameters, &T::device, &T::device_name, &T::simulated, &T::parameters, &T::missing);

NPGPU_FORM(MatrixCell, &T::source, &T::target, &T::access, &T::bytes, &T::value, &T::doubtful);
NPGPU_FORM(MatrixFinding, &T::devices, &T::text);
NPGPU_FORM(NodeFinding, in_place<base<HealthFinding>>, &T::devices);
NPGPU_FORM(NumaCell, &T::host_node, &T::direction, &T::bytes, called<"rate_bytes_per_s", &T::rate>, &T::doubtful);
NPGPU_FORM(NumaCost, &T::host_node, &T::direction, &T::share, &T::is_slower);
template <auto At>
inline constexpr auto node_or_null =
    [](const NumaGpu& gpu) { return gpu.*At < 0 ? std::optional<int>() : std::optional<int>(gpu.*At); };
NPGPU_FORM(NumaGpu, &T::id, called<"system_node", node_or_null<&T::system_node>>,
           called<"fastest_node", node_or_null<&T::fastest_node>>, &T::cells, &T::costs);
NPGPU_FORM(NumaMatrix, &T::host_nodes, &T::gpus, &T::costs, &T::wrong);
NPGPU_FORM(NodeMatrix::Device, &T::id, &T::name, &T::simulated);
NPGPU_FORM(LanesTogether, &T::name, &T::executor, &T::access, &T::bytes, &T::sum, &T::fairness, &T::doubtful,
           &T::lanes);
struct JudgedCell {
  MatrixCell cell{};
  CellVerdict known{};
};
NPGPU_FORM(JudgedCell, in_place<&T::cell>, within<&T::known, &CellVerdict::limit>,
           within<&T::known, &CellVerdict::verdict>);
struct JudgedMatrix : RateMatrix {
  std::vector<JudgedCell> judged{};
  std::string unit() const { return is_latency() ? "us" : "bytes per second"; }
};
NPGPU_FORM(JudgedMatrix, &T::executor, &T::access, &T::both_ways, &T::pattern, &T::unit, called<"cells", &T::judged>);
struct JudgedNode : NodeMatrix {
  MatrixVerdict found{};
  std::vector<JudgedMatrix> judged() const {
    std::vector<JudgedMatrix> all;
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      JudgedMatrix& one = all.emplace_back(JudgedMatrix{matrices[i], {}});
      for (const MatrixCell& cell : matrices[i].cells) {
        const CellVerdict* const known = found.of(i, &cell, *this);
        one.judged.push_back({cell, known ? *known : CellVerdict{}});
      }
    }
    return all;
  }
};
NPGPU_FORM(JudgedNode, within<&T::found, &MatrixVerdict::verdict>, &T::devices, &T::links, &T::is_sampled,
           called<"matrices", &T::judged>, &T::together, &T::numa, within<&T::found, &MatrixVerdict::findings>);

NPGPU_FORM(Drift, &T::time_class, &T::points, &T::by_round,
           called<"in_intervals", within<&T::drift, &DriftByTime::share>>,
           called<"run_to_run", [](const T& drift) { return run_to_run(drift.time_class).share; }>);

// ---- documents ------------------------------------------------------------------------------------------------------

namespace {

// A list of each kind's series.
template <class... Ks> constexpr auto series_of_all(List<Ks...>) {
  return std::array{JsonMember{
      Ks::name, [](const void* row) { return form_of(static_cast<const TraceResults*>(row)->trace.of<Ks>()); },
      &json_type<std::vector<Series<Ks>>>}...};
}
constexpr auto all_series = series_of_all(Kinds{});
std::optional<JudgedNode> judged_node(const TraceResults& of) {
  return of.matrix.devices.empty() ? std::nullopt : std::optional(JudgedNode{of.matrix, of.verdict});
}
// A table as an object of columns.
template <class Row> Json columns(const std::vector<Row>& rows) {
  Json json = Json::object();
  const Row none{};
  visit_fields(none, [&](const FieldInfo& f, const auto&) { json[std::string(f.name)] = Json::array(); });
  for (const Row& row : rows)
    visit_fields(row,
                 [&](const FieldInfo& f, const auto& value) { json[std::string(f.name)].push_back(json_of(value)); });
  return json;
}

}  // namespace

using Results = TraceResults;
NPGPU_FORM(Results, called<"run", [](const T& of) { return of.trace.root; }>,
           called<"provenance", [](const T& of) { return of.trace.provenance; }>,
           called<"key_figures", [](const T& of) { return key_figures(health_of(of.trace)); }>, &all_series,
           called<"drift", &T::drifts>, called<"busy_sibling", &T::sibling>, called<"energy_figures", &T::energies>,
           called<"rooflines", [](const T& of) { return each_as<RooflineReport>(of.rooflines); }>,
           called<"soak_figures", [](const T& of) { return each_as<SlicedSoak>(of.soaks); }>,
           called<"piece_tables", &T::pieces>, &T::derived, called<"matrix", &judged_node>,
           called<"collective_studies", &T::collectives>, called<"partition_studies", &T::partitions>,
           called<"staged_messages", &T::messages>);

// Summaries of every series. Estimates have their 95 % intervals; times are of one operation, one way.
void report_json(std::ostream& out, const TraceResults& of) { write_document(out, "npgpu-report", 3, of); }

// The whole trace, nothing derived. Names and units are those of data/TRACE_FORMAT.md; a table is an object of columns.
//
//   { "document": "npgpu-trace", "version": "3.0", "run": {...}, "provenance": {...},
//     "transfers", "probes", "jobs": [ { header as in npgpu-report, "visits": { "bytes": [...], ... },
//                                        "samples": { "visit": [...], ... } } ] }
void export_json(std::ostream& out, const Trace& trace) {
  Json json({entry("document", "npgpu-trace"),
             entry("version", std::to_string(trace.version_major) + '.' + std::to_string(trace.version_minor)),
             entry("run", trace.root), entry("provenance", trace.provenance)});
  for_each_kind([&]<class K>() {
    json[std::string(K::name)] = array_of(trace.of<K>(), [](const Series<K>& series) {
      Json one = object_of(head_of_series<K>, &series);
      one["visits"] = columns(series.visits);
      one["samples"] = columns(series.samples);
      return one;
    });
  });
  write_json(out, json, -1);
}

void parameters_json(std::ostream& out, const std::vector<DeviceParameters>& devices) {
  write_document(out, "npgpu-parameters", 1, Listed<"devices", DeviceParameters>{devices});
}

// ---- parts ----------------------------------------------------------------------------------------------------------

Json json_of(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json json_of(const std::vector<Lane>& lanes) { return lanes_text(lanes); }

Json json_of(const Provenance& provenance) {
  Json groups = Json::object();
  for (const auto& [group, facts] : provenance) {
    Json& all = groups[group] = Json::object();
    for (const auto& [fact, value] : facts) all[fact] = std::visit([](const auto& v) { return json_of(v); }, value);
  }
  return groups;
}

void add_member(Json& object, std::string_view name, Json member) {
  if (!name.empty()) object[std::string(name)] = std::move(member);
  else if (!member.is_null()) object.update(member);
}

Json object_of(std::span<const JsonMember> members, const void* row) {
  Json object = Json::object();
  for (const JsonMember& member : members) add_member(object, member.name, member.json(row));
  return object;
}

void write_document(std::ostream& out, std::string_view name, int version, const JsonType& type,
                    Json (*form)(const void*), const void* of, int indent) {
  if (takes_types) return takes_types(name, version, type);
  Json json{{"document", name}, {"version", version}};
  json.update(form(of));
  write_json(out, json, indent);
}

void write_json(std::ostream& out, const Json& json, int indent) {
  out << json_text(json.dump(indent, ' ', false, Json::error_handler_t::replace)) << '\n';
}

}  // namespace npgpu

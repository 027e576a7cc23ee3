// predict --json and simulate --json. With limited memory `advised` is the best that fits, and `best` what would be
// best without the limit. A simulation's times are from the first stream's creation.
#include "netpipe/report/json.hpp"

namespace npgpu {

NPGPU_FORM(Job, &T::in_bytes, &T::out_bytes, us<"kernel_us", &T::kernel>, &T::blocks, &T::slots);
struct BestStreams : Forecast {};
NPGPU_FORM(BestStreams, within<&T::prediction, &Prediction::streams>, &T::fewest, &T::most,
           called<"time_us", within<&T::time_us, &Estimate::value>>,
           called<"low_us", within<&T::time_us, &Estimate::low>>,
           called<"high_us", within<&T::time_us, &Estimate::high>>, within<&T::prediction, &Prediction::speed_up>,
           within<&T::prediction, &Prediction::bound>,
           us<"bound_time_us", within<&T::prediction, &Prediction::bound_time>>);
struct SplitOf {
  SplitTime split{};
  Buffers buffers{};
};
NPGPU_FORM(SplitOf, within<&T::split, &SplitTime::streams>, within<&T::split, &SplitTime::chunks>,
           within<&T::split, &SplitTime::order>,
           us<"time_us", within<within<&T::split, &SplitTime::run>, &StreamRun::total>>,
           called<"chunk_in_bytes", within<&T::buffers, &Buffers::in_bytes>>,
           called<"chunk_out_bytes", within<&T::buffers, &Buffers::out_bytes>>,
           called<"device_bytes", within<&T::buffers, &Buffers::all_bytes>>);
NPGPU_FORM(
    GraphAdvice, called<"chains", within<&T::advised, &SplitTime::streams>>,
    us<"time_us", within<within<&T::advised, &SplitTime::run>, &StreamRun::total>>, &T::gain,
    called<"instantiate_us", [](const T& g) { return g.instantiate ? microseconds(*g.instantiate) : not_measured; }>,
    &T::pays_after);
struct KnownError {
  std::string source{};
  LengthClass of{};
};
NPGPU_FORM(KnownError, &T::source, within<&T::of, &LengthClass::from_us>, within<&T::of, &LengthClass::to_us>,
           within<&T::of, &LengthClass::workloads>, within<within<&T::of, &LengthClass::error>, &Spread::median>,
           within<within<&T::of, &LengthClass::error>, &Spread::p95>,
           within<within<&T::of, &LengthClass::error>, &Spread::most>);
struct CandidateTime {
  std::uint32_t streams = 1;
  Estimate us{};
};
NPGPU_FORM(CandidateTime, &T::streams, called<"time_us", within<&T::us, &Estimate::value>>,
           called<"low_us", within<&T::us, &Estimate::low>>, called<"high_us", within<&T::us, &Estimate::high>>);

namespace {

SplitOf split_of(const ForecastReport& of, const SplitTime& s) {
  return {s, s.streams ? buffers_of(of.job, s.chunks, s.streams) : Buffers{}};
}
SplitOf advised(const ForecastReport& of) { return split_of(of, of.advice.advised); }
std::optional<SplitOf> lean(const ForecastReport& of) {
  return of.advice.lean ? std::optional(split_of(of, *of.advice.lean)) : std::nullopt;
}
std::optional<KnownError> known_error(const ForecastReport& of) {
  return of.advice.error ? std::optional(KnownError{of.advice.error_source, *of.advice.error}) : std::nullopt;
}
std::vector<CandidateTime> candidates(const ForecastReport& of) {
  std::vector<CandidateTime> all;
  for (const StreamTime& one : of.forecast.prediction.candidates)
    all.push_back({one.streams, of.forecast.candidates_us[all.size()]});
  return all;
}

}  // namespace

NPGPU_FORM(ForecastReport, in_place<[](const T& of) -> const MeasuredCosts& { return *of.costs; }>, &T::job, &T::order,
           called<"best", [](const T& of) { return BestStreams{of.forecast}; }>, called<"advised", &advised>,
           called<"lean", &lean>, within<&T::advice, &Advice::graph>,
           called<"max_memory_bytes", within<&T::advice, &Advice::max_memory>>, called<"error", &known_error>,
           &T::notes, called<"candidates", &candidates>);

void forecast_json(std::ostream& out, const ForecastReport& of) { write_document(out, "npgpu-prediction", 1, of); }

NPGPU_FORM(Busy, us<"host", &T::host>, us<"copy_in", &T::copy_in>, us<"copy_out", &T::copy_out>,
           us<"compute", &T::compute>);
NPGPU_FORM(StreamTime, &T::streams, us<"time_us", within<&T::run, &StreamRun::total>>);
NPGPU_FORM(Prediction, &T::streams, us<"time_us", &T::time>, &T::speed_up, &T::bound,
           us<"bound_time_us", &T::bound_time>);
NPGPU_FORM(TimelineEntry, &T::stage, &T::chunk, &T::queue, &T::server, us<"start_us", &T::start>,
           us<"end_us", &T::end>);
NPGPU_FORM(Simulation, &T::node, called<"simulated", [](const T&) { return true; }>, &T::job, &T::order, &T::streams,
           called<"chunks", [](const T& s) { return std::max(s.chunks, s.streams); }>,
           us<"total_us", within<within<&T::timeline, &Timeline::run>, &StreamRun::total>>,
           called<"busy_us", within<within<&T::timeline, &Timeline::run>, &StreamRun::busy>>,
           called<"best", &T::prediction>, within<&T::prediction, &Prediction::candidates>,
           called<"timeline", within<&T::timeline, &Timeline::entries>>);

void simulation_json(std::ostream& out, const Simulation& s) { write_document(out, "npgpu-simulation", 1, s); }

}  // namespace npgpu

// A prediction with its advice, as a person reads it.
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "netpipe/report/document.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/kernel_text.hpp"

namespace npgpu {

std::string split_text(const Job& job, std::uint32_t chunks, std::uint32_t streams) {
  const std::uint64_t bytes = buffers_of(job, chunks, streams).all_bytes;
  const std::string memory = bytes ? ", " + about_size_text(static_cast<double>(bytes)) : "";
  if (chunks == 1) return "one stream, not split" + memory;
  return fmt::format("{} in {}{}", counted(chunks, "chunk"), counted(streams, "stream"), memory);
}

std::string split_time_text(const Job& job, std::uint32_t chunks, std::uint32_t streams, double us, double whole_us) {
  std::string text = fmt::format("{}: {}", split_text(job, chunks, streams), short_time_text(us));
  if (chunks > 1 && std::isfinite(whole_us))
    text += fmt::format(" instead of {} ({} times)", short_time_text(whole_us), digits_text(whole_us / us, 2));
  return text;
}

namespace {

std::string time_between(const Estimate& us) {
  return fmt::format("{} ({} .. {})", time_text(us.value), time_text(us.low), time_text(us.high));
}

// Powers of two and the neighbours of the best show the minimum; of items few numbers keep them whole.
bool is_shown(const ForecastReport& of, std::uint32_t n) {
  const std::uint32_t best = of.forecast.prediction.streams;
  return of.job.items || std::has_single_bit(n) || (n + 1 >= best && n <= best + 1);
}

std::string total_text(const SplitTime& s) { return time_text(microseconds(s.run.total)); }

std::string chunk_text(const Job& job, const Buffers& b) {
  if (!job.in_bytes) return about_size_text(static_cast<double>(b.out_bytes)) + " out";
  const std::string in = about_size_text(static_cast<double>(b.in_bytes)) + " in";
  return job.out_bytes ? in + " and " + about_size_text(static_cast<double>(b.out_bytes)) + " out" : in;
}
std::string buffers_text(const Buffers& b) { return about_size_text(static_cast<double>(b.all_bytes)); }

double unsplit_us(const ForecastReport& of) {
  const auto& all = of.forecast.prediction.candidates;
  return all.empty() || all.front().streams != 1 ? not_measured : of.forecast.candidates_us.front().value;
}

// The answer: what to do, how long it takes, what that gains, and how far off such answers were.
std::string answer_text(const ForecastReport& of) {
  const SplitTime& a = of.advice.advised;
  std::string text = split_time_text(of.job, a.chunks, a.streams, microseconds(a.run.total), unsplit_us(of));
  if (a.chunks == 1) text += "; splitting gains less than 1 %";
  if (const auto& error = of.advice.error_of_form())
    text += fmt::format(", +-{:.0f} %", std::ceil(100 * error->error.p95));
  return text;
}

void items_line(Document& doc, const ForecastReport& of) {
  const std::uint64_t items = of.job.items, chunks = of.advice.advised.chunks, each = (items + chunks - 1) / chunks;
  doc.labelled("items", fmt::format("{}, none of them cut: {} of {}{}", items, counted(chunks, "chunk"),
                                    counted(each, "item"), items % chunks ? ", the last one with one less" : ""));
}

void form_lines(Document& doc, const ForecastReport& of) {
  const SplitTime &a = of.advice.advised, &best = of.advice.best;
  const Buffers b = buffers_of(of.job, a.chunks, a.streams);
  if (of.job.items) items_line(doc, of);
  const std::string turns = of.advice.in_turn() ? ": the chunks of a stream take turns in its buffers" : "";
  doc.labelled("buffers", fmt::format("{}, each for {}{}", counted(a.streams, "stream"), chunk_text(of.job, b),
                                      a.chunks == 1 ? "" : fmt::format("; {}{}", name(a.order), turns)));
  if (of.advice.is_limited)
    doc.labelled("memory", fmt::format("at most {}, as --max-memory says; the whole job takes {}",
                                       typed_size_text(*of.advice.max_memory), buffers_text(buffers_of(of.job, 1, 1))));
  if (a.chunks != best.chunks || a.streams != best.streams)
    doc.labelled("fastest", fmt::format("{}: {}, {:.1f} % sooner", split_text(of.job, best.chunks, best.streams),
                                        total_text(best), 100 * (1 - best.run.total / a.run.total)));
  if (of.advice.is_capped)
    doc.labelled("cap",
                 fmt::format("{} is the most that was tried, and the fastest has as many: --max-streams raises it",
                             counted(best.streams, "stream")));
}

void error_line(Document& doc, const Advice& a) {
  const auto& known = a.error_of_form();
  if (known)
    return doc.labelled(
        "error",
        fmt::format("{:.1f} % in the median, {:.1f} % at the 95th percentile: of predicted times of {} {} ({}){}",
                    100 * known->error.median, 100 * known->error.p95, counted(known->workloads, "job"),
                    a.in_turn() ? "with chunks in turn" : length_text(*known), a.error_source,
                    a.error_source == known_errors().source && a.advised.order == Order::depth_first
                        ? ", all of which were issued breadth-first"
                        : ""));
  if (a.error)
    return doc.labelled(
        "error",
        fmt::format("not known with chunks in turn: none were measured (npgpu streams --order depth-first "
                    "--chunks 1,{} --streams {}; then --measured). With a chunk in each stream {:.1f} % at the "
                    "95th percentile, of {} {} ({})",
                    a.advised.chunks, a.advised.streams, 100 * a.error->error.p95, counted(a.error->workloads, "job"),
                    length_text(*a.error), a.error_source));
  doc.labelled("error", a.error_source.empty()
                            ? "not known: predictions were never compared with measurements on this architecture"
                            : "not known: no job of this length was measured");
}

// A bar for each time, as long as the time.
std::string bar_text(double us, double most_us) {
  constexpr double longest = 30;
  return std::string(static_cast<std::size_t>(std::max(1.0, std::round(longest * us / most_us))), '#');
}

void streams_table(Document& doc, const ForecastReport& of) {
  const Prediction& p = of.forecast.prediction;
  Table table({right("streams"), right("time"), left("95 % interval", 1), left("a chunk in each stream")});
  double most = 0;
  for (std::size_t i = 0; i < p.candidates.size(); ++i)
    if (is_shown(of, p.candidates[i].streams)) most = std::max(most, of.forecast.candidates_us[i].value);
  for (std::size_t i = 0; i < p.candidates.size(); ++i) {
    const std::uint32_t n = p.candidates[i].streams;
    if (!is_shown(of, n)) continue;
    const Estimate& e = of.forecast.candidates_us[i];
    table.row({std::to_string(n), time_text(e.value), time_text(e.low) + " .. " + time_text(e.high),
               bar_text(e.value, most)});
  }
  doc.table(std::move(table));
  doc.note("intervals: the scatter of the measured costs, and not the error of the model, which stands above");
}

void in_turn_table(Document& doc, const ForecastReport& of) {
  Table table({right("streams"), right("chunks"), right("memory", 1), right("time"),
               left("the fastest of each number of streams")});
  double most = 0;
  for (const SplitTime& s : of.advice.in_memory) most = std::max(most, microseconds(s.run.total));
  for (const SplitTime& s : of.advice.in_memory)
    table.row({std::to_string(s.streams), std::to_string(s.chunks),
               buffers_text(buffers_of(of.job, s.chunks, s.streams)), total_text(s),
               bar_text(microseconds(s.run.total), most)});
  doc.table(std::move(table));
}

// What the literature's models say beside ours: which number each chooses, what it promises there, and what we say of
// that number.
void models_tables(Document& doc, const ForecastReport& of) {
  const auto& ours = of.forecast.prediction.candidates;
  const auto ours_at = [&](std::uint32_t n) { return std::ranges::find(ours, n, &StreamTime::streams)->run.total; };
  Table choices({left("model"), right("streams"), right("its time"), right("npgpu's time"), left("source")});
  choices.row({"npgpu", std::to_string(of.forecast.prediction.streams), time_text(of.forecast.time_us.value),
               time_text(of.forecast.time_us.value), "simulated with measured costs"});
  for (const StreamModelChoice& one : of.models)
    choices.row({std::string(name(one.model)), std::to_string(one.streams), time_text(microseconds(one.time)),
                 time_text(microseconds(ours_at(one.streams))), std::string(source_of(one.model))});
  doc.gap();
  doc.table(std::move(choices));
  doc.note(fmt::format(
      "npgpu's time: with that number of streams. t_sc is {}, as measured. no n: the paper has no equation for "
      "it, and the least time counts, up to --max-streams.",
      time_text(microseconds(of.costs->create))));
  // Two that differ in their numbers only are one column.
  std::vector<StreamModelChoice> forms;
  for (const StreamModelChoice& one : of.models)
    if (std::ranges::find(forms, one.times, &StreamModelChoice::times) == forms.end()) forms.push_back(one);
  std::vector<Column> columns{right("streams"), right("npgpu")};
  for (const StreamModelChoice& one : forms) columns.push_back(right(std::string(name(one.model))));
  Table times(std::move(columns));
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!is_shown(of, ours[i].streams)) continue;
    std::vector<std::string> row{std::to_string(ours[i].streams), time_text(microseconds(ours[i].run.total))};
    for (const StreamModelChoice& one : forms) row.push_back(time_text(microseconds(one.times[i])));
    times.row(std::move(row));
  }
  doc.gap();
  doc.table(std::move(times));
}

void graph_line(Document& doc, const ForecastReport& of) {
  if (!of.costs->graph)
    return doc.labelled(
        "graph", "not known: the trace has no launches of graphs; npgpu calls --append --output TRACE measures them");
  if (!of.advice.graph) return;
  const GraphAdvice& g = *of.advice.graph;
  const std::string what = fmt::format("{}, {}", counted(g.advised.streams, "chain"), total_text(g.advised));
  if (g.gain < same_time_tolerance)
    return doc.labelled("graph", fmt::format("gains nothing: {}, {:+.1f} % over the advice", what, -100 * g.gain));
  std::string pays;
  if (g.pays_after)
    pays = fmt::format("; to instantiate it takes {}, and pays after {}", time_text(microseconds(*g.instantiate)),
                       *g.pays_after > 1 ? fmt::format("{:.0f} launches", *g.pays_after) : "1 launch");
  doc.labelled("graph", fmt::format("{}, {:.1f} % sooner than the advice{}", what, 100 * g.gain, pays));
}

}  // namespace

void forecast_text(std::ostream& out, const ForecastReport& of, const TextStyle& style) {
  Document doc;
  const Prediction& p = of.forecast.prediction;
  doc.title(answer_text(of), of.costs->simulated);
  doc.labelled("device", fmt::format("{} ({})", of.costs->device, of.costs->device_name));
  doc.labelled("job", fmt::format("{} in, kernel {}, {} out", typed_size_text(of.job.in_bytes),
                                  time_text(microseconds(of.job.kernel)), typed_size_text(of.job.out_bytes)));
  if (of.kernel) {
    kernel_lines(doc, *of.kernel);
    doc.labelled("range",
                 fmt::format("{} .. {} in the advised form, with the kernel's shortest and longest time",
                             time_text(microseconds(of.by_kernel[0])), time_text(microseconds(of.by_kernel[1]))));
  }
  form_lines(doc, of);
  if (!of.advice.is_limited) {
    const std::string range =
        of.forecast.fewest == of.forecast.most ? "" : fmt::format(" ({} .. {})", of.forecast.fewest, of.forecast.most);
    const bool is_most = p.streams > 1 && p.streams == p.candidates.back().streams;
    doc.labelled("spread", fmt::format("with a chunk in each stream {}{}{} {} best, {}", counted(p.streams, "stream"),
                                       range, is_most ? ", the most that were tried," : "",
                                       p.streams == 1 ? "is" : "are", time_between(of.forecast.time_us)));
    graph_line(doc, of);
  }
  error_line(doc, of.advice);
  const StreamRun& run = of.advice.advised.run;
  const auto [bound, busy] = busiest(run.busy, of.costs->costs.copy_engines);
  doc.labelled("bottleneck", bottleneck_text(bound, busy, run.total));
  doc.gap();
  if (of.advice.is_limited) in_turn_table(doc, of);
  else streams_table(doc, of);
  if (of.kernel) kernel_figures_table(doc, *of.kernel);
  for (const std::string& note : of.notes) doc.note(note);
  if (!of.models.empty()) models_tables(doc, of);
  out << to_text(doc, style);
}

// predict --json and simulate --json. `advised` is the answer; `best` the best of those with a chunk in each stream,
// without a limit of the memory. A simulation's times are from the first stream's creation.

NPGPU_FORM(Job, &T::in_bytes, &T::out_bytes, us<"kernel_us", &T::kernel>, &T::blocks, &T::slots, &T::items);
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
struct TimesByKernel {
  Seconds low{0}, high{0};
};
NPGPU_FORM(TimesByKernel, us<"low_us", &T::low>, us<"high_us", &T::high>);
struct CandidateTime {
  std::uint32_t streams = 1;
  Estimate us{};
};
struct ModelTimes {
  StreamModelChoice choice{};
  std::vector<double> times_us{};  // as `candidates`
  double simulated_us = not_measured;
};
NPGPU_FORM(ModelTimes, within<&T::choice, &StreamModelChoice::model>,
           called<"source", [](const T& m) { return std::string(source_of(m.choice.model)); }>,
           within<&T::choice, &StreamModelChoice::optimum>, within<&T::choice, &StreamModelChoice::streams>,
           us<"time_us", within<&T::choice, &StreamModelChoice::time>>, &T::simulated_us, &T::times_us);
NPGPU_FORM(CandidateTime, &T::streams, called<"time_us", within<&T::us, &Estimate::value>>,
           called<"low_us", within<&T::us, &Estimate::low>>, called<"high_us", within<&T::us, &Estimate::high>>);

namespace {

SplitOf split_of(const ForecastReport& of, const SplitTime& s) {
  return {s, s.streams ? buffers_of(of.job, s.chunks, s.streams) : Buffers{}};
}
SplitOf advised(const ForecastReport& of) { return split_of(of, of.advice.advised); }
SplitOf fastest_of(const ForecastReport& of) { return split_of(of, of.advice.best); }
std::string answer(const ForecastReport& of) { return answer_text(of); }
std::optional<KnownError> known_error(const ForecastReport& of) {
  const auto& error = of.advice.error_of_form();
  return error ? std::optional(KnownError{of.advice.error_source, *error}) : std::nullopt;
}
std::vector<CandidateTime> candidates(const ForecastReport& of) {
  std::vector<CandidateTime> all;
  for (const StreamTime& one : of.forecast.prediction.candidates)
    all.push_back({one.streams, of.forecast.candidates_us[all.size()]});
  return all;
}

std::vector<ModelTimes> model_times(const ForecastReport& of) {
  std::vector<ModelTimes> all;
  for (const StreamModelChoice& one : of.models) {
    ModelTimes& m = all.emplace_back(ModelTimes{one});
    for (const Seconds t : one.times) m.times_us.push_back(microseconds(t));
    for (const StreamTime& ours : of.forecast.prediction.candidates)
      if (ours.streams == one.streams) m.simulated_us = microseconds(ours.run.total);
  }
  return all;
}

}  // namespace

NPGPU_FORM(ForecastReport, in_place<[](const T& of) -> const MeasuredCosts& { return *of.costs; }>, &T::job, &T::order,
           called<"best", [](const T& of) { return BestStreams{of.forecast}; }>, called<"answer", &answer>,
           called<"advised", &advised>, called<"fastest", &fastest_of>,
           called<"capped", within<&T::advice, &Advice::is_capped>>, within<&T::advice, &Advice::graph>,
           called<"max_memory_bytes", within<&T::advice, &Advice::max_memory>>, called<"error", &known_error>,
           &T::notes, &T::kernel,
           called<"by_kernel",
                  [](const T& of) {
                    return of.kernel ? std::optional(TimesByKernel{of.by_kernel[0], of.by_kernel[1]}) : std::nullopt;
                  }>,
           called<"candidates", &candidates>, called<"models", &model_times>);

void forecast_json(std::ostream& out, const ForecastReport& of) { write_document(out, "npgpu-prediction", 2, of); }

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

// npgpu predict: how long a job takes in n streams on a measured device, and which n is best; an all-reduce; pieces.
#include "netpipe/cli/predict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>

#include "netpipe/cli/characterize.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/kernel_counts.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/report/format.hpp"
#include "npgpu/model/advice.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

Job parse_job(const Options& options) {
  constexpr double day_ms = 86400e3;
  Job job;
  if (const auto text = options.maybe("bytes-in")) job.in_bytes = parse_size("bytes-in", *text);
  if (const auto text = options.maybe("bytes-out")) job.out_bytes = parse_size("bytes-out", *text);
  if (const auto text = options.maybe("kernel-ms"))
    job.kernel = Seconds{parse_number("kernel-ms", *text, 0, day_ms) * 1e-3};
  if (const auto text = options.maybe("items")) job.items = parse_count("items", *text, 1, 1ull << 32);
  if (const auto text = options.maybe("blocks")) job.blocks = parse_count("blocks", *text, 1, 1ull << 40);
  return job;
}

MeasuredCosts costs_of_trace(const Trace& trace, const std::string& path, const std::optional<std::string>& device) {
  const auto all = stream_costs(trace);
  if (all.empty())
    throw Error(ErrorKind::usage,
                path + " holds no jobs: npgpu streams --experiment overheads measures what streams cost");
  std::string ids;
  const MeasuredCosts* chosen = nullptr;
  for (const MeasuredCosts& one : all) {
    ids += (ids.empty() ? "" : ", ") + one.device;
    if (!device || one.device == *device) chosen = &one;
  }
  if (!chosen)
    throw Error(ErrorKind::usage,
                fmt::format("--device: {} has no jobs of '{}'; it has those of {}", path, *device, ids));
  if (!device && all.size() > 1)
    throw Error(ErrorKind::usage, fmt::format("--device: {} has jobs of {}: name one", path, ids));
  if (!chosen->usable)
    throw Error(ErrorKind::usage,
                fmt::format("{} does not hold what streams cost on {}: it lacks {}", path, chosen->device,
                            chosen->missing.empty() ? "everything" : chosen->missing.front()));
  return *chosen;
}

CostsAndSource costs_on(const Options& options, const std::string& word) {
  const auto device = options.maybe("device");
  std::error_code ignored;
  if (word.ends_with(".h5") || (!word.ends_with(".json") && std::filesystem::is_regular_file(word, ignored)))
    return {costs_of_trace(read_for_figures(word), word, device), word};
  if (device) throw Error(ErrorKind::usage, "--on names one device: leave --device out");
  try {
    const DeviceInfo info = devices::find(word.starts_with("sim:") ? word : "sim:" + word);
    return {costs_of_spec(info), info.id};
  } catch (const Error& e) {
    constexpr std::string_view other = "--device";  // where devices are usually named
    const std::string why = e.what();
    throw Error(e.kind(), why.starts_with(other) ? "--on" + why.substr(other.size()) : why);
  }
}

namespace {

constexpr std::uint64_t max_streams = 256;
// A chunk is whole lines of memory.
constexpr std::uint64_t line_bytes = 128;

std::uint32_t parse_threads(const Options& options) {
  return static_cast<std::uint32_t>(parse_count("threads", options.text("threads"), 1, 1024));
}

void refuse_far_beyond(const Job& job, const MeasuredCosts& costs) {
  for (const auto& [option, bytes] : {std::pair{"bytes-in", job.in_bytes}, {"bytes-out", job.out_bytes}})
    if (bytes > far_beyond * costs.max_copy)
      throw Error(ErrorKind::usage,
                  fmt::format("--{}: {} is too far beyond what was measured on {}: copies of {} to {} allow up to {}",
                              option, typed_size_text(bytes), costs.device, size_text(costs.min_copy),
                              size_text(costs.max_copy), size_text(far_beyond * costs.max_copy)));
}

// With `kernel`, where the kernel is counted and not timed.
Job read_job(const Options& options, const MeasuredCosts& costs, std::optional<KernelTime>& kernel) {
  const bool is_counted = counts_a_kernel(options);
  for (const char* option : {"bytes-in", "kernel-ms", "bytes-out"})
    if (!options.has(option) && !(is_counted && option == std::string_view("kernel-ms")))
      throw Error(ErrorKind::usage, fmt::format("--{} is missing: a job has all three of --bytes-in, --kernel-ms and "
                                                "--bytes-out; give 0 for a missing part",
                                                option));
  Job job = parse_job(options);
  if (job.in_bytes == 0 && job.out_bytes == 0)
    throw Error(ErrorKind::usage, "--bytes-in, --bytes-out: a job that copies nothing has nothing to overlap");
  refuse_far_beyond(job, costs);
  for (const auto& [option, bytes] : {std::pair{"bytes-in", job.in_bytes}, {"bytes-out", job.out_bytes}})
    if (job.items && bytes % job.items)
      throw Error(ErrorKind::usage, fmt::format("--items: --{} {} are not {} of whole bytes", option,
                                                typed_size_text(bytes), counted(job.items, "item")));
  if (is_counted) kernel = describe_kernel(job, costs, parse_kernel_counts(options), max_streams);
  else if (job.blocks) describe_kernel(job, costs, parse_threads(options));
  return job;
}

[[noreturn]] void refuse_nothing(const std::string& path, const Trace& measured) {
  const std::string left_out = left_out_text(left_out_times(measured, {}));
  throw Error(ErrorKind::usage,
              path + " holds no job, unsplit and split, to predict" +
                  (left_out.empty() ? ": " : fmt::format(". Left out: {}. Measure others: ", left_out)) +
                  "npgpu streams --experiment design measures some, and --measured names their trace");
}

int predict_measured(const Options& options, const std::string& path, const MeasuredCosts& costs) {
  const Trace measured = read_for_figures(path);
  PredictedJobsReport of{&costs, {}, {}, predict_in_turn(measured, costs), {}};
  const auto workloads = workloads_of(measured), others = other_workloads_of(measured);
  if (costs.graph) of.graphs = compare_graphs(workloads, graph_workloads_of(measured), costs);
  of.left_out = left_out_times(measured, of.graphs);
  if (!workloads.empty() || !others.empty()) of.predicted = predict_jobs(workloads, costs, others);
  else if (of.in_turn.empty()) refuse_nothing(path, measured);
  if (options.on("json")) predicted_jobs_json(std::cout, of);
  else predicted_jobs_text(std::cout, of, terminal_style());
  return exit_code::done;
}

// From jobs measured on this device, or else on its architecture; none where nobody has compared. Fewer than ten of the
// trace itself say little.
ModelErrors errors_for(const Options& options, const MeasuredCosts& costs, const Trace* trace) {
  // Jobs of chunks in turn are scored by themselves. Theirs may be the form that is advised.
  const auto score = [&](const std::vector<MeasuredWorkload>& workloads, const Trace& of, const std::string& where) {
    const std::vector<PredictedJob> jobs =
        workloads.empty() ? std::vector<PredictedJob>{} : predict_jobs(workloads, costs).jobs;
    const std::vector<SplitInTurn> in_turn = predict_in_turn(of, costs);
    ModelErrors errors = errors_by_length(
        jobs, fmt::format("among {} measured on {}, {}", counted(workloads.size() + in_turn.size(), "job"),
                          costs.device_name, where));
    errors.in_turn = error_in_turn(in_turn);
    return errors;
  };
  if (const auto path = options.maybe("measured")) {
    const Trace measured = read_for_figures(*path);
    std::vector<MeasuredWorkload> workloads = workloads_of(measured), others = other_workloads_of(measured);
    if (workloads.empty() && others.empty() && predict_in_turn(measured, costs).empty())
      refuse_nothing(*path, measured);
    workloads.insert(workloads.end(), others.begin(), others.end());
    return score(workloads, measured, *path);
  }
  constexpr std::size_t enough = 10;
  if (trace)
    if (const auto own = workloads_of(*trace); own.size() >= enough) return score(own, *trace, "in this trace");
  // Older traces do not tell of the architecture.
  const bool is_hopper = costs.compute_capability.empty() ? costs.device_name.find("H100") != std::string::npos ||
                                                                costs.device_name.find("H200") != std::string::npos
                                                          : costs.compute_capability == "9.0";
  return is_hopper ? known_errors() : ModelErrors{};
}

std::optional<OverheadFit> overheads_of(const Options& options, const MeasuredCosts& costs, const Trace& trace) {
  const auto path = options.maybe("measured");
  return fit_overheads(workloads_of(path ? read_trace(*path, Guard::child) : trace), costs);
}

// What the models that are named say of the job; those of `all` that can.
std::vector<StreamModelChoice> models_of(const Options& options, const MeasuredCosts& costs, const Trace& trace,
                                         const ForecastReport& of) {
  std::vector<StreamModel> models;
  const auto words = options.maybe("model");
  if (!words) return {};
  const bool all = *words == "all";
  if (!all) models = parse_names<StreamModel>("model", *words);
  else
    for (const std::string_view word : names_of<StreamModel>) models.push_back(*named<StreamModel>(word));
  const auto is_fitted = [](StreamModel m) { return m == StreamModel::veneva_small || m == StreamModel::veneva_big; };
  std::optional<OverheadFit> overheads;
  if (std::ranges::any_of(models, is_fitted)) overheads = overheads_of(options, costs, trace);
  if (!overheads && std::erase_if(models, is_fitted) && !all)
    throw Error(ErrorKind::usage,
                "--model: those of Veneva are fitted to measured jobs, and there are fewer than ten, each unsplit and "
                "in three counts or more: npgpu streams --experiment design measures some, and --measured names their "
                "trace");
  const ModelInputs inputs = model_inputs(of.job, costs, overheads);
  std::vector<std::uint32_t> counts;
  for (const StreamTime& one : of.forecast.prediction.candidates) counts.push_back(one.streams);
  std::vector<StreamModelChoice> choices;
  for (const StreamModel model : models) choices.push_back(choice_of(model, inputs, counts));
  return choices;
}

void add_notes(ForecastReport& of) {
  of.notes = of.costs->warnings;
  if (of.kernel) of.notes.insert(of.notes.end(), of.kernel->notes.begin(), of.kernel->notes.end());
  const SplitTime& a = of.advice.advised;
  const auto small = [&](std::uint64_t bytes) { return bytes && bytes / a.chunks < of.costs->min_copy; };
  if (small(of.job.in_bytes) || small(of.job.out_bytes))
    of.notes.push_back(fmt::format("copies below {0} were not measured; each is taken to last as long as one of {0}",
                                   size_text(of.costs->min_copy)));
}

// The advised form with the kernel's shortest and longest time.
void add_times_by_kernel(ForecastReport& of) {
  const SplitTime& a = of.advice.advised;
  const auto time_with = [&](Seconds kernel) {
    Job job = of.job;
    const double factor = std::max(0.0, (kernel - of.kernel->launch) / job.kernel);
    job.kernel *= factor;
    job.kernel_of_fraction = job.kernel_of_fraction.scaled(factor);
    return simulate_total(job, a.chunks, of.costs->costs, a.order, a.streams).total;
  };
  const auto [least, most] = std::minmax(time_with(of.kernel->low), time_with(of.kernel->high));
  of.by_kernel = {least, most};
}

std::uint32_t most_streams(const Options& options) {
  return static_cast<std::uint32_t>(parse_count("max-streams", options.text("max-streams"), 1, max_streams));
}

Order order_of_job(const Options& options) {
  const Order order = parse_name<Order>("order", options.text("order"));
  if (order == Order::independent)
    throw Error(ErrorKind::usage,
                "--order: in the order independent a kernel does not wait for its copy in, and a job's kernel must; "
                "choose breadth-first or depth-first");
  return order;
}

bool names_kernel_alone(const Options& options) {
  return counts_a_kernel(options) && !options.has("bytes-in") && !options.has("bytes-out");
}

bool names_no_job(const Options& options) {
  return !counts_a_kernel(options) && std::ranges::none_of(std::array{"bytes-in", "kernel-ms", "bytes-out"},
                                                           [&](const char* option) { return options.has(option); });
}

int predict_one(const Options& options, const Trace& trace, const MeasuredCosts& costs, const ModelErrors& errors) {
  ForecastReport of;
  of.costs = &costs;
  of.job = read_job(options, costs, of.kernel);
  of.order = order_of_job(options);
  const std::uint32_t most = most_streams(options);
  std::optional<std::uint64_t> max_memory;
  if (const auto text = options.maybe("max-memory")) max_memory = parse_size("max-memory", *text, 2 * line_bytes);
  of.forecast = forecast(of.job, costs, of.order, stream_counts_of(of.job, most), Parts::some);
  of.advice = advise(of.job, costs, of.order, of.forecast, errors, max_memory, most);
  add_notes(of);
  if (of.kernel) add_times_by_kernel(of);
  of.models = models_of(options, costs, trace, of);

  const SplitTime& a = of.advice.advised;
  const bool draws = options.on("draw") || options.has("chrome");
  const Simulation played{costs.device,
                          of.job,
                          a.order,
                          a.streams,
                          costs.costs,
                          draws ? simulate(of.job, a.chunks, costs.costs, a.order, a.streams) : Timeline{},
                          of.forecast.prediction,
                          a.chunks};
  if (const auto path = options.maybe("chrome"))
    write_file("chrome", *path, options.on("force"), [&](std::ostream& file) { simulation_chrome(file, played); });
  if (const auto code = options.maybe("code")) {
    if (options.on("json") || options.on("draw"))
      throw Error(ErrorKind::usage, "--code prints a program, and nothing else: leave --json and --draw out");
    const auto language = named<Language>(*code);
    if (!language)
      throw Error(ErrorKind::usage,
                  fmt::format("--code: '{}' is none of {}", *code, fmt::join(names_of<Language>, ", ")));
    forecast_code(std::cout, of, *language);
    return exit_code::done;
  }
  if (options.on("json")) {
    forecast_json(std::cout, of);
    return exit_code::done;
  }
  forecast_text(std::cout, of, terminal_style());
  if (options.on("draw")) {
    std::cout << '\n';
    simulation_text(std::cout, played, terminal_style());
  }
  return exit_code::done;
}

// ---- the command ----

// They are checked also where nothing asks for them.
void refuse_threads(const Options& options) {
  parse_threads(options);
  if (options.typed("threads") && !options.has("blocks"))
    throw Error(ErrorKind::usage, "--threads: it is of the kernel's blocks, and --blocks does not say how many");
}

// The kernel alone, of which nothing is copied.
int predict_kernel(const Options& options, const DeviceModel& device) {
  const KernelReport of{&device, time_of_kernel(device, parse_kernel_counts(options))};
  if (options.on("json")) kernel_json(std::cout, of);
  else kernel_text(std::cout, of, terminal_style());
  return exit_code::done;
}

DeviceModel model_of_trace(const Trace& trace, const std::string& path, const std::optional<std::string>& device) {
  for (MeasuredCosts& one : stream_costs(trace))  // they know what an empty kernel takes
    if (!one.figures.empty() && (!device || one.device == *device)) return std::move(one);
  for (DeviceModel& one : device_models(trace))
    if (!device || one.device == *device) return std::move(one);
  throw Error(ErrorKind::usage, path +
                                    " does not hold what kernels take their time by: npgpu probe compute,bandwidth "
                                    "--append --output " +
                                    path + " measures it");
}

// What PyTorch's own code adds to a call of the driver: entering the stream, checking the tensors, events of its own.
// The program of 4 MiB, 0.2 ms, 4 MiB took 474 us on one H200 in eight chunks and four streams, which 16.5 us make, and
// 317, 368 and 435 us on another in four chunks and two, of which 22 us make the middle one. The larger does not advise
// what is slower than the whole job.
constexpr Seconds torch_call{22e-6};

void add_calls_of_torch(MeasuredCosts& costs) {
  StreamCosts& c = costs.costs;
  const auto longer = [](Seconds& usual, Curve& curve) {
    usual += torch_call;
    std::vector<Curve::Point> points(curve.points().begin(), curve.points().end());
    for (Curve::Point& one : points) one.time += torch_call;
    if (!points.empty()) curve = Curve(std::move(points));
  };
  longer(c.issue.h2d, c.issue_h2d);
  longer(c.issue.kernel, c.issue_kernel);
  longer(c.issue.d2h, c.issue_d2h);
}

int predict_job(const Options& options, const Trace& trace, MeasuredCosts costs, const ModelErrors& errors) {
  if (const auto code = options.maybe("code"); code && named<Language>(*code) == Language::torch)
    add_calls_of_torch(costs);
  if (parse_name<StreamPool>("pool", options.text("pool")) == StreamPool::fresh)
    costs.costs.stream_create = costs.create;
  return predict_one(options, trace, costs, errors);
}

// By the figures of another device than that of TRACE.
int predict_elsewhere(const Options& options, const std::string& other) {
  for (const char* option : {"TRACE", "measured", "all-reduce", "pieces"})
    if (options.has(option))
      throw Error(ErrorKind::usage, fmt::format("--on names a device in place of a trace: leave {}{} out",
                                                option == std::string_view("TRACE") ? "" : "--", option));
  const MeasuredCosts costs = costs_on(options, other).costs;
  if (names_kernel_alone(options)) return predict_kernel(options, costs);
  return predict_job(options, {}, costs, errors_for(options, costs, nullptr));
}

int run_predict(const Options& options) {
  refuse_threads(options);
  (void)parse_name<DataType>("type", options.text("type"));
  const bool names_job = !names_no_job(options), of_measured = !names_job && options.has("measured");
  const auto other = options.maybe("on");
  const auto refuse_counts = [&] {
    if (options.has("counts"))
      throw Error(ErrorKind::usage,
                  "--counts: it is of kernels of a recorded application; a kernel alone has --flops and --bytes-moved");
  };
  if (!options.has("TRACE")) refuse_counts();
  if (other && !options.has("TRACE")) return predict_elsewhere(options, *other);
  const std::string path = options.place("TRACE");
  const Trace trace = read_for_figures(path);
  if (!trace.of<Records>().empty()) return predict_application(options, trace);
  refuse_counts();
  if (other) return predict_elsewhere(options, *other);
  if (options.has("all-reduce")) return predict_all_reduce(options, trace);
  if (!names_pieces(options)) refuse_options_of_pieces(options);
  else return predict_pieces(options, trace, path);
  if (!names_job && !of_measured)
    throw Error(ErrorKind::usage,
                "name a job with --bytes-in, --kernel-ms and --bytes-out, a kernel with --flops, --bytes-moved and "
                "--blocks, a trace of measured jobs with --measured, or --pieces with --piece-bytes");
  if (names_kernel_alone(options)) return predict_kernel(options, model_of_trace(trace, path, options.maybe("device")));
  const MeasuredCosts costs = costs_of_trace(trace, path, options.maybe("device"));
  if (of_measured && options.has("model"))
    throw Error(ErrorKind::usage,
                "--model: it is of one job; python -m npgpu.study compares all models with measured jobs");
  if (of_measured) return predict_measured(options, *options.maybe("measured"), costs);
  return predict_job(options, trace, costs, errors_for(options, costs, &trace));
}

}  // namespace

Command predict() {
  return {"predict",
          "predict from a trace: a job in n streams, an application, copies of pieces, an all-reduce",
          "Predicts how long a job takes in n streams, and which n is best. The trace holds the device's costs: npgpu "
          "characterize or npgpu streams --experiment overheads measures them. The first line is the answer: "
          "within 1 % of the best the least memory, then the fewest streams, then a power of two of chunks; with its "
          "time, that of the job unsplit, and the model's own error. --measured alone predicts each "
          "measured job in the numbers of streams that it was measured in. Of --pieces, which way of copying them "
          "finishes first, from a trace of npgpu pieces. --all-reduce predicts the time of an all-reduce of any size "
          "from those that npgpu collectives measured. --flops and --bytes-moved give the time of a kernel that nobody "
          "has run yet, with its interval and what bounds it; without copies of that kernel alone. --on predicts by "
          "another device's figures, without a trace. Of an application that npgpu record recorded, it finds the step "
          "that repeats and says what would make it faster, by the costs of the node that --on names. Needs no device.",
          {"TRACE"},
          {"npgpu predict node.h5 --bytes-in 64MiB --kernel-ms 1 --bytes-out 64MiB",
           "npgpu predict node.h5 --bytes-in 64MiB --kernel-ms 1 --bytes-out 64MiB --code > overlap.cu",
           "npgpu predict node.h5 --bytes-in 64MiB --kernel-ms 1 --bytes-out 0 --draw",
           "npgpu predict node.h5 --bytes-in 1GiB --kernel-ms 40 --bytes-out 1GiB --max-memory 256MiB",
           "npgpu predict node.h5 --flops 2e9 --bytes-moved 12GB --blocks 3906250 --threads 256",
           "npgpu predict --on gtx480 --bytes-in 15MiB --kernel-ms 5 --bytes-out 15MiB",
           "npgpu predict pieces.h5 --pieces 100 --piece-bytes 12KiB", "npgpu predict node.h5 --measured design.h5",
           "npgpu predict app.h5 --on node.h5"},
          {{"Job", {"bytes-in", "kernel-ms", "bytes-out", "items", "blocks", Option("threads", "512")}},
           kernel_counts_group(),
           {"Streams",
            {Option("order", "breadth-first", {}, "WORD"), Option("pool", "pooled", {}, "WORD"),
             Option("max-streams", "64"), "max-memory", "model"}},
           {"Pieces (npgpu pieces)",
            {Option("pieces", {}, "One number.", "N"), Option("piece-bytes", {}, "One size.", "SIZE"),
             Option("direction", {}, "Default: all that the trace has."), Option("layout", {}, "Default: all."),
             Option("other-layout", {}, "Default: all.")}},
           {"Measured jobs", {"measured"}},
           {"Several GPUs (npgpu collectives)", {"all-reduce"}},
           {"A recorded application (npgpu record)",
            {Option("counts", {},
                    "What one launch of its kernel NAME does: FLOP,BYTES as in axpy=2GFLOP,12GB, and behind "
                    "these the type, where it is not fp32. May be repeated.",
                    "NAME=WORK")}},
           {"Output",
            {Option("device", {}, "Needed where the trace has several."), "on", "code", "draw", "chrome", "force",
             "json"}}},
          run_predict};
}

const Joined<ListedCommand> listed_predict({Asks::mine, 1, predict});

}  // namespace npgpu::cli

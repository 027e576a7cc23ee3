// NP<module>: one module on the engine, in NetPIPE's manner. Writes np.out, a line a size as soon as it is measured.
// Built by Makefile.legacy, one program a module; needs neither HDF5 nor Boost.ProgramOptions.
#include <fmt/format.h>
#include <getopt.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>

#include "netpipe/engine/copy_cases.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

#ifdef NPGPU_LEGACY_RANKS
#include "netpipe/ranks/group.hpp"
#include "netpipe/ranks/rank_set.hpp"
#include "netpipe/ranks/world.hpp"
#endif

using namespace npgpu;

namespace {

constexpr const char* module_name = NPGPU_LEGACY_MODULE;

std::uint64_t whole(const char* option, const char* text) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (errno || end == text || *end || *text == '-')
    throw Error(ErrorKind::usage, fmt::format("--{}: '{}' is no whole number", option, text));
  return value;
}

// NPmpi: the ends are two ranks; the others have both ends in one process.
#ifdef NPGPU_LEGACY_RANKS
constexpr bool between_ranks = true;
ranks::Patience patience;
// Reads --rank-timeout ahead of the other options: it limits how long MPI may take to begin, and which rank prints
// messages is known only after that.
void meet_the_other(int argc, char** argv) {
  constexpr std::string_view name = "--rank-timeout";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const char* text = nullptr;
    if (word == name && i + 1 < argc) text = argv[i + 1];
    else if (word.starts_with(name) && word.substr(name.size()).starts_with('=')) text = argv[i] + name.size() + 1;
    if (text) patience.until_parted = Seconds{static_cast<double>(whole("rank-timeout", text))};
  }
  if (const int size = ranks::connect(module_name, patience).size(); size != 2)
    throw Error(ErrorKind::usage,
                fmt::format("it takes two ranks, and there {} {}: mpirun -n 2 NPmpi", size == 1 ? "is" : "are", size));
}
TransferCase usual_case(const std::string& device, Direction) {
  return ranks::rank_case({device, 0}, {device, 1}, module_name);
}
bool is_silent() { return ranks::is_connected() && ranks::rank_set().rank() != 0; }
// The other rank waits for this one: there is no other way to reach it.
void part(int code) {
  if (ranks::is_open() && ranks::is_connected() && ranks::rank_set().size() == 2) ranks::rank_set().world().abort(code);
}
// Where the other rank hangs, this one would wait for its message without end.
void attended(const std::function<void()>& work) {
  const auto leave = [](bool) {
    std::cerr << fmt::format("NP{}: the other rank did not answer for {:g} s\n", module_name,
                             patience.until_parted.count())
              << std::flush;
    _exit(exit_code::failed);
  };
  {
    ranks::HangWatchdog line(
        {.patience = patience.until_parted + Seconds{1}, .heard = [] { return ranks::rank_set().heard(); }}, leave);
    const ranks::HangWatchdog::Trial trial(line);
    work();
  }
  ranks::end(patience.until_parted);
}
#else
constexpr bool between_ranks = false;
void meet_the_other(int, char**) {}
TransferCase usual_case(const std::string& device, Direction direction) {
  return case_on(module_name, device, direction);
}
bool is_silent() { return false; }
void part(int) {}
void attended(const std::function<void()>& work) { work(); }
#endif

struct Settings {
  TransferCase question;
  std::uint64_t start = 1, end = 192 * MiB, perturbation = 3;
  ClassicOptions schedule;
  std::string output = "np.out";
};

[[noreturn]] void usage(int code) {
  if (is_silent()) std::exit(code);
  (code ? std::cerr : std::cout) << fmt::format(
      "NP{0}: NetPIPE's measurement of {0}, written to np.out as bytes, average, minimum and maximum Gbit/s,\n"
      "microseconds\n\n"
      "  --start N --end N     sizes in bytes (1, {1})\n"
      "  --pert N              also N bytes less and more (3)\n"
      "  --repeats N           copies in a trial, instead of 0.25 s worth\n"
      "  --quick --quicker --quickest   no perturbation, 3, 1, 1 trials of 0.05, 0.05, 0.01 s\n"
      "  --stream --bidir      one way, both at once; without them there and back (memcpy: one way)\n"
      "  --nocache             walk through memory instead of one place\n"
      "  --async --blocking    the asynchronous form, or not; usual is blocking, of mpi asynchronous\n"
      "  --soffset N --roffset N        bytes past an aligned address\n"
      "  --direction h2d|d2h|d2d|h2h --memory pageable|pinned|write-combined --device ID\n"
      "  -o FILE               instead of np.out\n"
      "{2}Payloads are always checked, outside the timed loop.\n",
      module_name, 192 * MiB,
      between_ranks ? "  --rank-timeout N      seconds until a rank that does not answer is given up (60)\n" : "");
  std::exit(code);
}

template <class E> E one_of(const char* option, const char* text) {
  if (const auto value = named<E>(text)) return *value;
  throw Error(ErrorKind::usage, fmt::format("--{}: '{}' is none of {}", option, text, choices<E>()));
}

Settings settings(int argc, char** argv) {
  Settings s;
  TransferCase& c = s.question;
  const bool on_host = std::string(module_name) == "memcpy" || between_ranks;
  std::string device = on_host ? "host" : "";
  Direction direction = on_host ? Direction::h2h : Direction::h2d;
  std::optional<Memory> memory;
  c.pattern = on_host && !between_ranks ? Pattern::stream : Pattern::pingpong;
  c.async = between_ranks;  // NetPIPE posts its receives early
  using Act = std::function<void(const char* name)>;
  const auto number = [](std::uint64_t& to) { return Act([&](const char* name) { to = whole(name, optarg); }); };
  const auto quick = [&](int trials, double target) {
    return Act(
        [=, &s](const char*) { s.perturbation = 0, s.schedule.trials = trials, s.schedule.target = Seconds{target}; });
  };
  const auto set = [](auto& to, auto value) { return Act([&to, value](const char*) { to = value; }); };
  std::map<std::string, std::pair<bool, Act>> acts{
      {"start", {true, number(s.start)}},
      {"end", {true, number(s.end)}},
      {"pert", {true, number(s.perturbation)}},
      {"perturbation", {true, number(s.perturbation)}},
      {"repeats", {true, number(s.schedule.fixed_repeats)}},
      {"quick", {false, quick(3, 0.05)}},
      {"quicker", {false, quick(1, 0.05)}},
      {"quickest", {false, quick(1, 0.01)}},
      {"stream", {false, set(c.pattern, Pattern::stream)}},
      {"bidir", {false, set(c.pattern, Pattern::duplex)}},
      {"cache", {false, set(c.cache, Cache::warm)}},
      {"nocache", {false, set(c.cache, Cache::cold)}},
      {"async", {false, set(c.async, true)}},
      {"blocking", {false, set(c.async, false)}},
      {"integrity", {false, [](const char*) {}}},
      {"soffset", {true, number(c.source_offset)}},
      {"roffset", {true, number(c.target_offset)}},
      {"direction", {true, [&](const char* name) { direction = one_of<Direction>(name, optarg); }}},
      {"memory", {true, [&](const char* name) { memory = one_of<Memory>(name, optarg); }}},
      {"device", {true, [&](const char*) { device = optarg; }}},
      {"help", {false, [](const char*) { usage(exit_code::done); }}}};
  if (between_ranks) acts["rank-timeout"] = {true, [](const char*) {}};  // known since before MPI began
  std::vector<option> options;
  for (const auto& [name, act] : acts) options.push_back({name.c_str(), act.first, nullptr, 0});
  options.push_back({});
  int index = 0;
  for (int got; (got = getopt_long(argc, argv, "o:", options.data(), &index)) != -1;) {
    if (got == '?') usage(exit_code::usage);
    if (got == 'o') s.output = optarg;
    else acts.at(options[static_cast<std::size_t>(index)].name).second(options[static_cast<std::size_t>(index)].name);
  }
  if (optind < argc) throw Error(ErrorKind::usage, fmt::format("'{}' is no option", argv[optind]));
  if (device.empty() && devices::gpus().empty()) throw Error(ErrorKind::nothing, devices::why_no_gpu());
  if (device.empty()) device = devices::default_device();
  const TransferCase usual = usual_case(device, direction);
  c.module = usual.module, c.source = usual.source, c.target = usual.target;
  c.direction = usual.direction, c.executor = usual.executor, c.access = usual.access;
  c.memory = memory.value_or(usual.memory);
  if (only_enqueues(c)) c.timing = Timing::gated;
  return s;
}

void measure(const Settings& s) {
  const Module* module = find_module(module_name);
  const DeviceInfo device = devices::find(between_ranks ? "host" : device_of(s.question));
  std::vector<Step<Transfers>> steps;
  for (const std::uint64_t bytes : sweep_sizes(s.start, s.end, s.perturbation)) steps.push_back({s.question, {bytes}});
  if (const auto why = module->refuses(steps.back())) throw Error(ErrorKind::usage, *why);
  const MemoryNeed free = module->available(s.question), need = module->needs(steps);
  if (need.host_bytes > free.host_bytes || need.device_bytes > free.device_bytes)
    throw Error(ErrorKind::usage, "--end: not enough free memory for " + text_of(steps.back().axes));
  const auto runner = module->open(steps);
  const bool silent = is_silent();
  std::ofstream out(silent ? "/dev/null" : s.output);
  if (!out) throw Error(ErrorKind::usage, "-o: cannot write '" + s.output + "'");
  if (!silent) std::cerr << one_line(title(s.question) + " on " + device.name + ", to " + s.output) << '\n';
  auto schedule = classic_schedule(s.schedule);
  if (Consensus* const with = module->consensus(s.question)) schedule = agreed_schedule(std::move(schedule), *with);
  for (const Step<Transfers>& step : steps) {
    const auto measured = npgpu::measure(*runner, *schedule, step, {});
    if (!measured->mismatch.empty()) throw Error(ErrorKind::failed, "payload wrong: " + measured->mismatch);
    TransferSeries one;
    one.question = s.question;
    one.visits = {measured->visit};
    one.samples = measured->samples;
    std::ostringstream line;
    export_npout(line, one);
    out << line.str() << std::flush;
    if (!out) throw Error(ErrorKind::failed, "-o: cannot write '" + s.output + "'");
    if (!silent) std::cerr << line.str();
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    meet_the_other(argc, argv);
    const Settings asked = settings(argc, argv);
    attended([&] { measure(asked); });
    return exit_code::done;
  } catch (const std::exception& e) {
    if (!is_silent()) std::cerr << "NP" << module_name << ": " << one_line(e.what()) << '\n' << std::flush;
    const auto* error = dynamic_cast<const Error*>(&e);
    const int code = error ? exit_code_of(error->kind()) : exit_code::failed;
    part(code);
    return code;
  }
}

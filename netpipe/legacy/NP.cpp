// NP<module>: one module on the engine, in NetPIPE's manner. Writes np.out, a line a size as soon as it is measured.
// Built by Makefile.legacy, one program a module; needs neither HDF5 nor Boost.ProgramOptions.
#include <fmt/format.h>
#include <getopt.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "npgpu/error.hpp"
#include "npgpu/module.hpp"
#include "npgpu/report.hpp"

using namespace npgpu;

namespace {

constexpr const char* module_name = NPGPU_LEGACY_MODULE;

struct Settings {
  TransferCase question;
  std::uint64_t start = 1, end = 192 * MiB, perturbation = 3;
  ClassicOptions schedule;
  std::string output = "np.out";
};

[[noreturn]] void usage(int code) {
  (code ? std::cerr : std::cout) << fmt::format(
      "NP{0}: NetPIPE's measurement of {0}, written to np.out as bytes, average, minimum and maximum Gbit/s,\n"
      "microseconds\n\n"
      "  --start N --end N     sizes in bytes (1, {1})\n"
      "  --pert N              also N bytes less and more (3)\n"
      "  --repeats N           copies in a trial, instead of 0.25 s worth\n"
      "  --quick --quicker --quickest   no perturbation, 3, 1, 1 trials of 0.05, 0.05, 0.01 s\n"
      "  --stream --bidir      one way, both at once; without them there and back (memcpy: one way)\n"
      "  --nocache             walk through memory instead of one place\n"
      "  --async               the asynchronous form\n"
      "  --soffset N --roffset N        bytes past an aligned address\n"
      "  --direction h2d|d2h|d2d|h2h --memory pageable|pinned|write-combined --device ID\n"
      "  -o FILE               instead of np.out\n"
      "Payloads are always checked, outside the timed loop.\n",
      module_name, 192 * MiB);
  std::exit(code);
}

std::uint64_t whole(const char* option, const char* text) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (errno || end == text || *end || *text == '-')
    throw Error(ErrorKind::usage, fmt::format("--{}: '{}' is no whole number", option, text));
  return value;
}

template <class E>
E one_of(const char* option, const char* text) {
  if (const auto value = named<E>(text)) return *value;
  throw Error(ErrorKind::usage, fmt::format("--{}: '{}' is none of {}", option, text, choices<E>()));
}

Settings settings(int argc, char** argv) {
  Settings s;
  TransferCase& c = s.question;
  const bool on_host = std::string(module_name) == "memcpy";
  std::string device = on_host ? "host" : devices::default_device();
  Direction direction = on_host ? Direction::h2h : Direction::h2d;
  std::optional<Memory> memory;
  c.pattern = on_host ? Pattern::stream : Pattern::pingpong;
  static const option options[] = {
      {"start", 1, nullptr, 0},   {"end", 1, nullptr, 0},     {"pert", 1, nullptr, 0},
      {"perturbation", 1, nullptr, 0},
      {"repeats", 1, nullptr, 0}, {"quick", 0, nullptr, 0},   {"quicker", 0, nullptr, 0},  {"quickest", 0, nullptr, 0},
      {"stream", 0, nullptr, 0},  {"bidir", 0, nullptr, 0},   {"cache", 0, nullptr, 0},    {"nocache", 0, nullptr, 0},
      {"async", 0, nullptr, 0},   {"soffset", 1, nullptr, 0}, {"roffset", 1, nullptr, 0},  {"integrity", 0, nullptr, 0},
      {"direction", 1, nullptr, 0}, {"memory", 1, nullptr, 0}, {"device", 1, nullptr, 0},  {"help", 0, nullptr, 0},
      {nullptr, 0, nullptr, 0}};
  int index = 0;
  for (int got; (got = getopt_long(argc, argv, "o:", options, &index)) != -1;) {
    if (got == 'o') { s.output = optarg; continue; }
    if (got == '?') usage(exit_code::usage);
    const char* name = options[index].name;
    const std::string word = name;
    if (word == "start") s.start = whole(name, optarg);
    else if (word == "end") s.end = whole(name, optarg);
    else if (word == "pert" || word == "perturbation") s.perturbation = whole(name, optarg);
    else if (word == "repeats") s.schedule.fixed_repeats = whole(name, optarg);
    else if (word == "quick") s.perturbation = 0, s.schedule.trials = 3, s.schedule.target = Seconds{0.05};
    else if (word == "quicker") s.perturbation = 0, s.schedule.trials = 1, s.schedule.target = Seconds{0.05};
    else if (word == "quickest") s.perturbation = 0, s.schedule.trials = 1, s.schedule.target = Seconds{0.01};
    else if (word == "stream") c.pattern = Pattern::stream;
    else if (word == "bidir") c.pattern = Pattern::duplex;
    else if (word == "cache") c.cache = Cache::warm;
    else if (word == "nocache") c.cache = Cache::cold;
    else if (word == "async") c.async = true;
    else if (word == "soffset") c.source_offset = whole(name, optarg);
    else if (word == "roffset") c.target_offset = whole(name, optarg);
    else if (word == "direction") direction = one_of<Direction>(name, optarg);
    else if (word == "memory") memory = one_of<Memory>(name, optarg);
    else if (word == "device") device = optarg;
    else if (word == "help") usage(exit_code::done);
  }
  if (optind < argc) throw Error(ErrorKind::usage, fmt::format("'{}' is no option", argv[optind]));
  const TransferCase usual = case_on(module_name, device, direction);
  c.module = usual.module, c.source = usual.source, c.target = usual.target;
  c.direction = direction, c.executor = usual.executor;
  c.memory = memory.value_or(usual.memory);
  if (c.async && c.memory != Memory::pageable && c.memory != Memory::managed) c.timing = Timing::gated;
  return s;
}

void measure(const Settings& s) {
  const Module* module = find_module(module_name);
  const DeviceInfo device = devices::find(device_of(s.question));
  std::vector<Step<Transfers>> steps;
  for (const std::uint64_t bytes : sweep_sizes(s.start, s.end, s.perturbation)) steps.push_back({s.question, {bytes}});
  if (const auto why = module->refuses(steps.back())) throw Error(ErrorKind::usage, *why);
  const MemoryNeed free = module->available(s.question), need = module->needs(steps);
  if (need.host_bytes > free.host_bytes || need.device_bytes > free.device_bytes)
    throw Error(ErrorKind::usage, "--end: not enough free memory for " + text_of(steps.back().axes));
  const auto runner = module->open(steps);
  std::ofstream out(s.output);
  if (!out) throw Error(ErrorKind::usage, "-o: cannot write '" + s.output + "'");
  std::cerr << title(s.question) << " on " << device.name << ", to " << s.output << '\n';
  const auto schedule = classic_schedule(s.schedule);
  for (const Step<Transfers>& step : steps) {
    const auto measured = npgpu::measure(*runner, *schedule, step, {});
    if (!measured->mismatch.empty()) throw Error(ErrorKind::failed, "payload wrong: " + measured->mismatch);
    TransferSeries one;
    one.question = s.question;
    one.points = {measured->point};
    one.samples = measured->samples;
    std::ostringstream line;
    export_npout(line, one);
    out << line.str() << std::flush;
    if (!out) throw Error(ErrorKind::failed, "-o: cannot write '" + s.output + "'");
    std::cerr << line.str();
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    measure(settings(argc, argv));
    return exit_code::done;
  } catch (const Error& e) {
    std::cerr << "NP" << module_name << ": " << e.what() << '\n';
    return exit_code_of(e.kind());
  } catch (const std::exception& e) {
    std::cerr << "NP" << module_name << ": " << e.what() << '\n';
    return exit_code::failed;
  }
}

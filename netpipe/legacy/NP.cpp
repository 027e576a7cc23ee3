// NP<module>: one module on the engine, in NetPIPE's manner. Writes np.out, a line a size as soon as it is measured.
// Built by Makefile.legacy, one program a module; needs neither HDF5 nor Boost.ProgramOptions.
#include <fmt/format.h>
#include <getopt.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "npgpu/runner.hpp"
#include "npgpu/statistics.hpp"
#include "npgpu/error.hpp"
#include "npgpu/model.hpp"
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
      "NP{0}: NetPIPE's measurement of {0}, written to np.out as bytes, average, minimum and maximum Gbit/s, microseconds\n\n"
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
  const bool host = std::string(module_name) == "memcpy";
  c.module = module_name;
  c.device = host ? "host" : "cuda:0";
  c.direction = host ? Direction::h2h : Direction::h2d;
  c.memory = host ? Memory::pageable : Memory::pinned;
  c.pattern = host ? Pattern::stream : Pattern::pingpong;
  static const option options[] = {
      {"start", 1, nullptr, 0},   {"end", 1, nullptr, 0},     {"pert", 1, nullptr, 0},     {"perturbation", 1, nullptr, 0},
      {"repeats", 1, nullptr, 0}, {"quick", 0, nullptr, 0},   {"quicker", 0, nullptr, 0},  {"quickest", 0, nullptr, 0},
      {"stream", 0, nullptr, 0},  {"bidir", 0, nullptr, 0},   {"cache", 0, nullptr, 0},    {"nocache", 0, nullptr, 0},
      {"async", 0, nullptr, 0},   {"soffset", 1, nullptr, 0}, {"roffset", 1, nullptr, 0},  {"integrity", 0, nullptr, 0},
      {"direction", 1, nullptr, 0}, {"memory", 1, nullptr, 0}, {"device", 1, nullptr, 0},  {"help", 0, nullptr, 0},
      {nullptr, 0, nullptr, 0}};
  bool memory_named = false;
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
    else if (word == "direction") c.direction = one_of<Direction>(name, optarg);
    else if (word == "memory") c.memory = one_of<Memory>(name, optarg), memory_named = true;
    else if (word == "device") c.device = optarg;
    else if (word == "help") usage(exit_code::done);
  }
  if (optind < argc) throw Error(ErrorKind::usage, fmt::format("'{}' is no option", argv[optind]));
  if (c.direction == Direction::d2d && !memory_named) c.memory = Memory::device;
  if (c.async && c.memory != Memory::pageable && c.memory != Memory::managed) c.timing = Timing::gated;
  return s;
}

void measure(const Settings& s) {
  const Module* module = find_module(module_name);
  const DeviceInfo device = module->device(s.question.device);
  if (const auto why = module->refuses(s.question)) throw Error(ErrorKind::usage, *why);
  const std::vector<std::uint64_t> sizes = sweep_sizes(s.start, s.end, s.perturbation);
  const MemoryNeed free = module->available(s.question);
  std::vector<std::unique_ptr<Channel>> owned;
  std::vector<Channel*> channels;
  for (const TransferCase& lane : lanes(s.question)) {
    const MemoryNeed need = module->needs(lane, sizes.back());
    if (need.host_bytes > free.host_bytes || need.device_bytes > free.device_bytes)
      throw Error(ErrorKind::usage, "--end: not enough free memory for " + size_text(sizes.back()));
    owned.push_back(module->open(lane, sizes.back()));
    channels.push_back(owned.back().get());
  }
  std::ofstream out(s.output);
  if (!out) throw Error(ErrorKind::usage, "-o: cannot write '" + s.output + "'");
  std::cerr << title(s.question) << " on " << device.name << ", to " << s.output << '\n';
  const auto schedule = classic_schedule(s.schedule);
  for (const std::uint64_t bytes : sizes) {
    const auto measured = measure_point(s.question, channels, *schedule, bytes, nullptr);
    if (!measured->mismatch.empty()) throw Error(ErrorKind::failed, "payload wrong: " + measured->mismatch);
    TransferSeries one;
    one.question = s.question;
    one.points = {measured->point};
    one.points[0].samples = static_cast<std::uint32_t>(measured->samples.size());
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

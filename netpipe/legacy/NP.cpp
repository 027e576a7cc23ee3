// NP<module>: one module on the engine, in NetPIPE's manner. Writes np.out, a line a size as soon as it is measured.
// Built by Makefile.legacy, one program a module; needs neither HDF5 nor Boost.ProgramOptions.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <numeric>
#include <sstream>

#include "netpipe/engine/copy_cases.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/model/result.hpp"
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

std::uint64_t whole(const std::string& option, const char* text) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (errno || end == text || *end || *text == '-')
    throw Error(ErrorKind::usage, fmt::format("--{}: '{}' is no whole number", option, text));
  return value;
}

// NPmpi: the ends are ranks; the others have both ends in one process.
#ifdef NPGPU_LEGACY_RANKS
constexpr bool between_ranks = true;
ranks::Patience patience;
int rank_count() { return ranks::rank_set().size(); }
// Reads --rank-timeout ahead of the other options: it limits how long MPI may take to begin, and which rank prints
// messages is known only after that.
void meet_the_others(int argc, char** argv) {
  constexpr std::string_view name = "--rank-timeout";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const char* text = nullptr;
    if (word == name && i + 1 < argc) text = argv[i + 1];
    else if (word.starts_with(name) && word.substr(name.size()).starts_with('=')) text = argv[i] + name.size() + 1;
    if (text) patience.until_parted = Seconds{static_cast<double>(whole("rank-timeout", text))};
  }
  if (const int size = ranks::connect(module_name, patience).size(); size % 2 != 0)
    throw Error(ErrorKind::usage, fmt::format("it takes pairs of ranks, and there {} {}: mpirun -n 2 NPmpi",
                                              size == 1 ? "is" : "are", size));
}
int pairs() { return rank_count() / 2; }
// NetPIPE's pairs: the first rank with the last one, the second with the last but one.
TransferCase usual_case(const std::string& device, Direction) {
  const int me = ranks::rank_set().rank(), other = rank_count() - 1 - me;
  return ranks::rank_case({device, std::min(me, other)}, {device, std::max(me, other)}, module_name);
}
bool is_silent() { return ranks::is_connected() && ranks::rank_set().rank() != 0; }
std::string host_of(int rank) { return ranks::rank_set().name(rank); }
// The other ranks wait for this one: there is no other way to reach them. `all`: these part, too, once the first rank
// has said why.
void part(int code, bool all) {
  if (!ranks::is_open() || !ranks::is_connected()) return;
  if (all) ranks::failure_of([] { ranks::rank_set().everyone().any(false); });
  else ranks::rank_set().world().abort(code);
}
// Where another rank hangs, this one would wait for its message without end.
void attended(const std::function<void()>& work) {
  const auto leave = [](bool) {
    std::cerr << fmt::format("NP{}: another rank did not answer for {:g} s\n", module_name,
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

// All pairs at the same time: a trial takes as long as that of the slowest pair.
class AtOnce final : public Runner<Transfers> {
 public:
  explicit AtOnce(std::unique_ptr<Runner> own) : own_(std::move(own)) {}
  void prepare(const Step<Transfers>& step) override {
    const std::string failure = everyone_.first_failure(ranks::failure_of([&] { own_->prepare(step); }));
    if (!failure.empty()) throw Error(ErrorKind::failed, failure);
  }
  bool run(std::uint64_t repeats, std::vector<TransferSample>& samples) override {
    const std::size_t before = samples.size();
    own_->run(repeats, samples);
    double slowest_us = 0;
    // Nobody begins the next trial before all have ended this one.
    for (const std::string& us : everyone_.of_all(std::to_string(samples.back().host_us)))
      slowest_us = std::max(slowest_us, std::strtod(us.c_str(), nullptr));
    for (std::size_t i = before; i < samples.size(); ++i) samples[i].host_us = slowest_us;
    return true;
  }
  std::optional<std::string> check(std::span<TransferSample> last_trial) override {
    std::string wrong = everyone_.first_failure(own_->check(last_trial).value_or(""));
    return wrong.empty() ? std::nullopt : std::optional(std::move(wrong));
  }
  std::uint64_t bytes() const override { return own_->bytes(); }
  const Clock& clock() const override { return own_->clock(); }
  std::string binding() const override { return own_->binding(); }

 private:
  const std::unique_ptr<Runner> own_;
  ranks::Group& everyone_ = ranks::rank_set().everyone();
};
std::unique_ptr<Runner<Transfers>> opened(const Module& module, std::span<const Step<Transfers>> steps) {
  auto own = module.open(steps);
  if (pairs() == 1) return own;
  return std::make_unique<AtOnce>(std::move(own));
}
std::unique_ptr<Schedule> agreed(std::unique_ptr<Schedule> own) {
  return agreed_schedule(std::move(own), ranks::rank_set().everyone());
}
#else
constexpr bool between_ranks = false;
int rank_count() { return 1; }
void meet_the_others(int, char**) {}
int pairs() { return 1; }
TransferCase usual_case(const std::string& device, Direction direction) {
  return case_on(module_name, device, direction);
}
bool is_silent() { return false; }
std::string host_of(int) {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return std::string("rank 0 on ") + name;
}
void part(int, bool) {}
void attended(const std::function<void()>& work) { work(); }
std::unique_ptr<Runner<Transfers>> opened(const Module& module, std::span<const Step<Transfers>> steps) {
  return module.open(steps);
}
std::unique_ptr<Schedule> agreed(std::unique_ptr<Schedule> own) { return own; }
#endif

constexpr bool copies_memory = std::string_view(module_name) == "memcpy";
constexpr bool on_host = copies_memory || between_ranks;

struct Settings {
  TransferCase question;
  // NetPIPE's own; of GPUs as npgpu transfer has it.
  std::uint64_t start = 1, end = copies_memory ? 100'000'000 : between_ranks ? 10'000'000 : 192 * MiB, perturbation = 3;
  bool only_doubles = false, prints_hosts = false;
  ClassicOptions schedule;
  std::string output = "np.out";
};

[[noreturn]] void usage() {
  if (is_silent()) std::exit(exit_code::done);
  std::cout << fmt::format(
      "NP{0}: NetPIPE's measurement of {0}, written to np.out as bytes, average, minimum and maximum Gbit/s,\n"
      "microseconds\n\n"
      "  --start N --end N     sizes in bytes (1, {1})\n"
      "  --pert N              also N bytes less and more (3)\n"
      "  --fac2                only --start and its doubles\n"
      "  --repeats N           copies in a trial, instead of 0.25 s worth\n"
      "  --quick --quicker --quickest   no perturbation, 3, 1, 1 trials of 0.1 s, 0.1 s, one copy\n"
      "  --stream --bidir      one way, both at once; without them there and back (memcpy: one way)\n"
      "{2}"
      "  --async --blocking    the asynchronous form, or not; usual is blocking, of mpi asynchronous\n"
      "  --soffset N --roffset N        bytes past an aligned address\n"
      "  --direction h2d|d2h|d2d|h2h --memory pageable|pinned|write-combined --device ID\n"
      "  --printhostnames      which host each rank is on\n"
      "  -o FILE               instead of np.out\n"
      "Payloads are always checked, outside the timed loop. NetPIPE 5's other spellings are taken, too.\n",
      module_name, Settings().end,
      between_ranks ? "  --rank-timeout N      seconds until a rank that does not answer is given up (60)\n"
                    : "  --nocache             walk through memory instead of one place\n");
  std::exit(exit_code::done);
}

template <class E> E one_of(const std::string& option, const char* text) {
  if (const auto value = named<E>(text)) return *value;
  throw Error(ErrorKind::usage, fmt::format("--{}: '{}' is none of {}", option, text, choices<E>()));
}

// Why an option is none here: NetPIPE 5's that would measure something else, and NetPIPE 3's letters.
std::string refusal(const std::string& word, std::string name) {
  static const std::map<char, const char*> letters{{'a', "async"},
                                                   {'B', "burst"},
                                                   {'I', "nocache"},
                                                   {'i', "integrity"},
                                                   {'l', "start"},
                                                   {'n', "repeats"},
                                                   {'O', "soffset and --roffset"},
                                                   {'p', "pert"},
                                                   {'s', "stream"},
                                                   {'S', "syncSend"},
                                                   {'u', "end"},
                                                   {'z', "anysource"},
                                                   {'2', "bidir"}};
  // "-l", "-l1024", "-O 1,3"; NetPIPE 5 takes words with one dash, too.
  const bool is_letter = !word.starts_with("--") && (name.size() == 1 || (name.size() > 1 && std::isdigit(name[1])));
  const auto letter = is_letter ? letters.find(name[0]) : letters.end();
  const std::string given = letter == letters.end() ? word : word.substr(0, 2);
  if (letter != letters.end()) name = letter->second;
  const char* why = nullptr;
  if (name == "workload") why = "only transfers are timed: npgpu streams has kernels next to copies";
  if (name == "burst") why = "a receive is posted just before its message: leave it out";
  if (name == "syncSend" || name == "sync") why = "messages leave by MPI_Send: leave it out";
  if (name == "anysource") why = "a rank hears its partner only: leave it out";
  if (name == "doubles" || name == "double") why = "messages are bytes: use --pert 0";
  if (name == "nocache" || name == "inval") why = "messages are measured with warm caches: leave it out";
  if (name == "pipe") why = "copies alone are measured: use NPmpi between two processes";
  if (name == "memset" || name == "dcopy" || name == "dread" || name == "dwrite")
    why = "copies alone are measured: npgpu probe bandwidth --device host reads, writes and copies";
  if (why && (letter == letters.end() || name != "nocache" || between_ranks)) return given + ": " + why;
  if (letter != letters.end()) return fmt::format("{}: NetPIPE 3's letter; the word is --{}", given, name);
  return fmt::format("'{}' is no option: NP{} --help", word, module_name);
}

constexpr std::pair<const char*, const char*> also_called[] = {  // by NetPIPE 5
    {"perturbation", "pert"},   {"factorsof2", "fac2"},
    {"repeat", "repeats"},      {"bidirectional", "bidir"},
    {"inval", "nocache"},       {"asynchronous", "async"},
    {"send_offset", "soffset"}, {"recv_offset", "roffset"},
    {"outfile", "o"},           {"h", "help"}};

Settings settings(int argc, char** argv) {
  Settings s;
  TransferCase& c = s.question;
  std::string device = on_host ? "host" : "";
  Direction direction = on_host ? Direction::h2h : Direction::h2d;
  std::optional<Memory> memory;
  c.pattern = copies_memory ? Pattern::stream : Pattern::pingpong;
  c.async = between_ranks;  // NetPIPE posts its receives early
  using Act = std::function<void(const std::string& name, const char* value)>;
  const auto number = [](std::uint64_t& to) {
    return Act([&](const std::string& name, const char* value) { to = whole(name, value); });
  };
  const auto set = [](auto& to, auto value) {
    return Act([&to, value](const std::string&, const char*) { to = value; });
  };
  const auto quick = [&](int trials, std::uint64_t repeats) {
    return Act([=, &s](const std::string&, const char*) {
      s.perturbation = 0, s.schedule.trials = trials, s.schedule.target = Seconds{0.1};
      if (s.schedule.fixed_repeats == 0) s.schedule.fixed_repeats = repeats;
    });
  };
  std::map<std::string, std::pair<bool, Act>> acts{
      // Whether it takes a value, and what it does.
      {"start", {true, number(s.start)}},
      {"end", {true, number(s.end)}},
      {"pert", {true, number(s.perturbation)}},
      {"fac2", {false, set(s.only_doubles, true)}},
      {"repeats", {true, number(s.schedule.fixed_repeats)}},
      {"quick", {false, quick(3, 0)}},
      {"quicker", {false, quick(1, 0)}},
      {"quickest", {false, quick(1, 1)}},
      {"stream", {false, set(c.pattern, Pattern::stream)}},
      {"bidir", {false, set(c.pattern, Pattern::duplex)}},
      {"cache", {false, set(c.cache, Cache::warm)}},
      {"async", {false, set(c.async, true)}},
      {"blocking", {false, set(c.async, false)}},
      {"integrity", {false, [](const std::string&, const char*) {}}},
      {"soffset", {true, number(c.source_offset)}},
      {"roffset", {true, number(c.target_offset)}},
      {"direction", {true, [&](const auto& name, const char* value) { direction = one_of<Direction>(name, value); }}},
      {"memory", {true, [&](const auto& name, const char* value) { memory = one_of<Memory>(name, value); }}},
      {"device", {true, [&](const auto&, const char* value) { device = value; }}},
      {"printhostnames", {false, set(s.prints_hosts, true)}},
      {"o", {true, [&](const auto&, const char* value) { s.output = value; }}},
      {"help", {false, [](const auto&, const char*) { usage(); }}}};
  if (between_ranks) acts["rank-timeout"] = {true, [](const auto&, const char*) {}};  // known since before MPI began
  else acts["nocache"] = {false, set(c.cache, Cache::cold)};
  if (copies_memory) acts["memcpy"] = acts["integrity"];
  for (const auto& [also, name] : also_called)
    if (const auto known = acts.find(name); known != acts.end()) acts[also] = known->second;
  for (int i = 1; i < argc; ++i) {  // with one dash or two
    const std::string word = argv[i];
    const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size()), equals = word.find('=');
    const std::string name = word.substr(dashes, equals - dashes);
    const auto known = acts.find(name);
    if (dashes == 0 || known == acts.end()) throw Error(ErrorKind::usage, refusal(word, name));
    const auto& [takes_value, act] = known->second;
    const char* value = equals == word.npos ? nullptr : argv[i] + equals + 1;
    if (takes_value && !value && i + 1 < argc) value = argv[++i];
    if (takes_value != (value != nullptr))
      throw Error(ErrorKind::usage, fmt::format("{} takes {} value", word.substr(0, equals), takes_value ? "a" : "no"));
    act(name, value);
  }
  if (device.empty() && devices::gpus().empty()) throw Error(ErrorKind::nothing, devices::why_no_gpu());
  if (device.empty()) device = devices::default_device();
  const TransferCase usual = usual_case(device, direction);
  c.module = usual.module, c.source = usual.source, c.target = usual.target;
  c.direction = usual.direction, c.executor = usual.executor, c.access = usual.access;
  c.memory = memory.value_or(usual.memory);
  if (only_enqueues(c)) c.timing = Timing::gated;
  return s;
}

// NetPIPE's, which counts on from --start: it, half as much more, and the doubles of both. From a power of two they are
// those of sweep_sizes() but for the first perturbation.
std::vector<std::uint64_t> sizes(const Settings& s) {
  sweep_sizes(s.start, s.end, 0);  // throws where the range is none
  std::vector<std::uint64_t> all;
  std::uint64_t step = std::max<std::uint64_t>(s.start / 2, 1), centre = s.start;
  for (int i = s.start > 1;; ++i, centre += step) {
    if (s.only_doubles) step = centre;
    else if (i > 2 && i % 2 != 0) step *= 2;
    const bool is_perturbed = s.perturbation > 0 && !s.only_doubles && step > s.perturbation + 1;
    if (is_perturbed) all.push_back(centre - s.perturbation);
    all.push_back(centre);
    if (is_perturbed) all.push_back(centre + s.perturbation);
    if (step > s.end - centre) return all;
  }
}

// "12.345 Gbps": the largest unit that leaves a 1 before the point.
std::string scaled(double value, std::initializer_list<std::pair<double, const char*>> units) {
  auto unit = units.begin();
  while (std::next(unit) != units.end() && value >= std::next(unit)->first) ++unit;
  return fmt::format("{:.3f} {}", value / unit->first, unit->second);
}

// NetPIPE's last line: the mean of the highest average rates, ten or, where there are no perturbations, five; and that
// of the average times of the first ten sizes.
std::string last_line(std::vector<double> rates, std::vector<double> times, bool is_perturbed) {
  const auto mean_of_first = [](std::vector<double>& all, std::size_t count) {
    all.resize(std::min(all.size(), count));
    return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  };
  std::ranges::sort(rates, std::greater());
  return fmt::format(
      "\nCompleted with max bandwidth {} {} latency\n",
      scaled(mean_of_first(rates, is_perturbed ? 10 : 5),
             {{1, "bps"}, {1e3, "Kbps"}, {1e6, "Mbps"}, {1e9, "Gbps"}, {1e12, "Tbps"}}),
      scaled(mean_of_first(times, 10), {{1e-9, "nsecs"}, {1e-6, "usecs"}, {1e-3, "msecs"}, {1, "secs"}}));
}

void measure(const Settings& s) {
  const Module* module = find_module(module_name);
  const DeviceInfo device = devices::find(between_ranks ? "host" : device_of(s.question));
  std::vector<Step<Transfers>> steps;
  for (const std::uint64_t bytes : sizes(s)) steps.push_back({s.question, {bytes}});
  if (const auto why = module->refuses(steps.back())) throw Error(ErrorKind::usage, *why);
  const MemoryNeed free = module->available(s.question), need = module->needs(steps);
  if (need.host_bytes > free.host_bytes || need.device_bytes > free.device_bytes)
    throw Error(ErrorKind::usage, "--end: not enough free memory for " + text_of(steps.back().axes));
  const auto runner = opened(*module, steps);
  const bool silent = is_silent();
  std::ofstream out(silent ? "/dev/null" : s.output);
  if (!out) throw Error(ErrorKind::usage, "-o: cannot write '" + s.output + "'");
  const auto schedule = agreed(classic_schedule(s.schedule));
  if (!silent) {
    for (int rank = 0; s.prints_hosts && rank < rank_count(); ++rank) std::cout << one_line(host_of(rank)) << std::endl;
    const std::string several = pairs() > 1 ? fmt::format(", {} pairs at once", pairs()) : "";
    std::cerr << one_line(fmt::format("{}{} on {}, {}, to {}", title(s.question), several, device.name,
                                      schedule->text(), s.output))
              << '\n';
  }
  std::vector<double> rates, times;
  for (const Step<Transfers>& step : steps) {
    const auto measured = npgpu::measure(*runner, *schedule, step, {});
    if (!measured->mismatch.empty()) throw Error(ErrorKind::failed, "payload wrong: " + measured->mismatch);
    TransferSeries one;
    one.question = s.question;
    one.visits = {measured->visit};
    one.samples = measured->samples;
    std::ostringstream line;
    export_npout(line, one, pairs());
    out << line.str() << std::flush;
    if (!out) throw Error(ErrorKind::failed, "-o: cannot write '" + s.output + "'");
    if (silent || line.str().empty()) continue;
    std::cerr << line.str();
    const bool duplex = s.question.pattern == Pattern::duplex;
    times.push_back((duplex ? results_of_all_lanes(one) : results(one)).front().mean_us * 1e-6);
    rates.push_back(static_cast<double>(step.axes.bytes) * 8 * (duplex ? 2 : 1) * pairs() / times.back());
  }
  if (!times.empty()) std::cout << last_line(rates, times, s.perturbation && !s.only_doubles);
}

}  // namespace

int main(int argc, char** argv) {
  bool all = true;  // ranks fail alike
  try {
    meet_the_others(argc, argv);
    const Settings asked = settings(argc, argv);
    all = false;
    attended([&] { measure(asked); });
    return exit_code::done;
  } catch (const std::exception& e) {
    if (!is_silent()) std::cerr << "NP" << module_name << ": " << one_line(e.what()) << '\n' << std::flush;
    const auto* error = dynamic_cast<const Error*>(&e);
    const int code = error ? exit_code_of(error->kind()) : exit_code::failed;
    part(code, all);
    return code;
  }
}

// npgpu transfer: one case or many, over sizes; on this machine, or between the ranks of a job.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>

#include "netpipe/cli/characterize.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/engine/copy_cases.hpp"
#include "netpipe/ranks/group.hpp"
#include "netpipe/ranks/rank_set.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

// ---- on this machine ----

constexpr std::uint64_t max_host_node = 1023;  // Linux numbers no more

// NUMA nodes of the device's host that buffers and threads are put on; -1: as binding has it.
std::vector<int> host_nodes_of(const Options& options, const DeviceInfo& device) {
  const auto words = options.maybe("host-node");
  if (!words) return {-1};
  if (options.on("no-bind"))
    throw Error(ErrorKind::usage, "--host-node and --no-bind exclude each other: leave one of them out");
  if (*words != "all") {
    std::vector<int> all;
    for (const std::uint64_t node : parse_counts("host-node", *words, 0, max_host_node))
      all.push_back(static_cast<int>(node));
    return all;
  }
  if (!device.host_nodes.empty()) return device.host_nodes;
  throw Error(ErrorKind::usage, "--host-node all: it is not known which NUMA nodes the host of " + device.id + " has");
}

Timing standard_timing(const TransferCase& c) {
  if (c.async && is_staged_peer(c)) return Timing::event;
  return only_enqueues(c) && c.direction != Direction::h2h ? Timing::gated : Timing::host;
}

Plan transfer_plan(const Options& options) {
  refuse_targets_without_peers(options);
  if (options.has("chunk"))
    throw Error(ErrorKind::usage, "--chunk: only messages between ranks go in chunks: --module mpi or ucx");
  const auto axes = axes_of(transfer_sizes(options));
  Plan plan;
  const auto add_case = [&](const Module& module, const DeviceInfo& device, TransferCase c) {
    for (const Memory memory : names_or(options, "memory", c.memory)) {
      c.memory = memory;
      for (const Timing timing : names_or(options, "timing", standard_timing(c))) {
        c.timing = timing;
        add<Transfers>(
            plan, module, device,
            steps_of<Transfers>(c, is_of_words(c.pattern) ? std::vector{TransferSize{single_word_bytes}} : axes));
      }
    }
  };
  const auto accesses = names_or(options, "access", Access::write);
  const auto on_device = [&](const Module& module, const DeviceInfo& device, std::optional<Executor> executor,
                             int host_node) {
    const auto usual = device.id == "host" ? Direction::h2h : Direction::h2d;
    for (const Cache cache : names_or(options, "cache", Cache::warm))
      for (const Pattern pattern : names_or(options, "pattern", Pattern::stream))
        for (const Direction direction : names_or(options, "direction", usual)) {
          TransferCase c = case_on(std::string(module.name()), device.id, direction);
          c.cache = cache;
          c.pattern = pattern;
          c.async = options.on("async");
          c.bind = !options.on("no-bind");
          c.host_node = host_node;
          c.source_offset = parse_size("source-offset", options.text("source-offset"));
          c.target_offset = parse_size("target-offset", options.text("target-offset"));
          if (c.executor == Executor::copy_engine) c.executor = executor.value_or(module.executor());
          if (direction != Direction::peer) {
            add_case(module, device, c);
            continue;
          }
          c.memory = Memory::device;
          for (const Access access : accesses)
            for (const std::string& target : targets_of(options, device.id)) {
              c.access = access;
              c.target = target;
              add_case(module, device, c);
            }
        }
  };
  std::vector<std::optional<Executor>> executors{std::nullopt};
  if (const auto words = options.maybe("executor")) {
    const auto given = parse_names<Executor>("executor", *words);
    executors.assign(given.begin(), given.end());
  }
  const auto ids = ids_named(options.maybe("device").value_or(devices::default_device()));
  std::vector<const Module*> named;
  if (const auto names = options.maybe("module"))  // looked at before any device is asked
    for (const std::string& name : split_names("module", *names)) named.push_back(&module_named(name));
  for (const std::string& id : ids) {
    const DeviceInfo device = devices::find(id);
    for (const auto executor : executors) {
      const Module& usual = default_module(device, executor.value_or(Executor::copy_engine));
      for (const Module* module : named.empty() ? std::vector{&usual} : named)
        for (const int host_node : host_nodes_of(options, device)) on_device(*module, device, executor, host_node);
    }
  }
  return plan;
}

// ---- between the ranks of a job ----

// "cuda" is the GPU of the rank: the first rank of a node has the first.
DeviceInfo device_of_rank(const std::string& word, int local_rank) {
  for (const auto& family : devices::families()) {
    if (!family->has_gpus() || family->kind() != word) continue;
    const std::vector<DeviceInfo> all = family->list();
    if (all.empty()) throw Error(ErrorKind::nothing, "--device " + word + ": " + family->why_none());
    return all[static_cast<std::size_t>(local_rank) % all.size()];
  }
  return devices::find(word);
}

// What both ends are asked, with the lower rank as the source.
std::vector<TransferCase> cases_between(const Options& options, const ranks::Place& source,
                                        const ranks::Place& target) {
  if ((source.device == "host") != (target.device == "host"))
    throw Error(ErrorKind::usage, "--device: " + ranks::text_of(source) + " and " + ranks::text_of(target) +
                                      ": both ends must be hosts, or both GPUs");
  std::vector<TransferCase> all;
  TransferCase c = ranks::rank_case(source, target, options.text("module"));
  for (const Direction direction : names_or(options, "direction", c.direction))
    if (direction != c.direction)
      throw Error(ErrorKind::usage,
                  fmt::format("--direction {}: messages between {} are {}: name the ends with --device",
                              name(direction), c.direction == Direction::h2h ? "hosts" : "GPUs", name(c.direction)));
  const bool on_hosts = c.direction == Direction::h2h;
  for (const Pattern pattern : names_or(options, "pattern", Pattern::pingpong))
    for (const Access access : names_or(options, "access", c.access))
      for (const Timing timing : names_or(options, "timing", Timing::host))
        for (const Memory memory : names_or(options, "memory", c.memory))
          for (const Cache cache : names_or(options, "cache", Cache::warm)) {
            TransferCase one = c;
            one.pattern = pattern;
            one.access = access;
            one.timing = timing;
            one.memory = memory;
            one.cache = cache;
            one.async = options.on("async");
            one.bind = on_hosts || !options.on("no-bind");  // a host is as the job's launcher has it
            one.source_offset = parse_size("source-offset", options.text("source-offset"));
            one.target_offset = parse_size("target-offset", options.text("target-offset"));
            const auto chunks = options.maybe("chunk");
            if (!chunks || access != Access::staged) {
              all.push_back(one);
              continue;
            }
            for (const std::string& chunk : split_words("chunk", *chunks)) {
              one.chunk_bytes = chunk == "advised" ? 0 : parse_size("chunk", chunk, 1);
              all.push_back(one);
            }
          }
  return all;
}

Plan plan_of(const Options& options, ranks::RankSet& all) {
  if (options.maybe("host-node"))
    throw Error(ErrorKind::usage,
                "--host-node: ranks are where the job's launcher puts them: use mpirun --bind-to or srun --cpu-bind");
  const std::vector<std::uint64_t> sizes = transfer_sizes(options);
  if (sizes.back() > ranks::World::max_message_bytes)
    throw Error(ErrorKind::usage, "--end: a message has at most 2 GiB - 1 B: lower --end or --sizes");
  const DeviceInfo device = device_of_rank(options.maybe("device").value_or("host"), all.local_rank());
  if (device.simulated)
    throw Error(ErrorKind::usage, "--device " + device.id + ": simulated devices send no messages: use host or cuda");
  const std::vector<std::string> ends = all.everyone().of_all(device.id);
  const Module& module = module_named(options.text("module"));
  Plan plan;
  for (const int partner : ranks::partners_of(all.rank(), all.size())) {
    const int low = std::min(all.rank(), partner), high = std::max(all.rank(), partner);
    const auto place = [&](int rank) { return ranks::Place{ends[static_cast<std::size_t>(rank)], rank}; };
    std::vector<Step<Transfers>> steps;
    for (const TransferCase& c : cases_between(options, place(low), place(high)))
      for (const TransferSize& size : axes_of(sizes)) steps.push_back({c, size});
    add<Transfers>(plan, module, device, steps);
  }
  return plan;
}

// What both ranks of a pair must have planned alike: free memory may differ.
std::string difference(const Plan& plan, ranks::RankSet& all) {
  std::string wrong;
  for (const int partner : ranks::partners_of(all.rank(), all.size())) {
    std::size_t points = 0;
    for (const Batch<Transfers>& batch : plan.of<Transfers>())
      if (batch.backend->consensus(batch.steps.front().question) == &all.with(partner)) points = batch.steps.size();
    const std::string mine = fmt::format("{} points{}", points, plan.left_out.empty() ? "" : ": " + plan.left_out[0]);
    for (const std::string& one : all.with(partner).of_all(mine))
      if (one != mine && wrong.empty())
        wrong = fmt::format("{} plans {}, and {} plans {}", all.name(all.rank()), mine, all.name(partner), one);
  }
  return wrong;
}

// "node.h5" -> "node-rank1.h5".
std::string of_rank(const std::string& output, int rank) {
  const std::filesystem::path path(output);
  std::filesystem::path named = path.parent_path() / path.stem();
  named += fmt::format("-rank{}", rank);
  named += path.extension();
  return named.string();
}

std::string failure(const std::function<void()>& work, ErrorKind& kind) {
  try {
    work();
  } catch (const Error& e) {
    kind = e.kind();
    return e.what();
  }
  return {};
}

// Where the work throws Error on one rank it ends on all: the exit code. That rank, or of equal ones the first, says
// why.
std::optional<int> attempt(ranks::RankSet& all, const std::function<void()>& work) {
  ErrorKind kind = ErrorKind::failed;
  const std::string mine = failure(work, kind);
  const std::vector<std::string> said =
      all.everyone().of_all(mine.empty() ? mine : std::to_string(exit_code_of(kind)) + ' ' + mine);
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (said[i].empty()) continue;
    const std::size_t blank = said[i].find(' ');
    if (all.rank() == 0) {
      bool same = true;  // an option that all refuse is nobody's in particular
      for (const std::string& one : said) same = same && one == said[i];
      complain((same ? "" : all.name(static_cast<int>(i)) + ": ") + said[i].substr(blank + 1));
    }
    return std::stoi(said[i].substr(0, blank));
  }
  return std::nullopt;
}

// Where a trial does not end, by another thread: it says who is gone, and the process ends.
[[noreturn]] void save_and_leave(bool stopped, const ranks::RankSet& all, const std::string& output,
                                 const std::function<void(const std::string& why)>& save) {
  const std::string why = "a trial does not end: " + all.lost();
  std::string saved = "trace saved: " + output;
  try {
    save(why);
  } catch (const Error& e) {
    saved = e.what();
  }
  complain((stopped ? "stopped by a signal: " : "") + why + "; " + saved);
  _exit(stopped ? exit_code::stopped : exit_code::failed);
}

int measure_as_rank(const Options& given, ranks::RankSet& all) {
  MeasureOptions options;
  std::optional<Plan> plan;
  const auto attempt = [&](const std::function<void()>& what) { return cli::attempt(all, what); };
  if (all.size() < 2)
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "--module {0} needs two ranks or more, and this job has one: mpirun -n 2 npgpu transfer --module {0}",
            given.text("module")));
  if (const auto code = attempt([&] { options = measure_options(given); })) return *code;
  const std::string output = all.everyone().of_leader(options.output);
  options.output = of_rank(output, all.rank());
  if (const auto code = attempt([&] {
        std::error_code ignored;
        if (options.if_exists == IfExists::refuse && !options.dry_run &&
            std::filesystem::exists(options.output, ignored))
          throw Error(ErrorKind::usage, options.output + ": exists; --force replaces it, --resume continues it");
      }))
    return *code;
  options.ranks = {&all.everyone(),
                   [&] { return all.facts(); },
                   [&] { return all.chunks(); },
                   [&](const Facts& facts) { all.recall_chunks(facts); },
                   [&] { return all.heard(); },
                   parse_duration("rank-timeout", given.text("rank-timeout")) + Seconds{1},
                   output,
                   [&](bool stopped, const auto& save) { save_and_leave(stopped, all, options.output, save); }};
  if (all.rank() != 0) {
    options.quiet = true;
    options.json = false;
    options.progress = ProgressForm::none;
  }
  if (const auto code = attempt([&] {
        plan = plan_of(given, all);
        refuse_empty(*plan);
      }))
    return *code;
  const std::string differs = difference(*plan, all);
  if (const auto code = attempt([&] {
        if (!differs.empty()) throw Error(ErrorKind::failed, "the ranks do not plan alike: " + differs);
      }))
    return *code;
  if (options.dry_run) return all.rank() == 0 ? print_plan(*plan, options) : exit_code::done;
  const CampaignResult campaign = run_campaign(*plan, options);
  if (all.rank() == 0) {
    print_summary(campaign, options, print_report);
  } else {
    for (const std::string& one : campaign.failures) complain(all.name(all.rank()) + ": " + one);
  }
  std::cout << std::flush;
  std::cerr << std::flush;
  if (campaign.rank_lost) all.world().abort(exit_code_of(campaign));  // who is not here cannot say good-bye
  return exit_code_of(campaign);
}

// Where one of them does not come there is no trace yet, and who is here cannot end MPI without it.
ranks::RankSet& met(const std::string& module, const ranks::Patience& patience) {
  try {
    ranks::world(patience.until_parted, "--module " + module + (module == "mpi" ? "" : " begins through MPI"));
    return ranks::connect(module, patience);
  } catch (const RankLost& e) {
    complain(e);
    ranks::world().abort(exit_code_of(e.kind()));
    throw;  // not reached
  }
}

// --module mpi, or ucx: the same program in every rank of a job. Throws Error(usage) where it names others, too.
bool is_between_ranks(const Options& options) {
  const auto names = options.maybe("module");
  if (!names) return false;
  const std::vector<std::string> all = split_names("module", *names);
  for (const std::string& one : all) {
    const Module* const module = find_module(one);
    if (!module || module->device_kind() != "ranks") continue;
    if (all.size() > 1)
      throw Error(ErrorKind::usage,
                  fmt::format("--module {}: {} measures between ranks, through one library in a job: name it alone",
                              *names, one));
    return true;
  }
  return false;
}

// The whole command: each rank measures with its partners and writes a trace of its own; the first one prints. Returns
// the exit code.
int measure_between_ranks(const Options& options) {
  ranks::Patience patience;
  patience.until_parted = parse_duration("rank-timeout", options.text("rank-timeout"));
  patience.stopped = stop_asked;
  ranks::RankSet* here = nullptr;
  try {
    here = &met(options.text("module"), patience);
  } catch (const Error& e) {
    // All ranks fail alike, and the first says why.
    if (!ranks::is_open()) throw;
    if (ranks::world().rank() == 0) complain(e);
    ranks::end(patience.until_parted);  // after it: mpirun ends all when one is gone with this code
    return exit_code_of(e.kind());
  }
  ranks::RankSet& all = *here;
  catch_signals();  // after MPI, which may have handlers of its own
  try {
    const int code = measure_as_rank(options, all);
    constexpr Seconds printing{60};  // the others wait while the first one prints
    ranks::end(patience.until_parted + (all.rank() == 0 ? Seconds{0} : printing));
    return code;
  } catch (const Error& e) {
    if (all.size() < 2 || !ranks::is_open()) throw;
    // The others wait for this rank: there is no other way to reach them.
    complain(all.name(all.rank()) + ": " + e.what());
    all.world().abort(exit_code_of(e.kind()));
    return exit_code_of(e.kind());  // not reached
  }
}

}  // namespace

std::vector<std::uint64_t> transfer_sizes(const Options& options) {
  if (const auto text = options.maybe("sizes")) return parse_sizes("sizes", *text);
  return sweep_sizes(parse_size("start", options.text("start"), 1), parse_size("end", options.text("end"), 1),
                     parse_size("perturbation", options.text("perturbation")));
}

Command transfer() {
  return {"transfer",
          "measure memory copies over sizes, one case or many",
          "Measures memory copies over sizes. Where options take lists, every combination that can run is measured; "
          "why the others cannot is printed. With --module mpi or ucx, started by mpirun or srun, it measures messages "
          "between the ranks of a job: every rank with every other one, each with one at a time. Rank 0 prints; each "
          "rank writes a trace, NAME-rank0.h5 and so on, and npgpu merge puts them into one file.",
          {},
          {"npgpu transfer --direction h2d,d2h --memory pinned,pageable", "npgpu transfer --device host --end 1MiB",
           "npgpu transfer --async --pattern duplex --schedule classic",
           "npgpu transfer --direction peer --access write,read --executor sm-kernel --async",
           "npgpu transfer --device cuda:0 --async --direction h2d,d2h --host-node all",
           "npgpu transfer --module mpi --pattern pingpong,stream,duplex"},
          with_measure_options(
              {{"What is measured (lists: a,b,c)",
                {Option("device", {}, "A list. Default: the first GPU if there is one, else host."),
                 Option("module", {}, "Default: memcpy, cudaMemcpy, clEnqueue or simulated, as the device needs."),
                 Option("pattern", {}, "Default: stream, of messages between ranks pingpong."),
                 Option("direction", {}, "Default: h2d, on the host h2h."),
                 Option("to", {}, "A list. Default: all others of the node."),
                 Option("access", {}, "Default: write, of messages between GPUs staged."),
                 Option("executor", {}, "Default: as the module has it, copy-engine for most."),
                 Option("memory", {}, "Default: pinned, on the host pageable."), "async",
                 Option("timing", {}, "Default: gated for asynchronous copies, else host."), Option("cache", "warm"),
                 Option("source-offset", "0"), Option("target-offset", "0"), "no-bind",
                 Option("host-node", {}, "Default: that of the device.")}},
               {"Messages between ranks", {Option("chunk", {}, "Default: advised."), Option("rank-timeout", "60s")}},
               {"Sizes", {Option("start", "1"), Option("end", "192MiB"), Option("perturbation", "3"), "sizes"}}}),
          [](const Options& options) {
            return is_between_ranks(options) ? measure_between_ranks(options) : measure(options, transfer_plan);
          }};
}

const Joined<ListedCommand> listed_transfer({Asks::able, 3, transfer});

}  // namespace npgpu::cli

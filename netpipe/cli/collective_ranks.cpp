// npgpu collectives in the ranks of a job: each has one GPU, the first one measures, and the others do what it asks.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>
#include <string_view>
#include <thread>

#include "netpipe/cli/check_plan.hpp"
#include "netpipe/cli/collectives.hpp"
#include "netpipe/cli/collectives_plan.hpp"
#include "netpipe/cli/matrix_plan.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/ranks.hpp"
#include "netpipe/cli/signals.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/collectives/company.hpp"
#include "netpipe/ranks/ends.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

// What a rank sends the others of itself.
struct RankGpu {
  std::string id, uuid, name, library, pid;

  std::string text() const { return fmt::format("{}\n{}\n{}\n{}\n{}", id, uuid, name, library, pid); }
  static RankGpu of(std::string_view text) {
    RankGpu gpu;
    for (std::string* const part : {&gpu.id, &gpu.uuid, &gpu.name, &gpu.library, &gpu.pid}) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      *part = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return gpu;
  }
};

// Of the GPUs that this host shows, or that --device names, that of the rank's number on its host; the only one, where
// the launcher shows each rank its own. A simulated node has no hosts.
DeviceInfo gpu_of_rank(const Options& options, const ranks::RankSet& all) {
  const std::vector<DeviceInfo> gpus = node_gpus(options, "collectives need GPUs");
  const int number = gpus.front().simulated ? all.rank() : all.local_rank();
  return gpus[static_cast<std::size_t>(number) % gpus.size()];
}

// Why these ranks cannot work together; empty if they can.
std::string why_not_together(const std::vector<RankGpu>& gpus, const ranks::RankSet& all) {
  std::set<std::string> taken;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const RankGpu &first = gpus.front(), &own = gpus[i];
    const std::string who = all.name(static_cast<int>(i));
    const std::string kind(devices::kind_of(own.id));
    if (kind != devices::kind_of(first.id))
      return fmt::format("{} has {}, and rank 0 {}: all need GPUs of one kind", who, own.id, first.id);
    // The GPU of a host, and the simulated one of a node.
    const std::string& id = own.uuid.empty() ? own.id : own.uuid;
    if (!taken.insert(kind == "sim" ? own.id : all.host(static_cast<int>(i)) + ' ' + id).second)
      return fmt::format("{} has the GPU {}, as a rank before it: start as many ranks on a host as it has GPUs", who,
                         own.id);
    if (own.library != first.library)
      return fmt::format("{} has {}, and rank 0 {}: give all the same, with NPGPU_NCCL", who, own.library,
                         first.library);
  }
  return {};
}

// Copies between the GPUs are measured where this process sees all of them under the names that the ranks have.
std::vector<DeviceInfo> all_seen(const std::vector<RankGpu>& gpus, const ranks::RankSet& all) {
  std::vector<DeviceInfo> seen;
  for (std::size_t i = 0; i < gpus.size(); ++i) try {
      const bool is_here = gpus[i].id.starts_with("sim:") || all.host(static_cast<int>(i)) == all.host(0);
      if (!is_here) return {};
      seen.push_back(devices::find(gpus[i].id));
      if (seen.back().uuid != gpus[i].uuid) return {};
    } catch (const Error&) {
      return {};
    }
  return seen;
}

Plan plan_of_ranks(const Options& options, const DeviceInfo& own, const std::vector<RankGpu>& gpus,
                   const ranks::RankSet& all) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < gpus.size(); ++i) ids.push_back(ranks::text_of({gpus[i].id, static_cast<int>(i)}));
  const auto steps = collective_steps(options, ids, true);
  const std::vector<DeviceInfo> seen = all_seen(gpus, all);
  Plan plan = seen.empty() ? operations_plan({own}, steps) : collectives_plan(seen, steps);
  require_steps(plan);
  if (are_peers_mixed(seen)) add_peer_copies(plan, seen);
  return plan;
}

Facts facts_of_ranks(const std::vector<RankGpu>& gpus, ranks::RankSet& all) {
  Facts facts{{"rank", std::int64_t{0}}, {"ranks", std::int64_t{all.size()}}, {"library", all.world().library()}};
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const std::string prefix = fmt::format("rank{}_", i);
    facts.emplace_back(prefix + "is", all.name(static_cast<int>(i)));
    facts.emplace_back(prefix + "device", gpus[i].id);
    facts.emplace_back(prefix + "device_name", gpus[i].name);
    if (!gpus[i].uuid.empty()) facts.emplace_back(prefix + "device_uuid", gpus[i].uuid);
  }
  return facts;
}

// On the first rank.
int lead(const Options& given, MeasureOptions options, const DeviceInfo& own, const std::vector<RankGpu>& gpus,
         ranks::RankSet& all, collectives::Company& company) {
  const Plan plan = plan_of_ranks(given, own, gpus, all);
  if (options.dry_run) return print_plan(plan, options);
  options.ranks.facts = [&, is_said = false]() mutable {
    return std::exchange(is_said, true) ? Facts{} : facts_of_ranks(gpus, all);
  };
  // Asked between trials. After a signal it is asked once who of the others is there: mpirun sends it when one is gone.
  options.stop = [&company, is_called = false, own = std::this_thread::get_id()]() mutable {
    if (std::this_thread::get_id() != own) return stop_asked();  // only one thread sends messages
    if (!stop_asked()) company.still_here();
    else if (!std::exchange(is_called, true)) company.call_roll();
    return stop_asked();
  };
  constexpr Seconds longer{10};
  options.ranks.patience = 2 * parse_duration("rank-timeout", given.text("rank-timeout")) + longer;
  options.ranks.leave = [&](bool stopped, const auto& save) {
    save_and_leave(stopped, "an operation with the other ranks", all, options.output, save);
  };
  const CampaignResult campaign = run_campaign(plan, options);
  const int code = end_collectives(campaign, options);
  std::cout << std::flush;
  if (campaign.rank_lost) all.world().abort(exit_code_of(campaign));  // who is not here cannot say good-bye
  return code;
}

int measure_in_rank(const Options& given, ranks::RankSet& all) {
  if (all.size() < 2)
    throw Error(
        ErrorKind::usage,
        "this rank of a job finds no other one: start npgpu with the mpirun of the MPI that libnpgpu_mpi.so was "
        "built for, or with srun --mpi=pmix");
  MeasureOptions options;
  DeviceInfo own;
  RankGpu mine;
  if (const auto code = attempt(all, [&] {
        options = measure_options(given);
        if (given.text("processes") != "one")
          throw Error(ErrorKind::usage, "--processes: in a job each rank has one GPU: leave it out");
        own = gpu_of_rank(given, all);
        mine = {own.id, own.uuid, own.name, collectives::gpu_parts(own.id).library(), std::to_string(::getpid())};
      }))
    return *code;
  std::vector<RankGpu> gpus;
  for (const std::string& text : all.everyone().of_all(mine.text())) gpus.push_back(RankGpu::of(text));
  const std::string why = why_not_together(gpus, all);
  if (const auto code = attempt(all, [&] {
        if (!why.empty()) throw Error(ErrorKind::usage, why);
      }))
    return *code;
  std::vector<collectives::Company::Member> members;
  for (int i = 0; i < all.size(); ++i) {
    const RankGpu& gpu = gpus[static_cast<std::size_t>(i)];
    members.push_back({gpu.id, all.host(i)});
    if (i != all.rank() && all.host(i) == all.host(all.rank()))
      collectives::gpu_parts(own.id).count_as_own(std::atol(gpu.pid.c_str()));
  }
  collectives::Company& company = collectives::begin_company(
      all, std::move(members), parse_duration("rank-timeout", given.text("rank-timeout")), stop_asked);
  if (all.rank() != 0) {
    company.serve();
    return exit_code::done;
  }
  int code = exit_code::done;
  try {
    code = lead(given, options, own, gpus, all, company);
  } catch (const Error& e) {
    complain(e);
    code = exit_code_of(e.kind());
  }
  std::cout << std::flush;
  company.dismiss();
  return code;
}

}  // namespace

bool is_in_job() {
  for (const char* const size : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const char* const text = std::getenv(size); text && std::string_view(text) != "1") return true;
  return false;
}

int collectives_in_ranks(const Options& options) {
  // The others stay until the first one dismisses them, or mpirun kills them.
  const auto is_urgent = [] { return ranks::is_open() && ranks::world().rank() == 0 && stop_asked(); };
  return in_all_ranks(options, {"mpi", "collectives of a job's ranks begin through MPI", is_urgent, measure_in_rank});
}

}  // namespace npgpu::cli

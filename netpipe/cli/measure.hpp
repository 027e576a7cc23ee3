// What every measuring command has: options (where the trace goes, how points are repeated, what is printed), its plan,
// the campaign, and what is printed at its end.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "netpipe/cli/options.hpp"
#include "npgpu/measuring/campaign.hpp"
#include "npgpu/vocabulary/trace.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

namespace cli {

enum class ProgressForm { none, bar, cases, points };

struct MeasureOptions : Settings {
  ProgressForm progress = ProgressForm::cases;
  bool quiet = false;
  bool json = false;
  bool dry_run = false;
};

// What every measuring command has, and `npgpu help measuring` prints.
const std::vector<OptionGroup>& options_of_all();
std::string help_measuring(std::size_t width);
// A command's own options, and these.
std::vector<OptionGroup> with_measure_options(std::vector<OptionGroup> own);
MeasureOptions measure_options(const Options&);
// A name of its own for each run, so that nothing measured is ever in the way of the next.
std::string default_output();
// Makes the folder of such names where this is one.
void make_default_folder(const std::string& output);

}  // namespace cli

template <>
inline constexpr std::array<std::string_view, 4> names_of<cli::ProgressForm>{"none", "bar", "cases", "points"};

}  // namespace npgpu

namespace npgpu::cli {

// The devices that --device names, else the first GPU. Throws Error(nothing), as "calls need a GPU: ...".
std::vector<std::string> gpu_ids(const Options&, const std::string& what);
// What `steps(plan, backend, device)` says of each device, by all backends of the kind that reach it. Throws
// Error(usage) where none does: "--device: 'host' <why>".
template <class K, class Steps>
Plan plan_for(const std::vector<std::string>& ids, const std::string& why, const Steps& steps) {
  Plan plan;
  for (const std::string& id : ids) {
    const DeviceInfo device = devices::find(id);
    const auto some = reaching(backends<K>(), devices::kind_of(id));
    if (some.empty()) throw Error(ErrorKind::usage, "--device: '" + id + "' " + why);
    for (const Backend<K>* backend : some) add<K>(plan, *backend, device, steps(plan, *backend, device));
  }
  return plan;
}
// The devices of a list: names of devices, and of nodes, which stand for all of their GPUs. Throws Error.
// The devices of a list, with the GPUs of a node in place of its name.
std::vector<std::string> ids_named(const std::string& list);
std::vector<DeviceInfo> devices_named(const std::string& list);
// Throws Error(usage) where --to is given and no copy is between two devices.
void refuse_targets_without_peers(const Options&);
// Where copies between two devices go: --to, else all others of the node. Throws Error(nothing) where there is none.
std::vector<std::string> targets_of(const Options&, const std::string& source);
// Throws Error(usage) naming the modules that there are, or why this one was left out of the build.
const Module& module_named(const std::string& name);

// Measures until signals ask to stop (catch_signals() before it), and prints progress on standard error. Throws Error
// if the trace cannot be written.
CampaignResult run_campaign(const Plan&, const MeasureOptions&);
int exit_code_of(const CampaignResult&);

// Throws Error(usage) where the plan has no point: why the first thing was left out.
void refuse_empty(const Plan&);
// What would be measured, how long that takes, and what is left out, as a document.
void plan_json(std::ostream&, const Plan&, const MeasureOptions&);
// For --dry-run: each batch with its number of points, its time and its memory. Returns the exit code.
int print_plan(const Plan&, const MeasureOptions&);

// ", 3 kept from before, 2 disturbed (others used the host's processors)"
std::string rest_of(const Tally&);

// What npgpu report prints of a trace.
void print_report(const Trace&, const std::string& path);

// The whole of a measuring command. At its end `summary` prints, unless --json or --quiet was given. Returns the exit
// code.
using Summary = std::function<void(const Trace&, const std::string& path)>;
int measure(const Options&, Plan (*plan_of)(const Options&), const Summary& summary = print_report);
// On standard error, after a signal. `who`: what is said of who continues.
void say_how_to_continue(const std::string& output, const char* who = "");
void print_summary(const CampaignResult&, const MeasureOptions&, const Summary&);

// The same for a command that ends in its own way: `again` measures more of the plan where the campaign came to its
// end, and `end` prints, and returns the exit code.
using CampaignEnd = std::function<int(const CampaignResult&, const MeasureOptions&)>;
using CampaignMore = void (*)(const Plan&, const MeasureOptions&, CampaignResult&);
int measure(const Options&, const MeasureOptions&, Plan (*plan_of)(const Options&), const CampaignEnd& end,
            CampaignMore again = nullptr);

}  // namespace npgpu::cli

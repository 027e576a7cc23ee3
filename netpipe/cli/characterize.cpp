#include "netpipe/cli/characterize.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <tuple>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/jobs/experiments.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/questions.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

std::string kind_of_choice(const std::string& word) { return word.substr(0, word.find(':')); }

}  // namespace

bool is_kind(const std::string& word) { return std::ranges::find(Kinds::names, word) != Kinds::names.end(); }

Arguments spread_cases(const Arguments& arguments) {
  Arguments all;
  bool after_case = false;  // the word before is a value of --case
  for (const std::string& word : arguments) {
    if (after_case && is_kind(kind_of_choice(word))) all.push_back("--case");
    else after_case = word.starts_with("--case=") || (!all.empty() && all.back() == "--case");
    all.push_back(word);
  }
  return all;
}

void choose_cases(const Options& options, Trace& trace) {
  if (!options.has("case")) return;
  struct Chosen {
    bool all = false;
    std::set<std::uint64_t> numbers;
  };
  std::map<std::string, Chosen> chosen;
  for (const std::string& text : options.texts("case")) {
    std::istringstream several(text);
    for (std::string word; several >> word;) {
      const std::string kind = kind_of_choice(word);
      if (!is_kind(kind)) refuse_word("case", kind, {Kinds::names.begin(), Kinds::names.end()});
      if (kind == word) {
        chosen[kind].all = true;
      } else {
        for (const std::uint64_t number : parse_counts("case", word.substr(kind.size() + 1), 0, UINT32_MAX))
          chosen[kind].numbers.insert(number);
      }
    }
  }
  for_each_kind([&]<class K>() {
    auto& all = trace.of<K>();
    const Chosen& wanted = chosen[std::string(K::name)];
    if (!wanted.numbers.empty() && *wanted.numbers.rbegin() >= all.size())
      throw ListedError(
          ErrorKind::usage,
          fmt::format("--case: there is no {}:{} in the trace, which has", K::name, *wanted.numbers.rbegin()),
          cases_of(trace));
    std::vector<Series<K>> some;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (wanted.all || wanted.numbers.count(i)) some.push_back(std::move(all[i]));
    all = std::move(some);
  });
}

std::vector<std::string> cases_of(const Trace& trace) {
  std::vector<std::string> lines;
  for_each_kind([&]<class K>() {
    for (std::size_t i = 0; i < trace.of<K>().size(); ++i)
      lines.push_back(fmt::format("{:>14}  {}", fmt::format("{}:{}", K::name, i), title(trace.of<K>()[i].question)));
  });
  if (lines.empty()) lines.emplace_back("nothing");
  return lines;
}

// npgpu characterize: the plan a user would choose, for every GPU, or for the host where there is none.

namespace {

// What moves the bytes of most programs: both directions, the memories a program can choose, what a blocking call
// costs, what the device itself reaches, both directions at once. A quick run asks the first nine.
constexpr CopyQuestion usual_plan[] = {
    CopyQuestion::to_device,        CopyQuestion::to_host,
    CopyQuestion::within_device,    CopyQuestion::within_device_cold,
    CopyQuestion::both_ways,        CopyQuestion::to_device_blocking,
    CopyQuestion::to_host_blocking, CopyQuestion::to_device_pageable,
    CopyQuestion::to_host_pageable, CopyQuestion::to_device_write_combined,
    CopyQuestion::to_device_queued, CopyQuestion::to_host_queued,
};
// The ping-pong of Allada et al. 2009 at 2^k only: beyond the two directions it shows that they add up.
constexpr CopyQuestion pingpong_plan[] = {CopyQuestion::there_and_back, CopyQuestion::there_and_back_pageable};
// The device's other modules where the cost of a call shows, at 2^k.
constexpr CopyQuestion host_timed_plan[] = {CopyQuestion::to_device_blocking, CopyQuestion::to_host_blocking,
                                            CopyQuestion::to_device_queued};
constexpr CopyQuestion host_plan[] = {CopyQuestion::within_host, CopyQuestion::within_host_cold,
                                      CopyQuestion::there_and_back_in_host, CopyQuestion::within_host_both_ways};

enum class Sizes { all, powers_of_two, powers_of_four };  // 2^k and 1.5*2^k; and of these 2^k or 4^k alone

void add_transfers(Plan& plan, const Module& module, const DeviceInfo& device, std::span<const CopyQuestion> questions,
                   Sizes which) {
  auto sizes = sweep_sizes(1, 192 * MiB, 0);
  if (which != Sizes::all) std::erase_if(sizes, [](std::uint64_t n) { return !std::has_single_bit(n); });
  if (which == Sizes::powers_of_four) std::erase_if(sizes, [](std::uint64_t n) { return std::countr_zero(n) % 2; });
  for (const CopyQuestion question : questions) {
    const TransferCase c = case_of(question, std::string(module.name()), device.id);
    add<Transfers>(plan, module, device, steps_of<Transfers>(c, axes_of(sizes)));
  }
}

void add_device(Plan& plan, const DeviceInfo& device, bool beside_gpus, bool quick) {
  const Module& usual = default_module(device);
  if (quick) {
    const bool is_host = device.id == "host";
    return add_transfers(plan, usual, device, is_host ? std::span(host_plan).first(1) : std::span(usual_plan).first(9),
                         Sizes::powers_of_four);
  }
  if (device.id == "host") {
    if (!beside_gpus) return add_transfers(plan, usual, device, host_plan, Sizes::all);
    return add_transfers(plan, usual, device, std::span(host_plan).first(1), Sizes::powers_of_two);
  }
  add_transfers(plan, usual, device, usual_plan, Sizes::all);
  add_transfers(plan, usual, device, pingpong_plan, Sizes::powers_of_two);
  // Not those that have none of these cases, as they copy in one way of their own.
  const auto has_some = [&](const Module& module) {
    return std::ranges::any_of(host_timed_plan, [&](CopyQuestion question) {
      return !module.refuses_case(case_of(question, std::string(module.name()), device.id));
    });
  };
  for (const Module* other : reaching(modules(), devices::kind_of(device.id)))
    if (other != &usual && has_some(*other)) add_transfers(plan, *other, device, host_timed_plan, Sizes::powers_of_two);
}

// In a hurry: computing power, reads and copies, and a chase.
bool is_quick(const ProbeCase& c) {
  if (!asks(c, ProbeQuestion::memory_bandwidth)) return true;
  return c.form == Form::streaming && (c.operation == Operation::read || c.operation == Operation::copy);
}

// So many of these, the first and the last among them.
std::vector<Shape> spread(const std::vector<Shape>& shapes, std::size_t count) {
  if (shapes.size() <= count) return shapes;
  std::vector<Shape> few;
  for (std::size_t i = 0; i < count; ++i) few.push_back(shapes[i * (shapes.size() - 1) / (count - 1)]);
  return few;
}

// Whether a shape of many blocks shows what one costs besides its bytes: each thread has a word.
bool shows_turnaround(const Shape& s) {
  return s.blocks > 1 && s.ilp == 1 && s.access_bytes == 4 &&
         (s.threads == 64 || s.threads == 256 || s.threads == 1024);
}

// A chase has every fourth set, and 24 at most. Each of the four corners has the shapes that come nearest to its limit:
// in most memory, with most in flight.
std::vector<Shape> few_of(const ProbeCase& c, const std::vector<Shape>& shapes) {
  if (counted_of(c).each_waits()) return spread(shapes, std::min<std::size_t>(24, (shapes.size() + 3) / 4));
  const auto corner = [](const Shape& s) { return std::pair(s.blocks > 1, s.threads > 1); };
  const auto reach = [](const Shape& s) { return std::tuple(s.bytes, s.ilp, s.access_bytes); };
  std::map<std::pair<bool, bool>, std::vector<Shape>> corners;
  for (const Shape& shape : shapes) {
    std::vector<Shape>& best = corners[corner(shape)];
    if (!best.empty() && reach(best.front()) < reach(shape)) best.clear();
    if (best.empty() || reach(best.front()) == reach(shape)) best.push_back(shape);
  }
  std::vector<Shape> few;
  for (const auto& [which, best] : corners) std::ranges::copy(spread(best, 4), std::back_inserter(few));
  for (const Shape& shape : shapes)
    if (shows_turnaround(shape) || (shape.blocks == 1 && ((shape.threads == 64 && shape.ilp == 1) ||
                                                          (shape.threads == 1024 && shape.access_bytes == 4))))
      few.push_back(shape);
  return few;
}

// Every probe that this build has for the device. Beside GPUs a host is asked for the corners of its computing power
// alone: on 16 cores with a cache of 300 MiB its bandwidth takes two minutes, and its chase half of one.
void add_probes(Plan& plan, const DeviceInfo& device, bool beside_gpus, bool quick) {
  for (const Probe* probe : reaching(probes(), devices::kind_of(device.id))) {
    const bool is_host_beside_gpus = device.id == "host" && beside_gpus;
    const ProbeDescription& described = description_of(probe->name());
    if (!described.is_usual || (is_host_beside_gpus && described.question != ProbeQuestion::computing_power)) continue;
    try {
      for (const ProbeCase& c : probe->cases(device.id)) {
        if (quick && !is_quick(c)) continue;
        const auto shapes = probe->default_shapes(c);
        add<Probes>(plan, *probe, device,
                    steps_of<Probes>(c, quick || is_host_beside_gpus ? few_of(c, shapes) : shapes));
      }
    } catch (const Error& e) {
      plan.left_out.push_back(fmt::format("probe {} of {}: {}", probe->name(), device.id, e.what()));
    }
  }
}

// What streams cost, which is what a prediction takes as input. Whole jobs are left to npgpu streams.
void add_jobs(Plan& plan, const DeviceInfo& device, bool quick) {
  for (const Backend<Jobs>* backend : reaching(job_backends(), devices::kind_of(device.id))) {
    try {
      add<Jobs>(plan, *backend, device, overheads_experiment(device.id, quick));
    } catch (const Error& e) {
      plan.left_out.push_back(fmt::format("jobs of {}: {}", device.id, e.what()));
    }
  }
}

void add_calls(Plan& plan, const DeviceInfo& device, bool quick) {
  for (const Backend<Calls>* backend : reaching(backends<Calls>(), devices::kind_of(device.id))) {
    auto steps = all_calls(device);
    if (quick)
      std::erase_if(steps, [](const Step<Calls>& step) {
        const CallCase& c = step.question;
        return c.form != GraphForm::none || c.call == Call::copy_in || c.call == Call::copy_within;
      });
    add<Calls>(plan, *backend, device, steps);
  }
}

// What is measured only where it is asked for, because it takes long.
void add_extras(Plan& plan, const std::vector<DeviceInfo>& devices, const std::string& list) {
  const auto words = split_names("with", list);
  for (const std::string& word : words)
    if (word != "energy") throw Error(ErrorKind::usage, fmt::format("--with: '{}' is not energy", word));
  if (!words.empty())
    for (const DeviceInfo& device : devices) try {
        add_energy(plan, device);
      } catch (const Error& e) {
        plan.left_out.emplace_back(e.what());
      }
}

}  // namespace

Plan characterize_plan(const Options& options) {
  std::vector<DeviceInfo> all;
  if (const auto list = options.maybe("device")) {
    all = devices_named(*list);
  } else {
    all = devices::gpus();
    all.push_back(devices::find("host"));
  }
  return characterize_plan(options, all);
}

Plan characterize_plan(const Options& options, const std::vector<DeviceInfo>& all) {
  const bool list = options.has("device");
  const bool any_gpu = std::ranges::any_of(all, [](const DeviceInfo& device) { return device.id != "host"; });
  const bool quick = options.on("quick");
  Plan plan;
  for (const DeviceInfo& device : all) add_device(plan, device, any_gpu && !list, quick);
  for (const DeviceInfo& device : all) {
    add_probes(plan, device, any_gpu, quick);
    add_jobs(plan, device, quick);
    add_calls(plan, device, quick);
  }
  if (const auto words = options.maybe("with")) add_extras(plan, all, *words);
  if (!any_gpu && !list) {
    plan.left_out.push_back("no GPU was measured, only the host's own memory: " + devices::why_no_gpu());
    for (const DeviceInfo& other : devices::list())
      if (!other.simulated && other.id != "host" && !find_fact(other.facts, "same_as"))
        plan.left_out.push_back(
            fmt::format("{} ({}) is measured when it is named: --device {}", other.id, other.name, other.id));
  }
  plan.left_out.emplace_back(
      quick ? "by --quick: three of four sizes and shapes, half of the cases, how kernels go in parts, and graphs"
      : any_gpu
          ? "by plan: managed memory, copies from cold host caches, offsets and perturbed sizes (npgpu transfer); the "
            "host's memory and most of its cores (npgpu probe); whole jobs (npgpu streams); copies between GPUs"
          : "by plan: offsets and perturbed sizes (npgpu transfer)");
  return plan;
}

namespace {

int run_characterize(const Options& options) { return measure(options, characterize_plan); }

}  // namespace

Command characterize() {
  return {"characterize",
          "measure every GPU of this machine, or its memory where it has none",
          "Measures every GPU of this machine, or the host's own memory where it has none: copies of 1 B to 192 MiB "
          "through the APIs, memories, patterns and directions that programs use; the probes, from which npgpu derive "
          "infers the device's structure; what calls cost; and what streams cost, from which npgpu predict chooses the "
          "number of streams for a job. Ends with a trace, and one screen that says whether the node is healthy.",
          {},
          {"npgpu characterize", "npgpu characterize --quick", "npgpu characterize --dry-run",
           "npgpu characterize --with energy --device sim:h200 --output h200.h5"},
          with_measure_options(
              {{"What is measured",
                {Option("device", {}, "A list. Default: all GPUs, and the host."), "quick", "with", "one-by-one"}}}),
          run_characterize};
}

const Joined<ListedCommand> listed_characterize({Asks::able, 1, characterize});

}  // namespace npgpu::cli

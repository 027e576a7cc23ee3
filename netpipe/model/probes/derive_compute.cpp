#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/model/medians.hpp"
#include "netpipe/model/probes/derivation.hpp"

namespace npgpu::model {

namespace {

constexpr double plateau_from = 0.97, rising_by = 1.1;

}  // namespace

std::optional<Knee> knee_of(std::vector<std::pair<double, Estimate>> points) {
  std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (points.size() < 3 || points.front().first != 1 || points.back().first < 3) return std::nullopt;
  double highest = 0;
  for (const auto& [blocks, rate] : points) highest = std::max(highest, rate.value);
  if (!(highest > 0)) return std::nullopt;

  std::vector<Estimate> slopes, plateau;
  for (const auto& [blocks, rate] : points) {
    if (plateau.empty()) slopes.push_back(quotient({rate}, {exactly(blocks)}, {}, {}));
    if (rate.value >= plateau_from * highest) plateau.push_back(rate);
  }
  Knee knee;
  knee.most = points.back().first;
  const Estimate slope = middle_of(slopes), top = middle_of(plateau);
  knee.reached = plateau.size() > 1 && slope.value * knee.most >= rising_by * top.value;
  if (knee.reached)
    knee.blocks = quotient({top}, {slope}, "blocks", "plateau / slope of the one-thread rate over blocks of a unit");
  return knee;
}

// The parameters of computing power of Perez & Piccoli 2011, and the universal form, which means the same on a CPU:
//
//   SM      = Cp_AA / Cp_OA            units that compute at once
//   Sigma   = Cp_OA / Cp_OO            chains that fill a unit: lanes * ports * latency
//   latency = 2 e f / Cp_OO            cycles of an FMA (two operations of each of e elements: two in a GPU's register
//                                      of fp16 or bf16, otherwise one), f the clock of the run
//   lanes * ports = e Sigma / latency  FMAs of a unit in a cycle
//
// Rates of one unit are per cycle where cycles are known: then neither a lower clock nor a process that had the core
// for a while shows. On a GPU so are those of all units: cycles count only where they cover the whole kernel's time, so
// that units which ran one after the other would not pass for many. On a CPU they are a thread's own, and SM is of
// times.
//
//   w*                                 one-thread blocks that fill a unit: latency * lanes / warp width

namespace {

constexpr double for_units = 0.01, for_lanes = 0.03, for_latency = 0.03, for_throughput = 0.05;
constexpr double brim = 0.1;  // between warps that fill a unit and those it holds

class Compute {
 public:
  Compute(const ProbeSeries& series, const OwnFacts& own, DeviceParameters& into)
      : series_(series), own_(own), into_(into), rates_(rates_of(series)), corners_(corners_of(series)) {
    if (!has_cores(series) && (series.question.type == DataType::fp16 || series.question.type == DataType::bf16))
      elements_ = 2;
    if (series.question.type == DataType::fp32) return;
    suffix_ = ' ' + std::string(name(series.question.type));
    own_ = {};  // they are of fp32
  }

  void add_all() {
    add_power();
    const Estimate chains = ratio(corners_.one_all, corners_.one_all_cycle, "chains", "Cp_OA / Cp_OO");
    find_knee();
    fill_ = filling_warps();
    add_paper();
    add_universal(chains);
    add_knee(chains.value / series_.layout.lanes);
    add_plateaus(series_, "Cp", suffix_, into_);
  }

 private:
  void add(Parameter p) {
    p.name += suffix_;
    into_.parameters.push_back(std::move(p));
  }
  void add_held(Parameter p, double reference, const std::string& source, double tolerance) {
    hold_against(p, reference, source, tolerance);
    add(std::move(p));
  }
  void miss(const std::string& names, const std::string& why) { into_.missing.push_back(names + suffix_ + ": " + why); }

  std::string doubts(std::initializer_list<Corner> used) const { return doubts_of(corners_, used); }

  // A rate over One-One, per cycle where both are known so.
  Estimate ratio(const Estimate& rate, const Estimate& cycle_rate, std::string unit, std::string method) const {
    if (!std::isfinite(cycle_rate.value * corners_.one_one_cycle.value))
      return quotient({rate}, {corners_.one_one}, std::move(unit), std::move(method));
    return quotient({cycle_rate}, {corners_.one_one_cycle}, std::move(unit), method + ", per cycle");
  }

  const ProbeResult* point(Corner corner) const {
    return corner_point(rates_, corner, Per::second, series_.layout.units);
  }

  // The clock of the run; the highest where the run's was not recorded.
  double clock_mhz(const ProbeResult* at) const {
    return at && at->clock_mhz > 0 ? at->clock_mhz : series_.layout.clock_mhz;
  }
  const char* clock_text(const ProbeResult* at) const {
    return at && at->clock_mhz > 0 ? "the clock of the run" : "the highest clock, for that of the run was not recorded";
  }

  void add_power() {
    const ProbeResult* at = point(Corner::all_all);
    const double clock_part = series_.layout.clock_mhz > 0 ? clock_mhz(at) / series_.layout.clock_mhz : 1;
    for (Parameter& p :
         rate_and_part(parameter("P", corners_.all_all, "operations per second of the whole device, an FMA being two",
                                 doubts({Corner::all_all})),
                       series_.limit.per_s * clock_part, fmt::format("{}, at {}", series_.limit.source, clock_text(at)),
                       "P over its limit at the clock of the run",
                       "what part of the limit at the clock of the run the best shape reaches"))
      add(std::move(p));
    if (suffix_.empty() && at && at->clock_mhz > 0) {
      Parameter clock = parameter(
          "clock", {at->clock_mhz, not_measured, not_measured, "MHz", "cycles over time, or telemetry, of All-All"},
          "of the units while all of them compute", doubts({Corner::all_all}));
      hold_below(clock, series_.layout.clock_mhz, "highest clock " + reported_);
      add(std::move(clock));
    }
  }

  // What is free of differing clocks has the plain name.
  static void rename(std::string& name) {
    constexpr std::string_view per_cycle = " per cycle";
    if (name.ends_with(per_cycle)) name.resize(name.size() - per_cycle.size());
    else name += " by time";
  }

  void add_paper() {
    const Layout& l = series_.layout;
    const double cap = one_thread_blocks(), w = fill_.warps;
    const bool open_end = cap > 0 && !(knee_ && knee_->reached);
    const bool at_brim = open_end && std::abs(w / cap - 1) <= brim;
    const bool capped = open_end && w > cap;
    std::vector<Parameter> all = compute_parameters(corners_);
    const bool by_cycles = !is_host(series_) && all.size() > 3;
    if (by_cycles) std::rotate(all.begin(), all.begin() + 3, all.end());
    for (Parameter& p : all) {
      if (by_cycles) rename(p.name);
      if (p.name.starts_with("SM"))
        hold_against(p, l.units, l.units ? "units " + reported_ : "units are " + not_reported_, for_units);
      else if (has_cores(series_))
        leave_unchecked(p,
                        "on a CPU the only thread of a core waits for its own chain: N_PPipe is Sigma, and L_Pipe 1");
      else if (at_brim)
        leave_unchecked(p,
                        fmt::format("{:g} one-thread blocks, all that a unit holds, just fill it if they divide evenly "
                                    "among its schedulers",
                                    cap));
      else if (p.name.starts_with("N_PPipe") && capped)
        hold_against(
            p, l.lanes * w / cap,
            fmt::format("warp width {} * {:.1f} warps that fill a unit / {:g} blocks that it holds", l.lanes, w, cap),
            for_lanes);
      else if (p.name.starts_with("N_PPipe")) hold_against(p, l.lanes, "warp width", for_lanes);
      else if (capped) hold_against(p, cap, "blocks that a unit holds, fewer than fill it", for_lanes);
      else hold_against(p, w, fill_.source, for_lanes);
      add(std::move(p));
    }
  }

  void add_universal(const Estimate& chains) {
    const double per_cycle = fmas_per_cycle(), reported = own_.fma_latency_cycles;
    const Estimate latency = latency_cycles();
    add_held(parameter("Sigma", chains, "chains in flight that fill a unit: lanes * ports * latency",
                       doubts({Corner::one_all, Corner::one_one})),
             per_cycle / elements_ * reported,
             per_cycle * reported > 0 ? "FMAs a cycle by the limit, times fma_latency_cycles"
                                      : "the latency of an FMA is " + not_reported_,
             for_throughput);
    add_held(with_clock_doubt(parameter("FMA latency", latency,
                                        "cycles until an FMA that needs the result of another can follow it",
                                        doubts({Corner::one_one}))),
             reported, reported > 0 ? "fma_latency_cycles " + reported_ : not_reported_, for_latency);
    const Estimate both =
        quotient({chains, exactly(elements_)}, {latency}, "FMAs per cycle",
                 elements_ == 1 ? "Sigma / FMA latency" : "2 Sigma / FMA latency: two elements in a register");
    add_held(with_clock_doubt(parameter("lanes*ports", both, "FMAs that a unit completes in a cycle",
                                        doubts({Corner::one_all, Corner::one_one}))),
             per_cycle, per_cycle > 0 ? series_.limit.source + ", over units and clock" : series_.limit.source,
             for_throughput);
    add_lanes(both);
  }

  // One instruction as wide as reported against one lane of it, both waiting for their chain: the lanes, if both
  // take equally long.
  void add_lanes(const Estimate& both) {
    const Layout& l = series_.layout;
    // Zen 4: both 4 cycles or a little more. Intel's since Haswell: imul 3 cycles, vpmulld 10 (uops.info).
    if (has_cores(series_) && series_.question.type == DataType::int32)
      return miss("lanes" + suffix_ + ", ports",
                  "a core multiplies single integers elsewhere than registers full of them, and takes another time, so "
                  "the two chains do not tell");
    const auto wide = std::find_if(rates_.begin(), rates_.end(), [&](const ProbeResult& r) {
      return r.axes.blocks == 1 && r.axes.threads == l.lanes && r.axes.ilp == 1 && l.lanes > 1;
    });
    if (wide == rates_.end())
      return miss("lanes", "needs compute with one block of as many threads as one instruction has lanes, ilp 1");
    Parameter lanes = parameter(
        "lanes", ratio(wide->rate, wide->cycle_rate, "lanes", "rate of one full instruction at a time / Cp_OO"),
        "what one instruction does at once, waiting for its chain", doubts({Corner::one_one}));
    for (const std::string& doubt : wide->doubts) add_note(lanes.note, doubt);
    hold_against(lanes, l.lanes, "lanes " + reported_, for_lanes);
    Parameter ports = parameter("ports",
                                quotient({both}, {lanes.estimate, exactly(elements_)}, "instructions per cycle",
                                         elements_ == 1 ? "lanes*ports / lanes" : "lanes*ports / lanes / 2"),
                                "full instructions that a unit starts in a cycle", lanes.note);
    leave_unchecked(ports, "checked with the lanes, as lanes*ports");
    add(std::move(lanes));
    add(std::move(ports));
  }

  Estimate latency_cycles() const {
    if (corners_.one_one_cycle.value > 0)
      return quotient({exactly(2 * elements_)}, {corners_.one_one_cycle}, "cycles", "cycles of One-One per FMA");
    const ProbeResult* at = point(Corner::one_one);
    return quotient({exactly(2 * elements_ * clock_mhz(at) * 1e6)}, {corners_.one_one}, "cycles",
                    std::string("2 f / Cp_OO, f being ") + clock_text(at));
  }

  // The latency in cycles is a time at some clock.
  Parameter with_clock_doubt(Parameter p) const {
    const ProbeResult* at = point(Corner::one_one);
    if (!(corners_.one_one_cycle.value > 0) && at && !(at->clock_mhz > 0))
      add_note(p.note, "One-One: its clock was not recorded, the highest stands in");
    return p;
  }

  // Warps that fill a unit by what was reported of the device, and where that comes from.
  struct Filling {
    double warps = not_measured;
    std::string source = "the limit is not known, so there is nothing to check it by";
  };
  Filling filling_warps() const {
    const double per_cycle = fmas_per_cycle();
    if (!(per_cycle > 0) || series_.layout.lanes == 0) return {};
    const bool says = own_.fma_latency_cycles > 0;
    const double latency = says ? own_.fma_latency_cycles : latency_cycles().value;
    return {
        latency * per_cycle / elements_ / series_.layout.lanes,
        fmt::format("FMAs of a unit in a cycle by the limit * FMA latency{} / warp width", says ? "" : " (measured)")};
  }

  // FMAs of a unit, by the limit.
  double fmas_per_cycle() const {
    return series_.limit.per_s / (2 * series_.layout.units * series_.layout.clock_mhz * 1e6);
  }

  // How many a unit holds at once, by its blocks and its warps; 0: not known.
  double one_thread_blocks() const {
    const Layout& l = series_.layout;
    const std::uint32_t warps = l.lanes ? l.max_threads_per_unit / l.lanes : 0;
    return warps ? std::min(l.max_blocks_per_unit, warps) : l.max_blocks_per_unit;
  }

  void find_knee() {
    const std::uint32_t units = series_.layout.units;
    if (units == 0 || has_cores(series_)) return;
    std::vector<std::pair<double, Estimate>> points;
    for (const ProbeResult& r : rates_) {
      if (r.axes.threads != 1 || r.axes.ilp != 1 || r.axes.blocks % units != 0) continue;
      const double blocks = r.axes.blocks / units;
      if (one_thread_blocks() > 0 && blocks > one_thread_blocks()) continue;  // they take turns
      const auto same = [&](const auto& have) { return have.first == blocks; };
      if (std::none_of(points.begin(), points.end(), same)) points.emplace_back(blocks, r.rate);
      if (!knee_doubts_.empty()) continue;
      for (const std::string& doubt : r.doubts)
        add_note(knee_doubts_, fmt::format("at {:g} blocks of a unit: {}", blocks, doubt));
    }
    knee_ = knee_of(std::move(points));
  }

  void add_knee(double sigma_warps) {
    if (has_cores(series_)) return;
    if (!knee_) return miss("w*", "needs compute with one-thread blocks, 1 to many on every unit, ilp 1");
    if (!knee_->reached)
      return miss("w*",
                  fmt::format("the rate still grows at {:g} one-thread blocks of a unit, so w* is more than that; "
                              "Sigma / warp width gives {:.1f}",
                              knee_->most, sigma_warps));
    add_held(parameter("w*", knee_->blocks,
                       "one-thread blocks that fill a unit: latency * lanes of a unit / warp width", knee_doubts_),
             fill_.warps, fill_.source, for_throughput);
    const double lanes = series_.layout.lanes;
    if (lanes < 1) return;
    Estimate threads = knee_->blocks;
    for (double* value : {&threads.value, &threads.low, &threads.high}) *value *= lanes;
    threads.unit = "threads";
    threads.method = "w* * warp width";
    add_held(
        parameter("plateau", threads, "threads of a unit from which its rate stays the same, at ilp 1", knee_doubts_),
        fill_.warps * lanes, fill_.source, for_throughput);
  }

  const ProbeSeries& series_;
  OwnFacts own_;
  DeviceParameters& into_;
  const std::vector<ProbeResult> rates_;
  const Corners corners_;
  const std::string not_reported_ = not_reported(series_.question.device);
  const std::string reported_ = not_reported_.substr(4);
  double elements_ = 1;  // of a thread's register
  std::string suffix_, knee_doubts_;
  std::optional<Knee> knee_;
  Filling fill_;
};

}  // namespace

void derive_compute(const ProbeSeries& series, const OwnFacts& own, DeviceParameters& into) {
  Compute(series, own, into).add_all();
}

}  // namespace npgpu::model

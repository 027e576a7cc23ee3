// The parameters of computing power of Perez & Piccoli 2011, and the universal form, which means the same on a CPU:
//
//   SM      = Cp_AA / Cp_OA            units that compute at once
//   Sigma   = Cp_OA / Cp_OO            chains that fill a unit: lanes * ports * latency
//   latency = 2 e f / Cp_OO            cycles of an FMA (two operations of each of e elements: two in a GPU's register
//   of
//                                      fp16 or bf16, otherwise one), f the clock of the run
//   lanes * ports = e Sigma / latency  FMAs of a unit in a cycle
//
// Rates of one unit are per cycle where cycles are known: then neither a lower clock nor a process that had the core
// for a while shows. On a GPU so are those of all units: cycles count only where they cover the whole kernel's time, so
// that units which ran one after the other would not pass for many. On a CPU they are a thread's own, and SM is of
// times.
//
//   w*                                 one-thread blocks that fill a unit: latency * lanes / warp width
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/model/probes/corner_points.hpp"
#include "netpipe/model/probes/derive_parts.hpp"
#include "netpipe/model/probes/knee.hpp"
#include "netpipe/model/probes/quotient.hpp"
#include "netpipe/model/probes/verdict.hpp"

namespace npgpu::model {

namespace {

constexpr double for_units = 0.01, for_lanes = 0.03, for_latency = 0.03, for_throughput = 0.05;
constexpr double brim = 0.1;  // between warps that fill a unit and those it holds

std::string text_of(const std::vector<std::string>& doubts, std::string_view corner) {
  std::string text;
  for (const std::string& doubt : doubts) text += (text.empty() ? "" : "; ") + std::string(corner) + ": " + doubt;
  return text;
}

class Compute {
 public:
  Compute(const ProbeSeries& series, const OwnFacts& own, DeviceParameters& into)
      : series_(series), own_(own), into_(into), rates_(rates_of(series)), corners_(corners_of(series)) {
    if (!is_host(series) && (series.question.type == DataType::fp16 || series.question.type == DataType::bf16))
      elements_ = 2;
    if (series.question.type == DataType::fp32) return;
    suffix_ = ' ' + std::string(name(series.question.type));
    own_ = {};  // they are of fp32
  }

  void add_all() {
    add_power();
    by_cycles_ = !is_host(series_) && std::isfinite(corners_.all_all_cycle.value * corners_.one_all_cycle.value *
                                                    corners_.all_one_cycle.value * corners_.one_one_cycle.value);
    const bool by_cycles = std::isfinite(corners_.one_all_cycle.value * corners_.one_one_cycle.value);
    const auto unit_chains =
        by_cycles ? quotient({corners_.one_all_cycle}, {corners_.one_one_cycle}, "chains", "Cp_OA / Cp_OO, per cycle")
                  : quotient({corners_.one_all}, {corners_.one_one}, "chains", "Cp_OA / Cp_OO");
    find_knee();
    fill_ = filling_warps();
    add_paper();
    add_universal(unit_chains);
    add_knee(unit_chains.value / series_.layout.lanes);
  }

 private:
  void add(Parameter p) {
    p.name += suffix_;
    into_.parameters.push_back(std::move(p));
  }

  // Of these corners, and which of them are missing.
  std::string doubts(std::initializer_list<Corner> used) const {
    const Estimate* all[] = {&corners_.all_all, &corners_.one_all, &corners_.all_one, &corners_.one_one};
    std::string text;
    for (const Corner corner : used) {
      const auto i = static_cast<std::size_t>(corner);
      const bool there = std::isfinite(all[i]->value);
      const std::string one =
          there ? text_of(corners_.doubts[i], name_of(corner)) : text_of({all[i]->method}, name_of(corner));
      if (!one.empty()) text += (text.empty() ? "" : "; ") + one;
    }
    return text;
  }

  const PointRate* point(Corner corner) const {
    return corner_point(rates_, corner, Per::second, series_.layout.units);
  }

  // Of the run; the highest where the run's was not recorded.
  double clock_mhz(const PointRate* at) const {
    return at && at->clock_mhz > 0 ? at->clock_mhz : series_.layout.clock_mhz;
  }
  const char* clock_text(const PointRate* at) const {
    return at && at->clock_mhz > 0 ? "the clock of the run" : "the highest clock, for that of the run was not recorded";
  }

  void add_power() {
    Parameter p;
    p.name = "P";
    p.estimate = corners_.all_all;
    p.meaning = "operations per second of the whole device, an FMA being two";
    p.note = doubts({Corner::all_all});
    const PointRate* at = point(Corner::all_all);
    const double clock_part = series_.layout.clock_mhz > 0 ? clock_mhz(at) / series_.layout.clock_mhz : 1;
    hold_below(p, series_.limit.per_s * clock_part, fmt::format("{}, at {}", series_.limit.source, clock_text(at)));
    Parameter reached;
    reached.name = "P reached";
    reached.estimate = quotient({corners_.all_all, exactly(100)}, {exactly(p.reference)}, "percent",
                                "P over its limit at the clock of the run");
    reached.meaning = "what part of the limit at the clock of the run the best shape reaches";
    reached.note = doubts({Corner::all_all});
    leave_unchecked(reached, "a part of a limit has no reference");
    add(std::move(p));
    add(std::move(reached));
  }

  // What is free of differing clocks has the plain name.
  static void rename(std::string& name) {
    constexpr std::string_view per_cycle = " per cycle";
    if (name.ends_with(per_cycle)) name.resize(name.size() - per_cycle.size());
    else name += " by time";
  }

  void add_paper() {
    const Layout& l = series_.layout;
    const double cap = l.max_blocks_per_unit, w = fill_.warps;
    const bool open_end = cap > 0 && !(knee_ && knee_->reached);
    const bool at_brim = open_end && std::abs(w / cap - 1) <= brim;
    const bool capped = open_end && w > cap;
    std::vector<Parameter> all = compute_parameters(corners_);
    if (by_cycles_) std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    for (Parameter& p : all) {
      if (by_cycles_) rename(p.name);
      if (p.name.starts_with("SM"))
        hold_against(p, l.units, l.units ? "units " + reported_ : "units are " + not_reported_, for_units);
      else if (is_host(series_))
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
    const double per_cycle = fmas_per_cycle();

    Parameter latency;
    latency.name = "FMA latency";
    latency.estimate = latency_cycles();
    latency.meaning = "cycles until an FMA that needs the result of another can follow it";
    latency.note = doubts({Corner::one_one});
    add_clock_doubt(latency);
    hold_against(latency, own_.fma_latency_cycles,
                 own_.fma_latency_cycles > 0 ? "fma_latency_cycles " + reported_ : not_reported_, for_latency);

    Parameter sigma;
    sigma.name = "Sigma";
    sigma.estimate = chains;
    sigma.meaning = "chains in flight that fill a unit: lanes * ports * latency";
    sigma.note = doubts({Corner::one_all, Corner::one_one});
    hold_against(sigma, per_cycle / elements_ * own_.fma_latency_cycles,
                 per_cycle * own_.fma_latency_cycles > 0 ? "FMAs a cycle by the limit, times fma_latency_cycles"
                                                         : "the latency of an FMA is " + not_reported_,
                 for_throughput);

    Parameter both;
    both.name = "lanes*ports";
    both.estimate =
        quotient({chains, exactly(elements_)}, {latency.estimate}, "FMAs per cycle",
                 elements_ == 1 ? "Sigma / FMA latency" : "2 Sigma / FMA latency: two elements in a register");
    both.meaning = "FMAs that a unit completes in a cycle";
    both.note = doubts({Corner::one_all, Corner::one_one});
    add_clock_doubt(both);
    hold_against(both, per_cycle,
                 per_cycle > 0 ? series_.limit.source + ", over units and clock" : series_.limit.source,
                 for_throughput);

    const Estimate both_estimate = both.estimate;
    for (Parameter* p : {&sigma, &latency, &both}) add(std::move(*p));
    add_lanes(both_estimate);
  }

  // One instruction as wide as reported against one lane of it, both waiting for their chain: the lanes, if both
  // take equally long.
  void add_lanes(const Estimate& both) {
    const Layout& l = series_.layout;
    if (is_host(series_) && series_.question.type == DataType::int32) {
      // Zen 4: both 4 cycles or a little more. Intel's since Haswell: imul 3 cycles, vpmulld 10 (uops.info).
      into_.missing.push_back("lanes" + suffix_ + ", ports" + suffix_ +
                              ": a core multiplies single integers elsewhere than registers full of them, and takes "
                              "another time, so the two chains do not tell");
      return;
    }
    const auto wide = std::find_if(rates_.begin(), rates_.end(), [&](const PointRate& r) {
      return r.shape.blocks == 1 && r.shape.threads == l.lanes && r.shape.ilp == 1 && l.lanes > 1;
    });
    if (wide == rates_.end()) {
      into_.missing.push_back("lanes" + suffix_ +
                              ": needs compute with one block of as many threads as one instruction has lanes, ilp 1");
      return;
    }
    Parameter lanes;
    lanes.name = "lanes";
    const bool by_cycles = std::isfinite(wide->cycle_rate.value * corners_.one_one_cycle.value);
    lanes.estimate = quotient(
        {by_cycles ? wide->cycle_rate : wide->rate}, {by_cycles ? corners_.one_one_cycle : corners_.one_one}, "lanes",
        std::string("rate of one full instruction at a time / Cp_OO") + (by_cycles ? ", per cycle" : ""));
    lanes.meaning = "what one instruction does at once, waiting for its chain";
    lanes.note = doubts({Corner::one_one});
    for (const std::string& doubt : wide->doubts) add_note(lanes, doubt);
    hold_against(lanes, l.lanes, "lanes " + reported_, for_lanes);
    Parameter ports;
    ports.name = "ports";
    ports.estimate = quotient({both}, {lanes.estimate, exactly(elements_)}, "instructions per cycle",
                              elements_ == 1 ? "lanes*ports / lanes" : "lanes*ports / lanes / 2");
    ports.meaning = "full instructions that a unit starts in a cycle";
    ports.note = lanes.note;
    leave_unchecked(ports, "checked with the lanes, as lanes*ports");
    add(std::move(lanes));
    add(std::move(ports));
  }

  Estimate latency_cycles() const {
    if (corners_.one_one_cycle.value > 0)
      return quotient({exactly(2 * elements_)}, {corners_.one_one_cycle}, "cycles", "cycles of One-One per FMA");
    const PointRate* at = point(Corner::one_one);
    return quotient({exactly(2 * elements_ * clock_mhz(at) * 1e6)}, {corners_.one_one}, "cycles",
                    std::string("2 f / Cp_OO, f being ") + clock_text(at));
  }

  // The latency in cycles is a time at some clock.
  void add_clock_doubt(Parameter& p) const {
    const PointRate* at = point(Corner::one_one);
    if (corners_.one_one_cycle.value > 0 || !at || at->clock_mhz > 0) return;
    add_note(p, "One-One: its clock was not recorded, the highest stands in");
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

  // Of a unit, by the limit.
  double fmas_per_cycle() const {
    return series_.limit.per_s / (2 * series_.layout.units * series_.layout.clock_mhz * 1e6);
  }

  void find_knee() {
    const std::uint32_t units = series_.layout.units;
    if (units == 0 || is_host(series_)) return;
    std::vector<std::pair<double, Estimate>> points;
    for (const PointRate& r : rates_) {
      if (r.shape.threads != 1 || r.shape.ilp != 1 || r.shape.blocks % units != 0) continue;
      const double blocks = r.shape.blocks / units;
      const auto same = [&](const auto& have) { return have.first == blocks; };
      if (std::none_of(points.begin(), points.end(), same)) points.emplace_back(blocks, r.rate);
      if (knee_doubts_.empty()) knee_doubts_ = text_of(r.doubts, fmt::format("at {:g} blocks of a unit", blocks));
    }
    knee_ = knee_of(std::move(points));
  }

  void add_knee(double sigma_warps) {
    if (is_host(series_)) return;
    if (!knee_) {
      into_.missing.push_back("w*" + suffix_ +
                              ": needs compute with one-thread blocks, 1 to many on every unit, ilp 1");
      return;
    }
    if (!knee_->reached) {
      into_.missing.push_back(
          fmt::format("w*{}: the rate still grows at {:g} one-thread blocks of a unit, so w* is more than that; "
                      "Sigma / warp width gives {:.1f}",
                      suffix_, knee_->most, sigma_warps));
      return;
    }
    Parameter p;
    p.name = "w*";
    p.estimate = knee_->blocks;
    p.meaning = "one-thread blocks that fill a unit: latency * lanes of a unit / warp width";
    p.note = knee_doubts_;
    hold_against(p, fill_.warps, fill_.source, for_throughput);
    add(std::move(p));
  }

  const ProbeSeries& series_;
  OwnFacts own_;
  DeviceParameters& into_;
  const std::vector<PointRate> rates_;
  const Corners corners_;
  const std::string not_reported_ = not_reported(series_.question.device);
  const std::string reported_ = not_reported_.substr(4);
  double elements_ = 1;     // of a thread's register
  bool by_cycles_ = false;  // corners of a GPU, all of them known per cycle
  std::string suffix_, knee_doubts_;
  std::optional<Knee> knee_;
  Filling fill_;
};

}  // namespace

void derive_compute(const ProbeSeries& series, const OwnFacts& own, DeviceParameters& into) {
  Compute(series, own, into).add_all();
}

}  // namespace npgpu::model

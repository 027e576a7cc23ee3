#include <fmt/format.h>

#include <cmath>

#include "netpipe/model/probes/corner_points.hpp"
#include "netpipe/model/probes/derive_parts.hpp"
#include "netpipe/model/probes/quotient.hpp"
#include "netpipe/model/probes/verdict.hpp"

namespace npgpu::model {

namespace {

// The faster of two, with its doubts.
void take_faster(Corners& into, const Corners& other, Corner corner) {
  const bool all = corner == Corner::all_all;
  Estimate& mine = all ? into.all_all : into.one_all;
  const Estimate& theirs = all ? other.all_all : other.one_all;
  if (mine.value >= theirs.value || !std::isfinite(theirs.value)) return;
  mine = theirs;
  into.doubts[static_cast<std::size_t>(corner)] = other.doubts[static_cast<std::size_t>(corner)];
}

std::string joined(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : "; ") + one;
  return text;
}

void add_rate(const Estimate& rate, const std::string& note, const Limit& limit, const std::string& name,
              DeviceParameters& into) {
  Parameter p;
  p.name = name;
  p.estimate = rate;
  p.meaning = "bytes per second of the whole device's memory, as the case counts them";
  p.note = note;
  hold_below(p, limit.per_s, limit.source);
  Parameter reached;
  reached.name = name + " reached";
  reached.estimate = quotient({rate, exactly(100)}, {exactly(p.reference)}, "percent", name + " over its limit");
  reached.meaning = "what part of the memory's limit the best shape reaches";
  reached.note = note;
  leave_unchecked(reached, "a part of a limit has no reference");
  into.parameters.push_back(std::move(p));
  into.parameters.push_back(std::move(reached));
}

// 8 B over One-One, where an access has 4 B: each is read and written before the next begins.
void add_latency(const ProbeSeries& dependent, const Corners& corners, DeviceParameters& into) {
  const auto rates = rates_of(dependent);
  const PointRate* at = corner_point(rates, Corner::one_one, Per::second, dependent.layout.units);
  if (!at || at->shape.access_bytes == 0) return;
  Parameter p;
  p.name = "rmw latency";
  p.estimate =
      quotient({exactly(2e9 * at->shape.access_bytes)}, {corners.one_one}, "ns", "bytes of a read and a write / B_OO");
  p.meaning = "from one read-modify-write to the next that waits for it";
  p.note = joined(at->doubts);
  leave_unchecked(p, not_reported(into.device));
  into.parameters.push_back(std::move(p));
}

}  // namespace

void derive_rate(const ProbeSeries& series, const std::string& name, DeviceParameters& into) {
  const Corners corners = corners_of(series);
  add_rate(corners.all_all, joined(corners.doubts[0]), series.limit, name, into);
}

void derive_bandwidth(const ProbeSeries* streaming, const ProbeSeries* dependent, DeviceParameters& into) {
  if (!streaming && !dependent) return;
  Corners corners = corners_of(dependent ? *dependent : *streaming);
  if (dependent && streaming) {
    const Corners faster = corners_of(*streaming);
    take_faster(corners, faster, Corner::all_all);
    take_faster(corners, faster, Corner::one_all);
  }
  add_rate(corners.all_all, joined(corners.doubts[0]), (streaming ? streaming : dependent)->limit, "B", into);
  for (Parameter& p : bandwidth_parameters(corners)) {
    leave_unchecked(p, not_reported(into.device));
    const Layout& l = (dependent ? dependent : streaming)->layout;
    if (p.name == "T_delay" && l.units > 0 && l.max_blocks_per_unit > 0) {
      // What fits is a limit: blocks may get in each other's way before. One-One is the latency of the one unit that
      // ran it, All-One that of all, and units lie nearer to or farther from the memory: hence the room above.
      hold_below(p, static_cast<double>(l.units) * l.max_blocks_per_unit, "one-thread blocks that the device holds",
                 0.05);
    }
    if (!dependent && (p.name == "T_delay" || p.name == "W_bus"))
      add_note(p, "from the streaming form, where a thread may run ahead");
    into.parameters.push_back(std::move(p));
  }
  if (dependent) add_latency(*dependent, corners, into);
  else into.missing.push_back("rmw latency: needs bandwidth rmw in its dependent form");
}

}  // namespace npgpu::model

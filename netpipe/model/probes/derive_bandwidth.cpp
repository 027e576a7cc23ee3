#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "netpipe/model/probes/corner_points.hpp"
#include "netpipe/model/probes/derivation.hpp"

namespace npgpu::model {

namespace {

// The faster of two, with its doubts.
void take_faster(Corners& into, const Corners& other, Corner corner) {
  const auto i = static_cast<std::size_t>(corner);
  Estimate& mine = into.*per_second[i];
  const Estimate& theirs = other.*per_second[i];
  if (mine.value >= theirs.value || !std::isfinite(theirs.value)) return;
  mine = theirs;
  into.doubts[i] = other.doubts[i];
}

std::string joined(const std::vector<std::string>& doubts) { return fmt::format("{}", fmt::join(doubts, "; ")); }

void add_rate(const Corners& corners, const Limit& limit, const std::string& name, DeviceParameters& into) {
  for (Parameter& p : rate_and_part(
           parameter(name, corners.all_all, "bytes per second of the whole device's memory, as the case counts them",
                     joined(corners.doubts[0])),
           limit.per_s, limit.source, name + " over its limit",
           "what part of the memory's limit the best shape reaches"))
    into.parameters.push_back(std::move(p));
}

// 8 B over One-One, where an access has 4 B: each is read and written before the next begins.
void add_latency(const ProbeSeries& dependent, const Corners& corners, DeviceParameters& into) {
  const auto rates = rates_of(dependent);
  const ProbeResult* at = corner_point(rates, Corner::one_one, Per::second, dependent.layout.units);
  if (!at || at->axes.access_bytes == 0) return;
  Parameter p = parameter(
      "rmw latency",
      quotient({exactly(2e9 * at->axes.access_bytes)}, {corners.one_one}, "ns", "bytes of a read and a write / B_OO"),
      "from one read-modify-write to the next that waits for it", joined(at->doubts));
  leave_unchecked(p, not_reported(into.device));
  into.parameters.push_back(std::move(p));
}

}  // namespace

void derive_rate(const ProbeSeries& series, const std::string& name, DeviceParameters& into) {
  add_rate(corners_of(series), series.limit, name, into);
}

namespace {

// N_MINBl, W_bus and T_delay of one form of the kernel, all four corners of which are its own.
void add_form(const ProbeSeries& series, const char* suffix, const char* form, DeviceParameters& into) {
  const Layout& l = series.layout;
  for (Parameter& p : bandwidth_parameters(corners_of(series))) {
    leave_unchecked(p, not_reported(into.device));
    if (p.name == "T_delay" && series.question.form == Form::dependent && l.units > 0 && l.max_blocks_per_unit > 0) {
      // What fits is a limit: blocks may get in each other's way before. One-One is the latency of the one unit that
      // ran it, All-One that of all, and units lie nearer to or farther from the memory: hence the room above.
      hold_below(p, static_cast<double>(l.units) * l.max_blocks_per_unit, "one-thread blocks that the device holds",
                 0.05);
    }
    p.name += suffix;
    p.meaning += form;
    into.parameters.push_back(std::move(p));
  }
}

}  // namespace

void derive_bandwidth(const ProbeSeries* streaming, const ProbeSeries* dependent, DeviceParameters& into) {
  if (!streaming && !dependent) return;
  Corners corners = corners_of(dependent ? *dependent : *streaming);
  if (dependent && streaming) take_faster(corners, corners_of(*streaming), Corner::all_all);
  add_rate(corners, (streaming ? streaming : dependent)->limit, "B", into);
  // Perez & Piccoli move one word a thread, and a thread waits for each. With wide accesses, several of them in flight,
  // fewer blocks fill the bus.
  if (dependent) {
    add_form(*dependent, "", ", where a thread waits for each word", into);
    add_latency(*dependent, corners, into);
  } else {
    into.missing.push_back("N_MINBl, W_bus, T_delay, rmw latency: need bandwidth rmw in its dependent form");
  }
  if (streaming) add_form(*streaming, " streaming", ", in the fastest shapes", into);
}

}  // namespace npgpu::model

// What products of matrices say of a device: the best rate against the limit, what copies leave of it, and what a
// host's cores make of one.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "netpipe/model/probes/derivation.hpp"
#include "netpipe/model/probes/probe_rates.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu::model {

namespace {

using Rates = std::vector<ProbeResult>;

const ProbeResult* fastest_of(const Rates& rates, auto wanted) {
  const ProbeResult* best = nullptr;
  for (const ProbeResult& r : rates)
    if (wanted(r) && r.rate.value > (best ? best->rate.value : 0)) best = &r;
  return best;
}

auto sizes(const Shape& s) { return std::tuple(s.m, s.n, s.k); }
bool is_square(const ProbeResult& r) { return r.axes.m == r.axes.n && r.axes.n == r.axes.k; }

void add_best(const ProbeSeries& series, const Rates& rates, const std::string& name, DeviceParameters& into) {
  const ProbeResult* const best = fastest_of(rates, [](const ProbeResult&) { return true; });
  if (!best) return into.missing.push_back(name + ": no usable product in " + title(series.question));
  Estimate rate = best->rate;
  rate.unit = "operations per second";
  rate.method = "2 m n k / time of a product: " + text_of(best->axes);
  Parameter p = parameter(name, rate, "products of matrices by " + series.library);
  for (const std::string& doubt : best->doubts) add_note(p.note, doubt);
  for (Parameter& one : rate_and_part(std::move(p), series.limit.per_s, series.limit.source, name + " over its limit",
                                      "what part of the limit the best product reaches"))
    into.parameters.push_back(std::move(one));
}

// Allada et al. 2009: rates with transfers over those without, 0.87 for SGEMM and 0.95 for DGEMM at their largest size.
void add_copies(const Rates& inside, const Rates& copied, const std::string& name, DeviceParameters& into) {
  const ProbeResult* base = nullptr;
  for (const ProbeResult& r : inside) {
    const bool both = std::ranges::any_of(copied, [&](const ProbeResult& c) { return sizes(c.axes) == sizes(r.axes); });
    if (both && is_square(r) && (!base || base->axes.n < r.axes.n)) base = &r;
  }
  if (!base) return into.missing.push_back(name + " with copies: needs one square in global memory and in the host's");
  const auto add = [&](const std::string& how, const std::string& meaning, auto wanted) {
    const ProbeResult* const r =
        fastest_of(copied, [&](const ProbeResult& c) { return sizes(c.axes) == sizes(base->axes) && wanted(c.axes); });
    if (!r) return;
    Parameter p = parameter(
        name + how, quotient({r->rate}, {base->rate}, "1", "rate with copies / without: " + text_of(r->axes)), meaning);
    leave_unchecked(p, "it follows from size, link and rate");
    into.parameters.push_back(std::move(p));
  };
  add(" copied in turn", "what is left of the rate where A, B and C are copied before and after",
      [](const Shape& s) { return s.panels == 1; });
  add(" copied in panels", "the same where panels are copied while others are computed",
      [](const Shape& s) { return s.panels > 1; });
}

void add_cores(const ProbeSeries& series, const Rates& rates, const std::string& name, DeviceParameters& into) {
  const ProbeResult* one = nullptr;
  for (const ProbeResult& r : rates)
    if (r.axes.blocks == 1 && (!one || one->axes.n < r.axes.n)) one = &r;
  const ProbeResult* const best =
      one ? fastest_of(rates, [&](const ProbeResult& r) { return sizes(r.axes) == sizes(one->axes); }) : nullptr;
  const bool on_more = one && std::ranges::any_of(rates, [&](const ProbeResult& r) {
                         return r.axes.blocks > 1 && sizes(r.axes) == sizes(one->axes);
                       });
  if (!best || !on_more) return into.missing.push_back(name + " cores: needs one product on one core and on more");
  Parameter p = parameter(
      name + " cores",
      quotient({best->rate}, {one->rate}, "cores", "rate on the best number of cores / on one: " + text_of(best->axes)),
      "how many times one core's rate the library reaches");
  hold_below(p, series.layout.units, "cores that the affinity mask allows, as hwloc finds them", 0.05);
  into.parameters.push_back(std::move(p));
}

}  // namespace

void derive_gemm(const std::vector<const ProbeSeries*>& list, DeviceParameters& into) {
  for (const ProbeSeries* series : list) {
    const ProbeCase& c = series->question;
    const bool on_host = is_host(*series);
    if (!asks(c, ProbeQuestion::matrix_products) || (c.space == Space::host && !on_host)) continue;
    const std::string name = fmt::format("gemm {}", npgpu::name(c.type));
    const Rates rates = rates_of(*series);
    add_best(*series, rates, name, into);
    if (on_host) add_cores(*series, rates, name, into);
    for (const ProbeSeries* other : list)
      if (asks(other->question, ProbeQuestion::matrix_products) && other->question.type == c.type &&
          other->question.space == Space::host && !on_host)
        add_copies(rates, rates_of(*other), name, into);
  }
}

}  // namespace npgpu::model

// The parameters of Perez & Piccoli 2011. What their text says of T_delay (One-All over One-One) does not give their
// table; All-One over One-One does.
#include <cmath>

#include "netpipe/model/probes/corner_points.hpp"
#include "netpipe/model/probes/quotient.hpp"
#include "npgpu/derive.hpp"

namespace npgpu {

namespace {

using model::Corner;
using model::quotient;

// The four rates that a group of parameters is made of, with the letters of its formulas.
struct Rates {
  const Estimate &aa, &oa, &ao, &oo;
  const std::array<std::vector<std::string>, 4>& doubts;
  std::string suffix;  // of the parameters' names
};

// The doubts of these corners, and which of them are missing, in one text.
std::string doubts_of(const Rates& rates, std::initializer_list<Corner> used) {
  const Estimate* all[] = {&rates.aa, &rates.oa, &rates.ao, &rates.oo};
  std::string text;
  const auto add = [&](Corner corner, const std::string& what) {
    text += (text.empty() ? "" : "; ") + std::string(model::name_of(corner)) + ": " + what;
  };
  for (const Corner corner : used) {
    const auto i = static_cast<std::size_t>(corner);
    if (!std::isfinite(all[i]->value)) add(corner, all[i]->method.empty() ? "not measured" : all[i]->method);
    for (const std::string& doubt : rates.doubts[i]) add(corner, doubt);
  }
  return text;
}

Parameter parameter(const Rates& rates, const char* name, Estimate estimate, std::string meaning,
                    std::initializer_list<Corner> used) {
  Parameter p;
  p.name = name + rates.suffix;
  p.estimate = std::move(estimate);
  p.meaning = std::move(meaning);
  p.reference_source = "not reported with the rates";
  p.note = doubts_of(rates, used);
  return p;
}

constexpr auto aa = Corner::all_all, oa = Corner::one_all, ao = Corner::all_one, oo = Corner::one_one;

void add_compute(std::vector<Parameter>& all, const Rates& r) {
  all.push_back(parameter(r, "SM", quotient({r.aa}, {r.oa}, "units", "Cp_AA / Cp_OA"),
                          "how many units compute at once: multiprocessors, or cores", {aa, oa}));
  all.push_back(parameter(
      r, "N_PPipe", quotient({r.aa}, {r.ao}, "threads", "Cp_AA / Cp_AO"),
      "lanes of one instruction; times w* / cap where a unit holds fewer one-thread blocks (cap) than fill it (w*)",
      {aa, ao}));
  all.push_back(parameter(r, "L_Pipe",
                          quotient({r.ao, r.oa}, {r.oo, r.aa}, "instructions", "Cp_AO * Cp_OA / (Cp_OO * Cp_AA)"),
                          "one-thread blocks that a unit keeps in flight: min(w*, cap)", {aa, oa, ao, oo}));
}

void add_bandwidth(std::vector<Parameter>& all, const Rates& r) {
  all.push_back(parameter(r, "N_MINBl", quotient({r.aa}, {r.oa}, "blocks", "B_AA / B_OA"),
                          "how many full blocks, each on its unit, fill the memory's bus", {aa, oa}));
  all.push_back(parameter(r, "W_bus", quotient({r.aa}, {r.ao}, "threads", "B_AA / B_AO"),
                          "how much more full blocks move than as many one-thread blocks as the device holds",
                          {aa, ao}));
  all.push_back(parameter(r, "T_delay", quotient({r.ao}, {r.oo}, "blocks", "B_AO / B_OO"),
                          "one-thread blocks in flight on the whole device; a count, no delay", {ao, oo}));
}

}  // namespace

std::vector<Parameter> compute_parameters(const Corners& c) {
  std::vector<Parameter> all;
  add_compute(all, {c.all_all, c.one_all, c.all_one, c.one_one, c.doubts, ""});
  // Per cycle, where cycles were recorded at all: the clock of All-All may be lower than that of the others.
  const double any = c.all_all_cycle.value * c.one_all_cycle.value * c.all_one_cycle.value * c.one_one_cycle.value;
  if (std::isfinite(any))
    add_compute(all, {c.all_all_cycle, c.one_all_cycle, c.all_one_cycle, c.one_one_cycle, c.doubts, " per cycle"});
  return all;
}

std::vector<Parameter> bandwidth_parameters(const Corners& c) {
  std::vector<Parameter> all;
  add_bandwidth(all, {c.all_all, c.one_all, c.all_one, c.one_one, c.doubts, ""});
  return all;
}

}  // namespace npgpu

// What products of matrices say of a device: the best rate against the limit and the instructions' rate, what copies
// leave of it and a host adds to it, and what a host's cores make of one.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "netpipe/model/probes/derivation.hpp"
#include "npgpu/vocabulary/questions.hpp"

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
// Nothing transposed, C not read, the probe's own numbers, all columns where the others are.
bool is_plain(const Shape& s) { return kind_of_product(s) == kind_of_product(Shape{}) && s.host_columns == 0; }
bool same_product(const Shape& a, const Shape& b) {
  return sizes(a) == sizes(b) && kind_of_product(a) == kind_of_product(b);
}
std::string of_operands(Operands operands) {
  return operands == Operands::usual ? "" : fmt::format(", {}", npgpu::name(operands));
}

// The best rate with each kind of operands that there is.
void add_best(const ProbeSeries& series, const Rates& rates, const std::string& name, DeviceParameters& into) {
  if (rates.empty()) return into.missing.push_back(name + ": no usable product in " + title(series.question));
  for (const Operands operands : {Operands::usual, Operands::zeros, Operands::random}) {
    const ProbeResult* const best =
        fastest_of(rates, [&](const ProbeResult& r) { return r.axes.operands == operands; });
    if (!best) continue;
    Estimate rate = best->rate;
    rate.unit = "operations per second";
    rate.method = "2 m n k / time of a product: " + text_of(best->axes);
    Parameter p = parameter(name + of_operands(operands), rate, "products of matrices by " + series.library);
    for (const std::string& doubt : best->doubts) add_note(p.note, doubt);
    for (Parameter& one : rate_and_part(std::move(p), series.limit.per_s, series.limit.source,
                                        name + of_operands(operands) + " over its limit",
                                        "what part of the limit the best product reaches"))
      into.parameters.push_back(std::move(one));
  }
}

void add_quotient(const ProbeResult& over, const ProbeResult& under, const std::string& name, const std::string& method,
                  const std::string& meaning, DeviceParameters& into) {
  Parameter p = parameter(name, quotient({over.rate}, {under.rate}, "1", method), meaning);
  leave_unchecked(p, "it follows from size, link and rate");
  into.parameters.push_back(std::move(p));
}

// The largest square as it is, and with an operand transposed or C read.
void add_ways(const Rates& rates, const std::string& name, DeviceParameters& into) {
  const ProbeResult* base = nullptr;
  const auto differs = [](const ProbeResult& r, const ProbeResult& b) {
    return sizes(r.axes) == sizes(b.axes) && r.axes.blocks == b.axes.blocks && r.axes.operands == Operands::usual &&
           !is_plain(r.axes);
  };
  for (const ProbeResult& r : rates)
    if (is_plain(r.axes) && is_square(r) && (!base || base->axes.n < r.axes.n) &&
        std::ranges::any_of(rates, [&](const ProbeResult& other) { return differs(other, r); }))
      base = &r;
  if (!base) return;
  for (const ProbeResult& r : rates) {
    if (!differs(r, *base)) continue;
    std::string way = r.axes.ops == Ops::nn ? "" : fmt::format(" ops {}", npgpu::name(r.axes.ops));
    if (r.axes.alpha != 1) way += fmt::format(" alpha {}", r.axes.alpha);
    if (r.axes.beta != 0) way += fmt::format(" beta {}", r.axes.beta);
    add_quotient(r, *base, name + way, fmt::format("rate / that of {}: {}", text_of(base->axes), text_of(r.axes)),
                 r.axes.beta ? "what is left of the rate where C is read, too" : "what is left of the rate, transposed",
                 into);
  }
}

// Allada et al. 2009: rates with transfers over those without, 0.87 for SGEMM and 0.95 for DGEMM at their largest size.
void add_copies(const Rates& inside, const Rates& copied, const std::string& name, DeviceParameters& into) {
  const ProbeResult* base = nullptr;
  for (const ProbeResult& r : inside) {
    const bool both = std::ranges::any_of(copied, [&](const ProbeResult& c) { return sizes(c.axes) == sizes(r.axes); });
    if (both && is_square(r) && is_plain(r.axes) && (!base || base->axes.n < r.axes.n)) base = &r;
  }
  if (!base) return into.missing.push_back(name + " with copies: needs one square in global memory and in the host's");
  const auto add = [&](const std::string& how, const std::string& meaning, auto wanted) {
    const ProbeResult* const r = fastest_of(copied, [&](const ProbeResult& c) {
      return sizes(c.axes) == sizes(base->axes) && is_plain(c.axes) && wanted(c.axes);
    });
    if (r) add_quotient(*r, *base, name + how, "rate with copies / without: " + text_of(r->axes), meaning, into);
  };
  add(" copied in turn", "what is left of the rate where A, B and C are copied before and after",
      [](const Shape& s) { return s.panels == 1; });
  add(" copied in panels", "the same where panels are copied while others are computed",
      [](const Shape& s) { return s.panels > 1; });
}

// The largest product that the GPU computes alone and together with the host.
void add_together(const Rates& copied, const std::string& name, DeviceParameters& into) {
  const ProbeResult *together = nullptr, *alone = nullptr;
  for (const ProbeResult& r : copied) {
    if (!r.axes.host_columns || (together && together->axes.n > r.axes.n)) continue;
    const ProbeResult* const its = fastest_of(
        copied, [&](const ProbeResult& c) { return same_product(c.axes, r.axes) && c.axes.host_columns == 0; });
    if (!its || (together && together->axes.n == r.axes.n && together->rate.value > r.rate.value)) continue;
    together = &r;
    alone = its;
  }
  if (!together) return;
  const double share = 100.0 * together->axes.host_columns / together->axes.n;
  add_quotient(*together, *alone, name + " with the host",
               fmt::format("rate with {:.1f} % of the columns by the host / without, copies included: {}", share,
                           text_of(together->axes)),
               "how many times faster both are than the GPU alone", into);
  Estimate part = exactly(share);
  part.unit = "%";
  part.method = "columns by the host / all: " + text_of(together->axes);
  Parameter p = parameter(name + " share of the host", part, "columns that the host's BLAS computes at the same time");
  leave_unchecked(p, "it follows from both rates");
  into.parameters.push_back(std::move(p));
}

void add_cores(const ProbeSeries& series, const Rates& rates, const std::string& name, DeviceParameters& into) {
  const ProbeResult* one = nullptr;
  for (const ProbeResult& r : rates)
    if (r.axes.blocks == 1 && (!one || one->axes.n < r.axes.n)) one = &r;
  const ProbeResult *best = nullptr, *most = nullptr;
  for (const ProbeResult& r : rates) {
    if (!one || !same_product(r.axes, one->axes)) continue;
    if (!best || r.rate.value > best->rate.value) best = &r;
    if (r.axes.blocks > (most ? most->axes.blocks : 1)) most = &r;
  }
  if (!best || !most) return into.missing.push_back(name + " cores: needs one product on one core and on more");
  Parameter p = parameter(
      name + " cores",
      quotient({best->rate}, {one->rate}, "cores", "rate on the best number of cores / on one: " + text_of(best->axes)),
      "how many times one core's rate the library reaches");
  hold_below(p, series.layout.units, "cores that the affinity mask allows, as hwloc finds them", 0.05);
  into.parameters.push_back(std::move(p));
  p = parameter(name + " efficiency of cores",
                quotient({exactly(100), most->rate}, {one->rate, exactly(most->axes.blocks)}, "%",
                         fmt::format("rate on {} cores / {} times that of one: {}", most->axes.blocks,
                                     most->axes.blocks, text_of(most->axes))),
                "what part of so many times one core's rate the library reaches on all that were tried");
  leave_unchecked(p, "it follows from clocks, caches and memory");
  into.parameters.push_back(std::move(p));
}

// The library's rate over that of the instruction, of the same operands: by wgmma where it was measured, else by mma.
void add_over_instructions(const std::vector<const ProbeSeries*>& list, const ProbeSeries& series, const Rates& rates,
                           const std::string& name, DeviceParameters& into) {
  const ProbeSeries* tensor = nullptr;
  for (const ProbeSeries* other : list)
    if (asks(other->question, ProbeQuestion::tensor_power) && other->question.type == series.question.type &&
        (!tensor || other->question.operation == Operation::wgmma))
      tensor = other;
  if (!tensor) return;
  const Rates instructions = rates_of(*tensor);
  for (const Operands operands : {Operands::usual, Operands::zeros, Operands::random}) {
    const auto its = [&](const ProbeResult& r) { return r.axes.operands == operands; };
    const ProbeResult *const library = fastest_of(rates, its), *const instruction = fastest_of(instructions, its);
    if (!library || !instruction) continue;
    constexpr double tera = 1e-12;
    add_quotient(*library, *instruction,
                 fmt::format("{} over {}{}", name, npgpu::name(tensor->question.operation), of_operands(operands)),
                 fmt::format("library {:.1f} T/s ({}) / instruction {:.1f} T/s ({})", library->rate.value * tera,
                             text_of(library->axes), instruction->rate.value * tera, text_of(instruction->axes)),
                 "what part of the tensor cores' rate by instructions the library reaches", into);
  }
}

}  // namespace

void derive_gemm(const std::vector<const ProbeSeries*>& list, DeviceParameters& into) {
  for (const ProbeSeries* series : list) {
    const ProbeCase& c = series->question;
    const bool on_host = is_host(*series);
    if (!asks(c, ProbeQuestion::matrix_products)) continue;
    const std::string name = fmt::format("gemm {}", npgpu::name(c.type));
    const Rates rates = rates_of(*series);
    if (c.space == Space::host && !on_host) {  // copies are part of it
      add_together(rates, name, into);
      continue;
    }
    add_best(*series, rates, name, into);
    add_ways(rates, name, into);
    add_over_instructions(list, *series, rates, name, into);
    if (on_host) add_cores(*series, rates, name, into);
    for (const ProbeSeries* other : list)
      if (asks(other->question, ProbeQuestion::matrix_products) && other->question.type == c.type &&
          other->question.space == Space::host && !on_host)
        add_copies(rates, rates_of(*other), name, into);
  }
}

}  // namespace npgpu::model

#include "npgpu/probe_description.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace npgpu {

std::vector<FigureChoice> figures_by_operation(const ProbeCase& c) {
  if (!counts_operations(c)) return {};
  const std::string by = c.operation == Operation::fma ? "" : fmt::format(" by {}", name(c.operation));
  return {{fmt::format("{}{} {}{}", where_of(c), c.probe, name(c.type), by), Among::fastest,
           is_whole_number(c.type) ? FigureUnit::operations_per_s : FigureUnit::flop_per_s}};
}

const ProbeDescription& description_of(std::string_view probe) {
  static const ProbeDescription unknown{
      .axes = {.stride = true, .offset = true, .ways = true, .rung = true},
      .key_figures = [](const ProbeCase&) -> std::vector<FigureChoice> { return {}; }};
  const auto& all = registered<ProbeDescription>();
  const auto found = std::ranges::find_if(all, [&](const auto& one) { return one->name == probe; });
  return found == all.end() ? unknown : **found;
}

Counted counted_of(const ProbeCase& c) {
  const ProbeDescription& described = description_of(c);
  if (described.counted) return *described.counted;
  if (c.operation == Operation::chase) return {"loads", "time of a load", "load"};
  if (described.name.empty()) return {"work", "work, as that probe counts it"};
  const bool branches = c.operation == Operation::branch;
  if (branches || counts_operations(c))
    return {branches || is_whole_number(c.type) ? "OP" : "FLOP", "operations (a multiply-add is two)"};
  const bool asked_for = described.axes.has_pattern() && c.operation == Operation::read;
  return {"B", asked_for ? "bytes that threads ask for" : "bytes read and written"};
}

const LawRule* rule_of(const ProbeCase& c) {
  const auto& laws = description_of(c).laws;
  const auto found = std::ranges::find_if(laws, [&](const LawRule& one) {
    return (!one.space || one.space == c.space) && (!one.operation || one.operation == c.operation);
  });
  return found == laws.end() ? nullptr : &*found;
}

std::string_view Probe::summary() const { return description_of(name()).summary; }

std::optional<std::string> Probe::refuses(const ProbeStep& step) const {
  if (auto why = refuses_case(step.question)) return why;
  const Shape &s = step.axes, none{};
  if (const auto flaw = flaw_of(s)) return "the shape " + *flaw;
  const OwnAxes& has = description_of(step.question).axes;
  const std::pair<bool, const char*> lacking[] = {
      {!has.stride && s.stride != none.stride, "stride"},
      {!has.offset && s.offset_bytes != none.offset_bytes, "offset"},
      {!has.ways && s.ways != none.ways, "ways"},
      {!has.rung && s.rung != none.rung, "rungs"},
      {!has.resources && (s.registers || s.shared_bytes), "registers or shared memory"},
      {!has.matrices && !has.columns && matrices_of(s) != matrices_of(none), "m, n, k or panels"},
      {has.columns && std::tuple(s.m, s.k, s.panels) != std::tuple(none.m, none.k, none.panels), "m, k or panels"},
      {!has.matrices && std::tuple(s.ops, s.alpha, s.beta) != std::tuple(none.ops, none.alpha, none.beta),
       "ops, alpha or beta"},
      {!has.matrices && s.host_columns, "host_columns"},
      {s.intensity != 0, "intensity"},
      {!has.cluster && s.cluster, "clusters"},
      {!has.pages && s.pages != none.pages, "pages"},
      {s.sm != 0, "sm"}};
  for (const auto& [lacks, what] : lacking)
    if (lacks) return fmt::format("probe {} has no {}", step.question.probe, what);
  if (!takes_operands(step.question, s.operands))
    return fmt::format("probe {} does not take operands {} for {}", step.question.probe, npgpu::name(s.operands),
                       npgpu::name(step.question.operation));
  return refuses_shape(step.question, s);
}

}  // namespace npgpu

#include <fmt/format.h>

#include <algorithm>

#include "npgpu/measuring/campaign.hpp"
#include "npgpu/model/result.hpp"
#include "npgpu/vocabulary/questions.hpp"

namespace npgpu {

std::string title(const ProbeCase& c) {
  std::string text = fmt::format("{} {} {} {}", c.probe, c.device, name(c.operation), name(c.type));
  if (c.form == Form::dependent) text += " dependent";
  if (c.space != Space::registers && c.space != Space::global && c.space != Space::host)
    text += fmt::format(" {}", name(c.space));
  if (asks(c, ProbeQuestion::matrix_products) && c.space == Space::host && !is_host_timed(c))
    text += " host";  // copies are part of it
  return text;
}

Seconds Probes::timed(const ProbeCase&, std::span<const ProbeSample> trial) {
  const ProbeSample& one = trial.front();
  return from_microseconds(one.device_us == one.device_us ? one.device_us : one.host_us);
}

std::optional<std::string> flaw_of(const Shape& s) {
  if (s.blocks == 0 || s.threads == 0 || s.ilp == 0)
    return fmt::format("has {} blocks, {} threads, ilp {}", s.blocks, s.threads, s.ilp);
  if (s.ways == 0) return "has a branch of 0 ways";
  if (s.one_block_per_sm > 1) return fmt::format("has {} for one_block_per_sm, which is 0 or 1", s.one_block_per_sm);
  return std::nullopt;
}

std::string intensity_text(const Shape& s) {
  const double each = intensity_of(s);
  return each < 1 && s.intensity && 1024 % s.intensity == 0 ? fmt::format("1/{} operations a byte", 1024 / s.intensity)
                                                            : fmt::format("{:g} operations a byte", each);
}

std::string text_of(const Shape& s) {
  if (s.m > 0) {
    std::string text =
        s.m == s.n && s.n == s.k ? fmt::format("square {}", s.m) : fmt::format("m {}, n {}, k {}", s.m, s.n, s.k);
    if (s.blocks > 1) text += fmt::format(", {} cores", s.blocks);
    if (s.panels != 1) text += s.panels ? fmt::format(", {} panels", s.panels) : ", panels as advised";
    if (s.host_columns == Shape::as_advised) text += ", columns by the host as advised";
    else if (s.host_columns) text += fmt::format(", {} columns by the host", s.host_columns);
    if (s.ops != Ops::nn) text += fmt::format(", ops {}", name(s.ops));
    if (s.alpha != 1) text += fmt::format(", alpha {}", s.alpha);
    if (s.beta != 0) text += fmt::format(", beta {}", s.beta);
    if (s.operands != Operands::usual) text += fmt::format(", operands {}", name(s.operands));
    return text;
  }
  std::string text = fmt::format("{} x {} threads, ilp {}", s.blocks, s.threads, s.ilp);
  if (s.access_bytes > 0) text += fmt::format(", {} B each", s.access_bytes);
  if (s.bytes > 0) text += ", in " + size_text(s.bytes);
  if (s.stride != 1) text += fmt::format(", stride {}", s.stride);
  if (s.offset_bytes > 0) text += fmt::format(", offset {} B", s.offset_bytes);
  if (s.ways > 1) text += fmt::format(", {} ways", s.ways);
  if (s.rung > 0) text += fmt::format(", rung {}", s.rung);
  if (s.registers > 0) text += fmt::format(", {} registers", s.registers);
  if (s.shared_bytes > 0) text += ", shared " + size_text(s.shared_bytes);
  if (s.intensity > 0) text += ", " + intensity_text(s);
  if (s.pages != Pages::fixed) text += fmt::format(", pages {}", name(s.pages));
  if (s.n > 0) text += fmt::format(", n {}", s.n);
  if (s.cluster > 0) text += fmt::format(", clusters of {}", s.cluster);
  if (s.sm > 0) text += fmt::format(", from multiprocessor {}", s.sm);
  if (s.one_block_per_sm) text += ", one block per SM";
  if (s.operands != Operands::usual) text += fmt::format(", operands {}", name(s.operands));
  return text;
}

std::uint32_t resident_blocks(const Layout& l, const Shape& s) {
  constexpr std::uint32_t warp = 32, schedulers = 4, registers_at_once = 8;
  const std::uint32_t warps = (s.threads + warp - 1) / warp;
  std::uint32_t most = l.max_blocks_per_unit ? l.max_blocks_per_unit : UINT32_MAX;
  const auto allow = [&](std::uint32_t blocks) { most = std::min(most, blocks); };
  if (l.max_threads_per_unit) allow(l.max_threads_per_unit / (warps * warp));
  if (l.registers_per_unit && s.registers) {
    const std::uint32_t of_thread = (s.registers + registers_at_once - 1) / registers_at_once * registers_at_once;
    allow(l.registers_per_unit / schedulers / (of_thread * warp) * schedulers / warps);
  }
  if (l.shared_bytes_per_unit && s.shared_bytes)
    allow(l.shared_bytes_per_unit / (s.shared_bytes + l.shared_bytes_reserved));
  return std::max(most, 1u);
}

// ---- how it is repeated, what a point costs, what its figure counts -------------------------------------------------

// A probe's repeats are steps of one kernel. Kernels take the same time in each visit within 0.2 % (H200), and there
// are many shapes.
Repetition Probes::repetition() { return {.classic = {.target = Seconds{0.05}}, .adaptive = {}, .rounds = 4}; }

PointCost Probes::cost(const DeviceInfo& device, const Step<Probes>& step) {
  if (device.simulated) return {Seconds{0}, Seconds{0}};
  const auto bytes = static_cast<double>(step.axes.bytes);
  const bool host = device.id == "host", waits = step.question.form == Form::dependent;
  if (step.axes.m > 0) {
    const double work = 2.0 * step.axes.m * step.axes.n * step.axes.k;
    const double elements = step.axes.m * 1.0 * step.axes.n + step.axes.k * (1.0 * step.axes.m + step.axes.n);
    const Seconds product{1e-5 + work / (host ? 5e10 * step.axes.blocks : 3e13)};
    const bool copied = !host && step.question.space == Space::host;
    return {product + PointCost::moving(copied ? 8 * elements : 0, 4e10),
            Seconds{host ? 0.05 : 1e-3} + PointCost::moving(elements, 1e9)};
  }
  if (counted_of(step.question).each_waits())
    return {Seconds{host ? 1e-6 : 1e-5}, PointCost::moving(bytes, host ? 2e9 : 5e10)};
  const double rate = host ? (waits ? 5e9 : 3e10) : (waits ? 5e10 : 2e12);
  // A host's set is walked through in pieces, and laid out for several points.
  const double repeat = host ? std::min(bytes, 32.0 * MiB * step.axes.blocks) : bytes;
  return {Seconds{1e-6} + PointCost::moving(repeat, rate), PointCost::moving(bytes, host ? 2e10 : 1e12)};
}

Estimate Probes::figure(const ProbeCase& c, const ProbeResult& r) {
  if (counted_of(c).each_waits()) return {1e9 / r.rate.value, 1e9 / r.rate.high, 1e9 / r.rate.low, "ns", r.rate.method};
  return {r.rate.value, r.rate.low, r.rate.high, std::string(counted_of(c).unit) + "/s", r.rate.method};
}

std::string_view Probes::counted(const ProbeCase& c, const ProbeResult&) { return counted_of(c).words; }

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

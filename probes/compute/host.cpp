// Computing power of the host: one thread a core, chains of multiply-adds in scalars or in whole SIMD registers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "npgpu/error.hpp"
#include "probes/host/layout.hpp"
#include "probes/host/probe.hpp"
#include "probes/host/threads.hpp"

namespace npgpu {

namespace {

constexpr std::uint32_t best_ilp = 8;  // two units of four cycles' latency, as today's cores have, are full

struct alignas(128) State {
  std::byte x[chains::max_state_bytes];
};

class HostCompute final : public Runner<Probes> {
 public:
  explicit HostCompute(const ProbeCase& question) : type_(question.type), cpus_(host::core_cpus()) {}

  void prepare(const Shape& shape) override {
    if (shape.blocks < 1 || shape.blocks > cpus_.size())
      throw Error(ErrorKind::usage,
                  fmt::format("--shape: {} blocks, but the affinity mask has {} cores", shape.blocks, cpus_.size()));
    isa_ = shape.threads == 1 ? Isa::scalar : widest_isa().value_or(Isa::scalar);
    chains_ = chains::find(isa_, type_, shape.ilp);
    if (!chains_.loop)
      throw Error(ErrorKind::usage,
                  fmt::format("--shape: {} has no {} independent chains of {}", name(isa_), shape.ilp, name(type_)));
    if (chains_.lanes != shape.threads)
      throw Error(ErrorKind::usage, fmt::format("--shape: {} lanes of {}, but {} has {}", shape.threads, name(type_),
                                                name(isa_), chains_.lanes));
    shape_ = shape;
    bytes_ = shape.ilp * chains_.lanes * chains::bytes_of(type_);
    if (!team_ || team_->size() != shape.blocks)
      team_ = std::make_unique<PinnedThreads>(std::vector<unsigned>(cpus_.begin(), cpus_.begin() + shape.blocks));
    states_.assign(shape.blocks, State{});
    steps_ = 0;
  }

  double work() const override { return 2.0 * shape_.blocks * shape_.threads * shape_.ilp * chains::steps_of_repeat; }

  RunTimes run(std::uint64_t repeats) override {
    for (State& state : states_) chains::start(type_, {state.x, bytes_});
    steps_ = repeats * chains::steps_of_repeat;
    const double a = chains::factor(type_), b = chains::addend(type_);
    return team_->run([&](unsigned block) { chains_.loop(states_[block].x, a, b, repeats); });
  }

  std::optional<std::string> intact() override {
    for (std::size_t block = 0; block < states_.size(); ++block)
      if (auto wrong = chains::check(type_, {states_[block].x, bytes_}, steps_))
        return fmt::format("block {}: {}", block, *wrong);
    return std::nullopt;
  }

  const Clock& clock() const override { return steady_clock(); }
  std::string binding() const override {
    return team_ ? fmt::format("{}, {}", team_->binding(), name(isa_)) : "one thread a core";
  }

 private:
  DataType type_;
  std::vector<unsigned> cpus_;
  Isa isa_ = Isa::scalar;
  Shape shape_;
  chains::Chains chains_;
  std::size_t bytes_ = 0;
  std::unique_ptr<PinnedThreads> team_;
  std::vector<State> states_;
  std::uint64_t steps_ = 0;
};

class HostComputeProbe final : public HostProbe {
 public:
  std::string_view name() const override { return "compute"; }
  std::string_view summary() const override {
    return "multiply-adds of one and all cores, in scalars and SIMD registers";
  }

  std::vector<ProbeCase> cases(const std::string& id) const override {
    std::vector<ProbeCase> all;
    for (const DataType type : {DataType::fp32, DataType::fp64, DataType::int32})
      all.push_back({.probe = "compute", .device = device(id).id, .operation = Operation::fma, .type = type});
    return all;
  }

  std::optional<std::string> refuses(const ProbeCase& question) const override {
    if (question.operation != Operation::fma || question.space != Space::registers || question.form != Form::streaming)
      return "the compute probe asks for fma in registers only";
    if (isas_here().empty()) return why_no_isa();
    if (!chains::find(Isa::scalar, question.type, 1).loop)
      return fmt::format("the host computes with fp32, fp64 and int32, not with {}", npgpu::name(question.type));
    return std::nullopt;
  }

  Layout layout(const ProbeCase& question) const override { return host_layout(question.type); }

  Limit peak(const ProbeCase& question) const override {
    const auto isa = widest_isa();
    if (!isa) return {not_measured, why_no_isa()};
    const Ports ports = documented_ports(host::processor(), *isa, question.type);
    const Layout l = layout(question);
    return {2.0 * l.units * l.lanes * ports.per_cycle * l.clock_mhz * 1e6,
            std::isnan(ports.per_cycle) ? ports.source
                                        : fmt::format("{} cores * {} lanes * {} a cycle * 2 * {:.0f} MHz ({})", l.units,
                                                      l.lanes, ports.per_cycle, l.clock_mhz, ports.source)};
  }

  // One core and all, one lane and all, over chains; then the cores one by one.
  std::vector<Shape> shapes(const ProbeCase& question) const override {
    std::vector<Shape> all;
    const auto add = [&](std::uint32_t blocks, std::uint32_t lanes, std::uint32_t ilp) {
      const Isa isa = lanes == 1 ? Isa::scalar : *widest_isa();
      const Shape shape{.blocks = blocks, .threads = lanes, .ilp = ilp, .one_block_per_sm = true};
      if (chains::find(isa, question.type, ilp).loop && std::find(all.begin(), all.end(), shape) == all.end())
        all.push_back(shape);
    };
    if (refuses(question)) return all;
    const Layout l = layout(question);
    add(1, 1, 1);
    for (const std::uint32_t blocks : {1u, l.units})
      for (const std::uint32_t lanes : {1u, l.lanes})
        for (const std::uint32_t ilp : chains::ilps) add(blocks, lanes, ilp);
    for (const std::uint32_t lanes : {1u, l.lanes})
      for (const std::uint32_t blocks : cores_one_by_one(l.units)) add(blocks, lanes, best_ilp);
    return all;
  }

  std::unique_ptr<Runner<Probes>> open(const ProbeCase& question, std::uint64_t) const override {
    if (const auto why = refuses(question)) throw Error(ErrorKind::usage, title(question) + ": " + *why);
    return std::make_unique<HostCompute>(question);
  }
};

}  // namespace
}  // namespace npgpu

NPGPU_PROBE(npgpu::HostComputeProbe)

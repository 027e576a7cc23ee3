// Computing power of the host: one thread a core, chains of multiply-adds in scalars or in whole SIMD registers.
#include <fmt/format.h>

#include "probes/host/probe.hpp"

namespace npgpu {

namespace {

constexpr std::uint32_t best_ilp = 8;  // two units of four cycles' latency, as today's cores have, are full

struct alignas(128) State {
  std::byte x[chains::max_state_bytes];
};

class HostComputeRunner final : public HostRunner {
 public:
  using HostRunner::HostRunner;
  double work() const override { return 2.0 * shape().blocks * lanes_ * shape().ilp * chains::steps_of_repeat; }
  std::string binding() const override {
    return threads_ ? fmt::format("{}, {}", threads_->binding(), name(isa_for(shape()))) : "one thread a core";
  }

 private:
  void set_up() override {
    const chains::Chains found = chains::find(isa_for(shape()), question().type, shape().ilp);
    loop_ = found.loop;
    lanes_ = found.lanes;
    bytes_ = shape().ilp * lanes_ * chains::bytes_of(question().type);
    take_threads();
    states_.assign(shape().blocks, State{});
  }
  ProbeSample launch(std::uint64_t repeats) override {
    const DataType type = question().type;
    for (State& state : states_) chains::start(type, {state.x, bytes_});
    steps_ = repeats * chains::steps_of_repeat;
    const double a = chains::factor(type), b = chains::addend(type);
    return threads_->run([&](unsigned block) { loop_(states_[block].x, a, b, repeats); });
  }
  std::optional<std::string> wrong_result() override {
    for (std::size_t block = 0; block < states_.size(); ++block)
      if (auto wrong = chains::check(question().type, {states_[block].x, bytes_}, steps_))
        return fmt::format("block {}: {}", block, *wrong);
    return std::nullopt;
  }

  chains::Loop loop_ = nullptr;
  unsigned lanes_ = 0;
  std::size_t bytes_ = 0;  // of a block's chains
  std::vector<State> states_;
  std::uint64_t steps_ = 0;  // of a chain in the last run
};

std::optional<std::string> refuses_compute(const ProbeCase& question) {
  if (question.operation != Operation::fma || question.space != Space::registers || question.form != Form::streaming)
    return "the compute probe asks for fma in registers only";
  if (isas_here().empty()) return why_no_isa();
  if (!chains::find(Isa::scalar, question.type, 1).loop)
    return fmt::format("the host computes with fp32, fp64 and int32, not with {}", npgpu::name(question.type));
  return std::nullopt;
}
std::optional<std::string> refuses_chains(const ProbeCase& question, const Shape& shape) {
  const Isa isa = isa_for(shape);
  const chains::Chains found = chains::find(isa, question.type, shape.ilp);
  if (!found.loop)
    return fmt::format("{} has no {} independent chains of {}", npgpu::name(isa), shape.ilp,
                       npgpu::name(question.type));
  if (found.lanes != shape.threads)
    return fmt::format("{} lanes of {}, but {} has {}", shape.threads, npgpu::name(question.type), npgpu::name(isa),
                       found.lanes);
  return std::nullopt;
}
// One core and all, one lane and all, over chains; then the cores one by one.
std::vector<Shape> shapes_of_compute(const ProbeCase&, const Layout& l) {
  std::vector<Shape> all;
  const auto add = [&](std::uint32_t blocks, std::uint32_t lanes, std::uint32_t ilp) {
    const Shape shape{.blocks = blocks, .threads = lanes, .ilp = ilp, .one_block_per_sm = true};
    all.push_back(shape);
  };
  add(1, 1, 1);
  for (const std::uint32_t blocks : {1u, l.units})
    for (const std::uint32_t lanes : {1u, l.lanes})
      for (const std::uint32_t ilp : chains::ilps) add(blocks, lanes, ilp);
  for (const std::uint32_t lanes : {1u, l.lanes})
    for (const std::uint32_t blocks : cores_one_by_one(l.units)) add(blocks, lanes, best_ilp);
  return each_once(std::move(all));
}

const Host compute_on_host({{.name = "compute",
                             .open = runs<HostComputeRunner>,
                             .shapes = shapes_of_compute,
                             .refuses_case = refuses_compute,
                             .refuses = refuses_chains,
                             .limit = [](const ProbeCase& c, const Layout& l) {
                               return multiply_add_limit(c.type, l);
                             }}});

}  // namespace
}  // namespace npgpu

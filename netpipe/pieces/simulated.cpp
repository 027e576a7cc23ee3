// Copies of pieces on a simulated device, on its manual clock. A way costs, for one copy of n pieces of b bytes,
//
//   max(call + n * host, call + n * (piece + moved / (share * rate))) + latency + synchronize
//
// call and host are the times of the calling thread, for all pieces and for each; piece is what the device needs
// between two pieces; rate and latency are the link's. Copies that are not waited for pay latency and synchronize once,
// and the host's and the device's parts overlap. moved is b; of the kernel, for pieces that are not contiguous, whole
// sectors. What a spec does not state under "hardware" follows from its copy_async_us (c) and the link's gap (g):
//
//            loop     copy-2d   copy-3d   batch    graph    kernel
//   call     0        c         c         2 c      3 c      2 c
//   host     c        0         0         0.1 c    0        0
//   piece    g        0.02 c    0.025 c   0.15 c   0.4 c    0.005 c
//   share    1        0.9       0.9       1        1        0.8
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/host/payload.hpp"
#include "netpipe/devices/simulated/device.hpp"
#include "netpipe/devices/simulated/library.hpp"
#include "netpipe/devices/simulated/node.hpp"
#include "netpipe/pieces/slots.hpp"
#include "npgpu/vocabulary/pieces.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

namespace {

// Up to this many pieces, and this many bytes of each, are real: they are moved and compared.
constexpr std::uint32_t most_real_pieces = 64;
constexpr std::uint64_t most_real_piece = 512;

struct WayCost {
  Seconds call{0}, host{0}, piece{0};
  double share = 1;
};

WayCost cost_of(const simulated::Spec& spec, const simulated::Link& link, PieceWay way) {
  const Seconds c = spec.host.copy_async;
  constexpr std::array<std::array<double, 4>, names_of<PieceWay>.size()> usual{
      {{0, 1, 0, 1}, {1, 0, 0.02, 0.9}, {1, 0, 0.025, 0.9}, {2, 0.1, 0.15, 1}, {3, 0, 0.4, 1}, {2, 0, 0.005, 0.8}}};
  const auto& [call, host, piece, share] = usual[static_cast<std::size_t>(way)];
  std::string key = fmt::format("pieces_{}", name(way));
  std::ranges::replace(key, '-', '_');
  const double stated = number_fact(spec.hardware, key + "_share");
  return {spec.time(key + "_call_us", call * c), spec.time(key + "_host_us", host * c),
          spec.time(key + "_piece_us", way == PieceWay::loop ? link.gap : piece * c), stated > 0 ? stated : share};
}

// The link that a case's pieces go over; null: there is none.
std::optional<simulated::Link> link_of(const PieceCase& c, std::string& why) {
  const simulated::Spec spec = simulated::spec_of(c.device);
  if (c.direction == Direction::peer) {
    const auto from = simulated::member_of(c.device), to = simulated::member_of(c.target);
    if (!from || !to || from->node != to->node) {
      why = "--direction peer: simulated devices copy to each other only within a node: use sim:NODE:0 and sim:NODE:1";
      return std::nullopt;
    }
    const auto node = simulated::node_of(from->node);
    const TransferCase lane = peer_case("simulated", c.device, c.target);
    if (const auto none = node->why_no_route(lane)) {
      why = *none;
      return std::nullopt;
    }
    const simulated::NodeRoute route = node->route(lane);
    const auto rates = node->rates();
    double rate = route.cap > 0 ? route.cap : INFINITY;
    for (const std::size_t link : route.links) rate = std::min(rate, rates[link]);
    return simulated::Link{rate, route.latency, Seconds{0}};
  }
  if (const simulated::Link* link = spec.link(c.direction, Memory::pinned)) return *link;
  why = fmt::format("--direction {}: {} has no such link: add it to its spec, or use another direction",
                    name(c.direction), spec.name);
  return std::nullopt;
}

class SimulatedPieceRunner final : public Runner<Pieces> {
 public:
  explicit SimulatedPieceRunner(const std::string& id) : device_(simulated::open_device(id)) {}
  ~SimulatedPieceRunner() override { device_->forget(payload_); }

  void prepare(const Step<Pieces>& step) override {
    step_ = step;
    std::string why;
    const auto link = link_of(step.question, why);
    if (!link) throw Error(ErrorKind::usage, title(step.question) + ": " + why);
    link_ = *link;
    cost_ = cost_of(device_->spec(), link_, step.axes.way);
    pieces_ = std::min(step.axes.pieces, most_real_pieces);
    piece_bytes_ = std::min(step.axes.piece_bytes, most_real_piece);
    source_slots_ = PieceSlots(source_layout(step.question), pieces_, piece_bytes_, 1);
    target_slots_ = PieceSlots(target_layout(step.question), pieces_, piece_bytes_, 2);
    source_.assign(source_slots_.bytes() + 2 * PieceSlots::guard_bytes, payload::margin_value);
    target_.assign(target_slots_.bytes() + 2 * PieceSlots::guard_bytes, payload::guard_value);
    for (std::uint32_t i = 0; i < pieces_; ++i) {
      payload::fill(piece(source_, source_slots_, i), seed_of(i));
      payload::poison(piece(target_, target_slots_, i), seed_of(i));
    }
    device_->forget(payload_);
    payload_.data = target_.data();
    is_moved_ = false;
  }

  bool run(std::uint64_t repeats, std::vector<PieceSample>& samples) override {
    const PieceShape& shape = step_.axes;
    if (!std::exchange(is_moved_, true))
      for (std::uint32_t i = 0; i < pieces_; ++i)
        std::ranges::copy(piece(source_, source_slots_, i), piece(target_, target_slots_, i).begin());
    const double n = shape.pieces, r = static_cast<double>(repeats);
    const double in_a_row = step_.question.async ? r : 1, rows = step_.question.async ? 1 : r;
    const Seconds host = in_a_row * (cost_.call + n * cost_.host);
    const Seconds each = cost_.piece + Seconds{moved() / (cost_.share * link_.bytes_per_s)};
    const Seconds end = std::max(host, cost_.call + in_a_row * n * each) + link_.latency;
    const Seconds wait = device_->spec().host.synchronize;
    const double noise = device_->run_kernel(rows * host, rows * (end - host), Seconds{0}, payload_, target_.size(),
                                             nullptr, r * static_cast<double>(shape.bytes()));
    PieceSample& sample = samples.emplace_back();
    sample.repeats = repeats;
    sample.host_us = microseconds(rows * host * noise);
    sample.done_us = microseconds(rows * (end + wait) * noise);
    return true;
  }

  std::optional<std::string> check(std::span<PieceSample> last_trial) override {
    std::optional<std::string> wrong;
    std::vector<std::byte> right(target_.size(), payload::guard_value);
    for (std::uint32_t i = 0; i < pieces_; ++i) payload::fill(piece(right, target_slots_, i), seed_of(i));
    if (const auto [at, expected] = std::ranges::mismatch(target_, right); at != target_.end())
      wrong = target_slots_.sentence(static_cast<std::uint64_t>(at - target_.begin()), piece_bytes_,
                                     std::to_integer<std::uint8_t>(*expected), std::to_integer<std::uint8_t>(*at));
    for (PieceSample& sample : last_trial) sample.intact = wrong ? 0 : 1;
    return wrong;
  }

  double work() const override { return Pieces::work(step_.question, step_.axes); }
  std::uint64_t bytes() const override { return step_.axes.bytes(); }
  const Clock& clock() const override { return device_->clock(); }
  Telemetry telemetry() override { return device_->telemetry(); }
  std::string binding() const override { return "simulated"; }

 private:
  payload::Bytes piece(std::vector<std::byte>& area, const PieceSlots& slots, std::uint32_t i) const {
    return {area.data() + PieceSlots::guard_bytes + slots.offset(i), piece_bytes_};
  }
  std::uint64_t seed_of(std::uint32_t i) const { return seed_ + i * payload::slot_seed_step; }
  // Bytes of a piece that go over the link.
  double moved() const {
    const PieceCase& c = step_.question;
    const bool whole = c.layout == PieceLayout::contiguous && c.other_layout == PieceLayout::contiguous;
    const double stated = number_fact(device_->spec().hardware, "sector_bytes"), sector = stated > 0 ? stated : 32;
    const auto bytes = static_cast<double>(step_.axes.piece_bytes);
    return step_.axes.way == PieceWay::kernel && !whole ? sector * std::ceil(bytes / sector) : bytes;
  }

  std::shared_ptr<simulated::Device> device_;
  Step<Pieces> step_;
  simulated::Link link_;
  WayCost cost_;
  std::uint32_t pieces_ = 0;
  std::uint64_t piece_bytes_ = 0;
  std::uint64_t seed_ = payload::fresh_seed();
  PieceSlots source_slots_, target_slots_;
  std::vector<std::byte> source_, target_;
  simulated::Payload payload_;
  bool is_moved_ = false;
};

class SimulatedPieces final : public Backend<Pieces> {
 public:
  std::string_view name() const override { return "pieces"; }
  std::string_view device_kind() const override { return "sim"; }
  std::string_view summary() const override { return "copies of many pieces, on simulated devices"; }
  std::optional<std::string> refuses(const Step<Pieces>& step) const override {
    if (auto why = why_no_pieces(step)) return why;
    std::string why;
    if (!link_of(step.question, why)) return why;
    return std::nullopt;
  }
  MemoryNeed needs(std::span<const Step<Pieces>> steps) const override {
    MemoryNeed need;
    for (const auto& [c, shape] : steps)
      need.device_bytes =
          std::max(need.device_bytes, PieceSlots::area_bytes(c.layout, shape.pieces, shape.piece_bytes));
    return need;
  }
  MemoryNeed available(const PieceCase& c) const override {
    return {UINT64_MAX, simulated::spec_of(c.device).memory_bytes};
  }
  std::unique_ptr<Runner<Pieces>> open(std::span<const Step<Pieces>> steps) const override {
    return std::make_unique<SimulatedPieceRunner>(steps.front().question.device);
  }
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(Backend<npgpu::Pieces>, npgpu::SimulatedPieces)

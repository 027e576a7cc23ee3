#include "netpipe/model/kernels/scheduler.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace npgpu {

namespace {

constexpr int most_schedulers = 8;
constexpr double last_waves = 3;      // that are played one by one
constexpr double most_resident = 64;  // no GPU holds more blocks; where its limits are not known, all would be
constexpr double nothing = 1e-9;

using PerScheduler = std::array<double, most_schedulers>;
struct Block {
  PerScheduler warps{}, left{};  // left: of the operations of each of these warps
  bool ended() const {
    return std::ranges::all_of(left, [](double one) { return one <= nothing; });
  }
};

}  // namespace

double model::operations_of(const ScheduledBlocks& of, const std::function<double(double)>& operation) {
  const int schedulers = std::clamp(of.schedulers, 1, most_schedulers);
  const double on_each = static_cast<double>(of.block_warps) / schedulers,
               resident = std::clamp(of.resident, 1.0, most_resident);
  // While blocks come and go, the schedulers stay as full as they can be.
  const double before = std::max(0.0, std::floor(of.blocks / resident) - last_waves) * resident;
  const double usual = std::clamp(resident * on_each, 1.0, std::max(1.0, of.filling));
  double time = before * std::max(on_each, usual / resident) / usual * operation(usual);

  std::vector<Block> here;
  int next = 0;
  for (double waiting = of.blocks - before;;) {
    for (; waiting > 0 && static_cast<double>(here.size()) < resident; --waiting) {
      Block& block = here.emplace_back();
      for (int w = 0; w < of.block_warps; ++w, next = (next + 1) % schedulers)
        ++block.warps[next], block.left[next] = 1;
    }
    if (here.empty()) return time;
    // Which part of its operations each warp does in a unit of time.
    std::vector<PerScheduler> pace(here.size());
    double until = INFINITY;
    for (int s = 0; s < schedulers; ++s) {
      double all = 0, free = of.filling;
      for (const Block& block : here) all += block.left[s] > nothing ? block.warps[s] : 0;
      const double one = 1 / operation(std::min(all, of.filling));
      for (std::size_t i = 0; i < here.size() && free > nothing; ++i) {
        const Block& block = here[i];
        if (block.left[s] <= nothing) continue;
        const double served = std::min(free, block.warps[s]);
        free -= served;
        pace[i][s] = served / block.warps[s] * one;
        until = std::min(until, block.left[s] / pace[i][s]);
      }
    }
    for (std::size_t i = 0; i < here.size(); ++i)
      for (int s = 0; s < schedulers; ++s) here[i].left[s] -= pace[i][s] * until;
    std::erase_if(here, [](const Block& block) { return block.ended(); });
    time += until;
  }
}

}  // namespace npgpu

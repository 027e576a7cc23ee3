// Decisions that several measuring processes (ranks) make alike. Each rank runs the same plan in the same order. Where
// a decision depends on what one of them saw (a time, a signal, an error), all of them decide the same.
//
// Example:
//   struct Alone final : npgpu::Consensus {  // of a program with several processes: its own messages
//     bool leads() const override { return true; }
//     std::vector<std::string> of_all(const std::string& mine) override { return {mine}; }
//     std::string of_leader(const std::string& mine) override { return mine; }
//     std::string who(std::size_t) const override { return "rank 0"; }
//   };
//   Alone everyone;
//   npgpu::Settings settings;
//   settings.ranks.everyone = &everyone;  // then npgpu::measure(plan, settings) in each of them
//   std::cout << everyone.first_failure("no GPU") << '\n';
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "npgpu/error.hpp"
#include "npgpu/schedule.hpp"

namespace npgpu {

// A rank is gone, or does not answer, so that the others cannot go on together.
class RankLost : public Error {
 public:
  explicit RankLost(const std::string& message) : Error(ErrorKind::failed, message) {}
};

// Every method but leads() and who() throws RankLost if a rank is gone. REQUIRES, for these: all ranks make the same
// calls in the same order.
class Consensus {
 public:
  virtual ~Consensus() = default;
  // True on the one rank that decides what needs no vote.
  virtual bool leads() const = 0;
  // The text of each rank, in the same order on all.
  virtual std::vector<std::string> of_all(const std::string& mine) = 0;
  // The text of the rank that leads.
  virtual std::string of_leader(const std::string& mine) = 0;
  // "rank 1 on node7": whose text the i-th of of_all() is.
  virtual std::string who(std::size_t i) const = 0;

  bool any(bool mine) {
    return std::ranges::any_of(of_all(mine ? "1" : ""), [](const std::string& one) { return !one.empty(); });
  }
  bool of_leader(bool mine) { return !of_leader(std::string(mine ? "1" : "")).empty(); }
  // The first text that is not empty, with the name of its rank. Empty if all texts are.
  std::string first_failure(const std::string& mine) {
    const std::vector<std::string> all = of_all(mine);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!all[i].empty()) return who(i) + ": " + all[i];
    return {};
  }
};

// A schedule that all ranks follow: that of the rank that leads. Only its times count.
std::unique_ptr<Schedule> agreed_schedule(std::unique_ptr<Schedule>, Consensus&);

}  // namespace npgpu

// What processes that measure together decide alike. Each of them runs the same plan in the same order; where a
// decision rests on what one of them saw (a time, a signal, an error), all take the same way.
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

// One of them is gone, or does not answer: there is nothing that the others could do together.
class RankLost : public Error {
 public:
  explicit RankLost(const std::string& message) : Error(ErrorKind::failed, message) {}
};

// Everything is called by all of them at the same place of the plan, and throws RankLost where one of them is gone.
class Consensus {
 public:
  virtual ~Consensus() = default;
  // One of them decides what need not be voted on.
  virtual bool leads() const = 0;
  // What each of them says, in the same order on all.
  virtual std::vector<std::string> of_all(const std::string& mine) = 0;
  // What the one that leads says.
  virtual std::string of_leader(const std::string& mine) = 0;
  // "rank 1 on node7": who said the i-th of of_all().
  virtual std::string who(std::size_t i) const = 0;

  bool any(bool mine) {
    return std::ranges::any_of(of_all(mine ? "1" : ""), [](const std::string& one) { return !one.empty(); });
  }
  bool of_leader(bool mine) { return !of_leader(std::string(mine ? "1" : "")).empty(); }
  // Nothing, or what one of them says is wrong, with its name.
  std::string first_failure(const std::string& mine) {
    const std::vector<std::string> all = of_all(mine);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!all[i].empty()) return who(i) + ": " + all[i];
    return {};
  }
};

// The schedule of the one that leads, which all follow: only its times count.
std::unique_ptr<Schedule> agreed_schedule(std::unique_ptr<Schedule>, Consensus&);

}  // namespace npgpu

// All ranks of the job as they know each other, once they have met.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "netpipe/ranks/group.hpp"
#include "npgpu/vocabulary/device.hpp"

namespace npgpu::ranks {

class RankSet {
 public:
  // Opens the world of a module, and returns when all ranks are here; called by all. Where one of them cannot, all
  // throw the same. Those of the same host are no strangers to each other: what they compute does not disturb.
  RankSet(std::string_view module, Patience);

  World& world() { return *world_; }
  int rank() const { return world_->rank(); }
  int size() const { return world_->size(); }
  // How many ranks before this one are on its host.
  int local_rank() const { return local_rank_; }
  // How many words of other ranks have come; another thread may ask.
  std::uint64_t heard() const { return heard_; }
  const std::string& name(int rank) const { return names_[static_cast<std::size_t>(rank)]; }
  Group& everyone() { return *everyone_; }
  // Who is gone or stopped of those on this host, as the kernel knows it: "rank 1 on node7 is gone". Of others nothing
  // is known without their answer. Any thread may ask.
  std::string lost() const;
  Group& with(int partner);
  // For the trace: this rank, its partners, the library, and what their clocks show, now.
  Facts facts();
  // How chunks of staged messages were chosen so far; and those of the trace that is continued, before the first point.
  Facts chunks() const;
  void recall_chunks(const Facts&);

 private:
  World* world_;
  std::atomic<std::uint64_t> heard_{0};
  Patience patience_;
  std::vector<std::string> names_;
  struct Process {
    long pid = 0;
    std::string start{};  // empty: on another host, or not to be seen
  };
  std::vector<Process> processes_;  // of each rank
  int local_rank_ = 0;
  std::unique_ptr<Group> everyone_;
  std::map<int, std::unique_ptr<Group>> pairs_;
};

// The one of this process; connect() first.
RankSet& connect(std::string_view module, const Patience&);
RankSet& rank_set();
bool is_connected();

}  // namespace npgpu::ranks

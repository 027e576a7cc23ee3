// The ranks of a job, each with one GPU. The first rank measures and writes the trace; the others do what it asks, with
// their GPUs. It is heard of again and again while it does something else, so that the others know that it is there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "netpipe/collectives/gpu_part.hpp"
#include "netpipe/ranks/rank_set.hpp"
#include "npgpu/runner.hpp"

namespace npgpu::collectives {

class Company {
 public:
  struct Member {
    std::string device, host;  // "cuda:1", "gpu07"
  };
  // `patience`: with whatever one of them is to do. `stopped`: a signal came to this process; mpirun sends one to all
  // when a rank was killed, and kills them a second later.
  Company(ranks::RankSet&, std::vector<Member>, Seconds patience, std::function<bool()> stopped);

  const std::vector<Member>& members() const { return members_; }
  std::string hosts() const;    // "gpu07,gpu07"
  std::string devices() const;  // "cuda:0@0,cuda:1@1"

  // ---- on the first rank. Throws RankLost where one of the others is gone, hangs, or cannot go on ----
  // What each rank answers, in their order. Empty where a signal made one of them give up.
  std::vector<PartReply> ask(const PartRequest&);
  void still_here();  // from time to time while nothing is asked
  void call_roll();   // everyone answers
  void dismiss();
  GpuPart* part() { return part_.get(); }  // of this rank; null if it is not open
  bool is_lost() const { return !why_lost_.empty(); }

  // ---- on the others: until they are dismissed. Throws RankLost ----
  void serve();

 private:
  PartReply done(const PartRequest&);
  void tell(const PartRequest&);
  void watch();  // while this rank waits for its GPU, or for others to begin
  void meet(std::uint64_t number);

  ranks::RankSet& ranks_;
  std::vector<Member> members_;
  Seconds patience_;
  std::function<bool()> stopped_;
  std::unique_ptr<GpuPart> part_;
  Seconds asked_{0}, told_{0}, stopped_at_{-1};  // of the steady clock
  std::uint64_t orders_ = 0;                     // so far, the same on all ranks
  std::string why_lost_{};
  bool is_given_up_ = false;
};

// The one of this process. `company` has no value before it was begun.
Company& begin_company(ranks::RankSet&, std::vector<Company::Member>, Seconds patience, std::function<bool()> stopped);
Company* company();
// Why this case cannot be measured by ranks: there is no job of them. Nothing if it can, or needs none.
std::optional<std::string> why_no_ranks(const CollectiveCase&);
// For the context of a series.
std::string hosts_of(const CollectiveCase&);
// REQUIRES: why_no_ranks() says nothing, and the case is of ranks.
std::unique_ptr<Runner<Collectives>> runner_of_ranks(std::span<const Step<Collectives>>);

}  // namespace npgpu::collectives

// Ranks that measure together: all pairs in rounds in which each has one partner, what a case between two ranks means
// on each of them, and the texts that they exchange outside of timed regions.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "netpipe/ranks/world.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/vocabulary/transfer.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::ranks {

// A round-robin tournament by the circle method: one place stays, the others turn by one each round. An even number of
// ranks takes size-1 rounds; of an odd number, which takes size rounds, one rank rests in each.
int rounds_of(int size);
// Nothing: it rests. partner_of(partner_of(rank)) == rank.
std::optional<int> partner_of(int rank, int size, int round);
// The partners of a rank in the order of the rounds; all other ranks, each once.
std::vector<int> partners_of(int rank, int size);

// "cuda:0@1": cuda:0 of rank 1.
struct Place {
  std::string device;
  int rank = 0;
};
std::string text_of(const Place&);
std::optional<Place> parse_place(const std::string&);

// A message between the memories of two ranks. `chunk_bytes`: see TransferCase.
TransferCase rank_case(const Place& source, const Place& target, std::string_view module = "mpi");

// How long a rank waits for another one's word.
struct Patience {
  Seconds until_said{5};  // then one line on standard error says who is waited for
  Seconds until_parted{60};
  // Asked while it waits; once true, it waits for `last_wait` more. May be empty.
  std::function<bool()> stopped{};
  Seconds last_wait{0.3};
  // Called for each text that arrived: its sender is alive. May be empty.
  std::function<void()> heard{};
};

// What a function threw; empty if nothing.
template <class Work> std::string failure_of(Work&& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

// The first member leads.
class Group final : public Consensus {
 public:
  // `members` are ranks of the world, this one among them; `names` those of all ranks ("rank 1 on node7").
  Group(World& world, std::vector<int> members, std::vector<std::string> names, Patience patience)
      : world_(world), members_(std::move(members)), names_(std::move(names)), patience_(std::move(patience)) {}

  bool leads() const override { return members_.front() == world_.rank(); }
  std::vector<std::string> of_all(const std::string& mine) override;
  std::string of_leader(const std::string& mine) override;
  using Consensus::of_leader;
  std::string who(std::size_t i) const override { return names_[static_cast<std::size_t>(members_[i])]; }
  bool is_stopped() const { return patience_.stopped && patience_.stopped(); }
  // The other member of a group of two.
  int partner() const { return members_.front() == world_.rank() ? members_.back() : members_.front(); }
  // Waits for what was begun with a rank, as long as for a word. What it sends or receives must outlive a RankLost.
  void finish(Request&, int rank);

  // What stages cost of messages up to an extent (npgpu/model/figures.hpp), once they were measured; all members know
  // the same.
  std::map<std::uint64_t, std::vector<StageCost>> stages{};
  // How the chunk of a staged message was chosen, by chunk_fact(); of this run, and of the one that it continues.
  std::map<std::string, ChunkChoice> chunks{};

 private:
  struct Word {
    int rank;
    std::string text{};
    Request request{};
    bool is_begun = false, is_done = false;
  };
  Word& begin_word(int rank, const std::string& text);
  void tell(int rank, const std::string& text);
  std::string hear(int rank) { return hear(std::vector{rank}, patience_.until_parted).front(); }
  // A word of each of them, in whatever order they speak. Who has not spoken in time is named.
  std::vector<std::string> hear(const std::vector<int>& ranks, Seconds until_parted);
  // Asks until all are done. No wait is within the library, which would not come back where a rank is gone.
  void wait_for(const std::vector<Word*>&, const std::function<void(Word&)>& ask, Seconds until_parted);

  World& world_;
  std::vector<int> members_;
  std::vector<std::string> names_;
  Patience patience_;
  std::list<Word> words_;  // under way. Where a wait was given up they stay: the library may yet read or write there
};

// What a clock of the leader's shows when one of the other's shows 0; measured by round trips, of which the quickest
// counts, to within half of it (Cristian 1989). Of a group of two.
struct ClockOffset {
  Seconds offset{0};
  Seconds round_trip{0};
};
ClockOffset clock_offset(World&, Group&);

}  // namespace npgpu::ranks

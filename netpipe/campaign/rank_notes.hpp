// What ranks say of themselves, and what they chose by measuring: a run that is continued does not choose again.
#pragma once

#include <string>
#include <utility>

#include "npgpu/campaign.hpp"

namespace npgpu::campaign {

class RankNotes {
 public:
  explicit RankNotes(const RankSession& session) : session_(session) {}
  void note(const std::string& group, TraceWriter& to) const {
    if (!session_.facts) return;
    if (const Facts facts = session_.facts(); !facts.empty()) to.note(group, facts);
  }
  void recall(const Trace& before) const {
    if (session_.recall) session_.recall(facts_of(before.provenance, choices));
  }
  void note_choices(TraceWriter& to) {
    if (!session_.choices) return;
    const Facts facts = session_.choices();
    if (facts.size() != std::exchange(noted_, facts.size())) to.note(choices, facts);
  }

 private:
  static constexpr const char* choices = "ranks_chunks";  // of the trace's provenance

  const RankSession& session_;
  std::size_t noted_ = 0;
};

}  // namespace npgpu::campaign

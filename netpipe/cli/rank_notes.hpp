// What ranks say of themselves, and what they chose by measuring: a run that is continued does not choose again.
#pragma once

#include <string>
#include <utility>

#include "netpipe/cli/measure_options.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::cli {

class RankNotes {
 public:
  explicit RankNotes(const Together& together) : together_(together) {}
  void note(const std::string& group, TraceWriter& to) const {
    if (together_.facts) to.note(group, together_.facts());
  }
  void recall(const Trace& before) const {
    if (together_.recall) together_.recall(facts_of(before.provenance, choices));
  }
  void note_choices(TraceWriter& to) {
    if (!together_.choices) return;
    const Facts facts = together_.choices();
    if (facts.size() != std::exchange(noted_, facts.size())) to.note(choices, facts);
  }

 private:
  static constexpr const char* choices = "ranks_chunks";  // of the trace's provenance

  const Together& together_;
  std::size_t noted_ = 0;
};

}  // namespace npgpu::cli

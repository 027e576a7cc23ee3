#include "npgpu/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "npgpu/model.hpp"

namespace npgpu {

namespace {

constexpr std::uint64_t most_chunk = 8 * MiB;  // as npgpu transfer advises

// 3 of "cuda:0@3"; -1 if it says none.
int rank_of(const std::string& place) {
  const std::size_t at = place.rfind('@');
  int rank = -1;
  if (at != place.npos) std::from_chars(place.data() + at + 1, place.data() + place.size(), rank);
  return rank;
}

std::vector<StageCost> stages_with(const Facts& facts, int partner, std::uint64_t extent) {
  std::vector<StageCost> stages;
  for (int i = 0;; ++i) {
    const auto stage = parse_stage(text_fact(facts, stage_fact(partner, extent, i)));
    if (!stage) return stages;
    stages.push_back(*stage);
  }
}

// A case but for its chunk.
TransferCase whatever_chunk(TransferCase c) {
  c.chunk_bytes = 0;
  return c;
}

}  // namespace

std::vector<StagedMessages> staged_messages(const Trace& trace) {
  const Facts ranks = facts_of(trace.provenance, "ranks"), costs = facts_of(trace.provenance, "ranks_after"),
              choices = facts_of(trace.provenance, "ranks_chunks");
  const double own = number_fact(costs.empty() ? ranks : costs, "rank");
  std::map<TransferCase, std::map<std::uint64_t, StagedSize>> all;
  for (const TransferSeries& series : trace.of<Transfers>()) {
    const TransferCase& c = series.question;
    if (!is_between_ranks(c) || c.access != Access::staged || c.pattern == Pattern::duplex) continue;
    for (const TransferResult& p : results(series)) {
      StagedSize& size = all[whatever_chunk(c)][p.axes.bytes];
      size.bytes = p.axes.bytes;
      if (c.chunk_bytes == 0) {
        size.advised_us = p.time_us.value;
      } else if (!(size.best_us <= p.time_us.value)) {
        size.best_us = p.time_us.value;
        size.best_chunk = std::min(c.chunk_bytes, p.axes.bytes);
      }
    }
  }
  std::vector<StagedMessages> found;
  for (const auto& [question, sizes] : all) {
    const int source = rank_of(question.source), target = rank_of(question.target);
    StagedMessages one{question.source, question.target, question.pattern};
    for (auto [bytes, size] : sizes) {
      const int partner = source == static_cast<int>(own) ? target : source;
      const auto stages = stages_with(costs, partner, extent_of(bytes));
      const auto choice = parse_choice(text_fact(choices, chunk_fact(partner, question.pattern, bytes)));
      if (choice) size.chunk = choice->advised, size.taken_chunk = choice->taken;
      else if (!stages.empty()) size.chunk = advised_chunk(stages, bytes, most_chunk);
      else continue;
      if (!stages.empty())
        size.predicted_us = microseconds(staged_time(stages, bytes, (bytes + size.chunk - 1) / size.chunk));
      one.sizes.push_back(size);
    }
    if (!one.sizes.empty()) found.push_back(std::move(one));
  }
  return found;
}

}  // namespace npgpu

// All pairs of ranks, in rounds in which each has one partner.
#pragma once

#include <optional>
#include <vector>

namespace npgpu::ranks {

// A round-robin tournament by the circle method: one place stays, the others turn by one each round. An even number of
// ranks takes size-1 rounds; of an odd number, which takes size rounds, one rank rests in each.
int rounds_of(int size);
// Nothing: it rests. partner_of(partner_of(rank)) == rank.
std::optional<int> partner_of(int rank, int size, int round);
// The partners of a rank in the order of the rounds; all other ranks, each once.
std::vector<int> partners_of(int rank, int size);

}  // namespace npgpu::ranks

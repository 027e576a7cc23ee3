#include "netpipe/ranks/tournament.hpp"

namespace npgpu::ranks {

int rounds_of(int size) { return size < 2 ? 0 : size % 2 == 0 ? size - 1 : size; }

std::optional<int> partner_of(int rank, int size, int round) {
  const int turning = rounds_of(size);  // places 0 .. turning-1 turn, and one more stays
  // Two places that turn meet where their sum is twice the round's; the one that would meet itself has the place that
  // stays, or rests.
  int partner = 0;
  if (rank == turning) partner = round;
  else partner = ((2 * round - rank) % turning + turning) % turning;
  if (partner == rank) partner = turning;
  if (partner >= size) return std::nullopt;
  return partner;
}

std::vector<int> partners_of(int rank, int size) {
  std::vector<int> all;
  for (int round = 0; round < rounds_of(size); ++round)
    if (const auto partner = partner_of(rank, size, round)) all.push_back(*partner);
  return all;
}

}  // namespace npgpu::ranks

// A campaign of several ranks: where it asks the others. Without others, each answer is this process's own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npgpu/consensus.hpp"

namespace npgpu::campaign {

// Where they give each other the wrong kind of company, nothing is agreed: with whom is null.
inline bool any(Consensus* with, bool mine) { return with ? with->any(mine) : mine; }
inline bool of_leader(Consensus* with, bool mine) { return with ? with->of_leader(mine) : mine; }
inline std::string first_failure(Consensus* with, const std::string& mine) {
  return with && with->any(!mine.empty()) ? with->first_failure(mine) : mine;
}
// The causes that any of them saw.
std::uint32_t causes_of_all(Consensus* with, std::uint32_t mine);
// The leader's choice of elements of a list that all have: their places in it.
std::vector<std::size_t> places_of_leader(Consensus& with, const std::vector<std::size_t>& mine);

}  // namespace npgpu::campaign

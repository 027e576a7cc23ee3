#include "netpipe/campaign/agreement.hpp"

#include <sstream>

namespace npgpu::campaign {

std::uint32_t causes_of_all(Consensus* with, std::uint32_t mine) {
  if (!with) return mine;
  std::uint32_t all = 0;
  for (const std::string& one : with->of_all(std::to_string(mine))) all |= static_cast<std::uint32_t>(std::stoul(one));
  return all;
}

std::vector<std::size_t> places_of_leader(Consensus& with, const std::vector<std::size_t>& mine) {
  std::ostringstream text;
  for (const std::size_t place : mine) text << place << ' ';
  std::istringstream words(with.of_leader(text.str()));
  std::vector<std::size_t> all;
  for (std::size_t place = 0; words >> place;) all.push_back(place);
  return all;
}

}  // namespace npgpu::campaign

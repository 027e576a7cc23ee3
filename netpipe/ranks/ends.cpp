#include "netpipe/ranks/ends.hpp"

#include <charconv>

namespace npgpu::ranks {

std::string text_of(const Place& place) { return place.device + '@' + std::to_string(place.rank); }

std::optional<Place> parse_place(const std::string& text) {
  const std::size_t at = text.rfind('@');
  if (at == text.npos || at == 0) return std::nullopt;
  Place place{text.substr(0, at), 0};
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + at + 1, end, place.rank);
  if (read.ec != std::errc() || read.ptr != end || place.rank < 0) return std::nullopt;
  return place;
}

TransferCase rank_case(const Place& source, const Place& target, std::string_view module) {
  const bool on_hosts = source.device == "host" && target.device == "host";
  return {.module = std::string(module),
          .source = text_of(source),
          .target = text_of(target),
          .pattern = Pattern::pingpong,
          .direction = on_hosts ? Direction::h2h : Direction::peer,
          .memory = on_hosts ? Memory::pageable : Memory::device,
          .executor = Executor::cpu,
          .access = on_hosts ? Access::write : Access::staged};
}

}  // namespace npgpu::ranks

// What a case between two ranks means on each of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "npgpu/transfer.hpp"

namespace npgpu::ranks {

// "cuda:0@1": cuda:0 of rank 1.
struct Place {
  std::string device;
  int rank = 0;
};
std::string text_of(const Place&);
std::optional<Place> parse_place(const std::string&);

// A message between the memories of two ranks. `chunk_bytes`: see TransferCase.
TransferCase rank_case(const Place& source, const Place& target, std::string_view module = "mpi");

}  // namespace npgpu::ranks

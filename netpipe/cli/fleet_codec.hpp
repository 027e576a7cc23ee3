// What a fleet keeps of a trace, as the bytes that a reading process sends.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "npgpu/fleet.hpp"

namespace npgpu::cli {

// Each question kept once: thousands of traces ask the same.
class Questions {
 public:
  using One = std::shared_ptr<const FleetQuestion>;
  One of(One question) { return *all_.insert(std::move(question)).first; }

 private:
  struct ByContent {
    bool operator()(const One& a, const One& b) const { return *a < *b; }
  };
  std::set<One, ByContent> all_;
};

std::string to_bytes(const FleetRun&);
// Nothing where these are not what to_bytes() made: HDF5 may have written over the memory of the process that sent
// them.
std::optional<FleetRun> from_bytes(const std::string&, Questions&);

}  // namespace npgpu::cli

// Which way a copy of a recorded step goes.
#pragma once

#include "npgpu/model/record.hpp"

namespace npgpu {

enum class CopyWay { to_device, to_host, elsewhere };

inline bool is_of_host(RecordMemory m) { return m == RecordMemory::pageable || m == RecordMemory::pinned; }
inline CopyWay way_of(const StepItem& item) {
  if (item.activity != Activity::copy || is_of_host(item.source) == is_of_host(item.target)) return CopyWay::elsewhere;
  return is_of_host(item.source) ? CopyWay::to_device : CopyWay::to_host;
}
inline bool is_copy_in(const StepItem& item) { return way_of(item) == CopyWay::to_device; }
inline bool is_pageable_copy(const StepItem& item) {
  return way_of(item) != CopyWay::elsewhere &&
         (item.source == RecordMemory::pageable || item.target == RecordMemory::pageable);
}

}  // namespace npgpu

// Every case of both modules that is not refused, in the order of its axes.
#pragma once

#include <vector>

#include "npgpu/module.hpp"

namespace npgpu::test {

inline const Module& module_called(const char* name) { return *find_module(name); }

inline std::vector<TransferCase> possible_cases(const char* module, Pattern pattern) {
  std::vector<TransferCase> all;
  for (const Direction direction : {Direction::h2d, Direction::d2h, Direction::d2d, Direction::h2h})
    for (const Memory memory :
         {Memory::pageable, Memory::pinned, Memory::write_combined, Memory::managed, Memory::device})
      for (const bool async : {false, true})
        for (const Timing timing : {Timing::host, Timing::event, Timing::gated}) {
          TransferCase c{.module = module,
                 .device = "cuda:0",
                 .pattern = pattern,
                 .direction = direction,
                 .memory = memory,
                 .async = async,
                 .timing = timing};
          if (!module_called(module).refuses(c)) all.push_back(c);
        }
  return all;
}

}  // namespace npgpu::test

// Transfers measured as the engine does it, and every case of both modules that is not refused, in the order of its
// axes.
#pragma once

#include <vector>

#include "npgpu/measuring/runner.hpp"

namespace npgpu::test {

inline const Module& module_called(const char* name) { return *find_module(name); }

inline Measured<Transfers> measured(const TransferCase& c, std::uint64_t bytes, std::uint64_t repeats, int trials = 3) {
  const Step<Transfers> step{c, {bytes}};
  const auto runner = module_called(c.module.c_str()).open({&step, 1});
  const auto schedule = classic_schedule({.trials = trials, .fixed_repeats = repeats});
  return measure(*runner, *schedule, step, {}).value();
}

inline std::vector<TransferCase> possible_cases(const char* module, Pattern pattern) {
  std::vector<TransferCase> all;
  for (const Direction direction : {Direction::h2d, Direction::d2h, Direction::d2d, Direction::h2h})
    for (const Memory memory :
         {Memory::pageable, Memory::pinned, Memory::write_combined, Memory::managed, Memory::device})
      for (const bool async : {false, true})
        for (const Timing timing : {Timing::host, Timing::event, Timing::gated}) {
          TransferCase c = case_on(module, devices::default_device(), direction);
          c.pattern = pattern;
          c.memory = memory;
          c.async = async;
          c.timing = timing;
          if (!module_called(module).refuses_case(c)) all.push_back(c);
        }
  return all;
}

}  // namespace npgpu::test

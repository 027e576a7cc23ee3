// Which points of a series are its corners.
//
//   One     one block, on one unit                 All   a block for every unit, or more
//   -One    one thread with one chain              -All  more threads
//
// A thread alone has one chain: L_Pipe and T_delay count what is in flight, and would count chains for threads
// otherwise. Of the shapes of a corner the fastest stands for it, which noise favours: by up to about its width. Where
// there is memory to touch, only working sets of at least half the largest count: smaller ones are there to see the
// cache.
#pragma once

#include <span>

#include "netpipe/model/probes/probe_rates.hpp"

namespace npgpu::model {

enum class Corner { all_all, one_all, all_one, one_one };
constexpr Corner every_corner[] = {Corner::all_all, Corner::one_all, Corner::all_one, Corner::one_one};
// "All-All", as Perez & Piccoli 2011 write it.
std::string_view name_of(Corner);

enum class Per { second, cycle };
// Null where the series has no such point, or none with cycles. `units`: of the device; 0: not known.
const PointRate* corner_point(std::span<const PointRate>, Corner, Per, std::uint32_t units);

}  // namespace npgpu::model

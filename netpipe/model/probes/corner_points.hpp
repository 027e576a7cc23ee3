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

#include <initializer_list>
#include <span>

#include "netpipe/model/probes/probe_rates.hpp"
#include "npgpu/derive.hpp"

namespace npgpu {

namespace model {

enum class Corner { all_all, one_all, all_one, one_one };
constexpr Corner every_corner[] = {Corner::all_all, Corner::one_all, Corner::all_one, Corner::one_one};
// By corner.
constexpr Estimate Corners::*per_second[] = {&Corners::all_all, &Corners::one_all, &Corners::all_one,
                                             &Corners::one_one};
constexpr Estimate Corners::*per_cycle[] = {&Corners::all_all_cycle, &Corners::one_all_cycle, &Corners::all_one_cycle,
                                            &Corners::one_one_cycle};

enum class Per { second, cycle };
// Null where the series has no such point, or none with cycles. `units`: of the device; 0: not known.
const ProbeResult* corner_point(std::span<const ProbeResult>, Corner, Per, std::uint32_t units);

// The doubts of these corners, and which of them are missing, in one text.
std::string doubts_of(const Corners&, std::initializer_list<Corner> used);

}  // namespace model

// As Perez & Piccoli 2011 write them.
template <>
inline constexpr std::array<std::string_view, 4> names_of<model::Corner>{"All-All", "One-All", "All-One", "One-One"};

}  // namespace npgpu

// The probe of slices: one multiprocessor loads one line of L2 again and again, each load waiting for the one before.
// Where L2 has two partitions or more, an address belongs to one of them. An atomic works there, so its time shows how
// far the line is from this multiprocessor: some lines from all of them, and many lines from the first.
#pragma once

#include "npgpu/probe.hpp"

namespace npgpu::slices {

constexpr std::uint64_t set_bytes = 8 * MiB, line_bytes = 128;
constexpr std::uint32_t loads_of_repeat = 512;

std::vector<ProbeCase> cases(const std::string& device);
std::vector<Shape> shapes(const ProbeCase&, const Layout&);
std::optional<std::string> refuses(const Shape&);

}  // namespace npgpu::slices

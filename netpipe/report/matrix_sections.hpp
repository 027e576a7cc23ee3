// The tables of a node's matrix, written once for a terminal, Markdown and a page.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "netpipe/report/overview/sections.hpp"
#include "npgpu/judge/matrix.hpp"
#include "npgpu/judge/overview.hpp"

namespace npgpu {

// "writes by copy engines, GB/s: rows are copied from, columns to"
std::string title_of(const RateMatrix&);
// Ends of its cells: the host first, then the GPUs.
std::vector<std::string> matrix_ends(const RateMatrix&, const NodeMatrix&);
// The number behind the last colon, which distinguishes the GPUs of a node.
std::string short_end(const std::string& id);
// In GB/s, or ns of a latency.
double shown_value(const RateMatrix&, const MatrixCell&);
// "24.69": with "h" where it went through the host, "*" where it is doubtful; "-" if it is not known.
std::string cell_text(const RateMatrix&, const MatrixCell*, int significant = 4);

// A row for each source and a column for each target, with fewer digits where it would be wider than `width`. Of a node
// of which some pairs were measured, a row for each GPU.
Section rate_section(const NodeMatrix&, const RateMatrix&, std::optional<std::size_t> width = std::nullopt);
// A row for each set of lanes that ran at once; empty where there is none.
Section together_section(const NodeMatrix&);
// The host's NUMA nodes against the GPUs: a row a GPU, with the node that the system calls near, the one that is
// fastest, and a column for each node and direction. Of a host with one node, a sentence; empty where nothing is known.
Section numa_section(const NodeMatrix&);
// What the marks of the tables mean, and of which sizes they are.
std::vector<std::string> matrix_notes(const NodeMatrix&);

// A GPU among those of its model that others shared, in words and cells.

// "cuda:0 among 7 NVIDIA H200s of others", a row for each figure; or a note that there are none.
Section among_section(const AmongOthers&);
std::string value_text(const SharedMetric&, double value);  // "55.3 GB/s"
std::string change_text(double share);                      // "-0.4 %"

}  // namespace npgpu

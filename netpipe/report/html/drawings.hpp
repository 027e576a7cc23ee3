// What is drawn on a page: figures with a title and a description for those who do not see them. Empty where there is
// nothing to draw.
#pragma once

#include <span>
#include <string>

#include "netpipe/report/document.hpp"
#include "npgpu/collective_figures.hpp"
#include "npgpu/matrix_verdict.hpp"
#include "npgpu/roofline.hpp"
#include "npgpu/shared.hpp"

namespace npgpu::html {

// The node: its host, its GPUs, what joins them, and the rates on it.
std::string node_picture(const Overview&, const NodeMatrix&, const MatrixVerdict&);
// A node's matrix as tables whose cells are as dark as their values are far from 0, what many copies at once had, and
// notes. Each cell has its number, so that nothing is said by colour alone.
Document matrix_tables(const NodeMatrix&, const MatrixVerdict&);
// A drawing and a table for each GPU, among those of its model that others shared.
Document among_part(std::span<const AmongOthers>);

// Bus bandwidth of each operation over its size, and the limits.
std::string collective_chart(const CollectiveStudy&, const std::string& id);

// Of one device. `prefix`: of ids, unique for each.
std::string copy_charts(const DeviceOverview&, const std::string& prefix);
// Latency over the working set, with the sizes of caches that follow from it.
std::string ladder_chart(const Trace&, const DeviceOverview&, const std::string& prefix);
std::string stream_chart(const DeviceOverview&, const std::string& prefix);
// Roofs, and the points between them; a hollow one is below its roof. Empty where there is none.
std::string roofline_chart(const Roofline&, const std::string& prefix);
// Clock, power and temperature over the run.
std::string strip_charts(const DeviceOverview&, const std::string& prefix);
// The four corners of each probe, and what part of its limit it reaches.
std::string corner_table(const Trace&, const DeviceOverview&);

}  // namespace npgpu::html

// What a document says of the time of a kernel.
#pragma once

#include "netpipe/report/document.hpp"
#include "npgpu/model/device_model.hpp"

namespace npgpu {

void kernel_lines(Document&, const KernelTime&);
void kernel_figures_table(Document&, const KernelTime&);

}  // namespace npgpu

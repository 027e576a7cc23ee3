// What a trace has of copies from each memory to each other: payloads that were compared, and cases without a figure.
#pragma once

#include <string>
#include <vector>

#include "npgpu/matrix_verdict.hpp"

namespace npgpu::model {

// In the order in which they are in the trace. Copies while a second process worked are left out.
std::vector<CopyResults> copy_results(const Trace&);

// "all to one: cuda:0", "host to 8 GPUs"
std::string name_of_lanes(const std::vector<Lane>&);

// Whether more than one GPU has a part in it.
bool is_of_several_gpus(const TransferCase&);

// Why the series has no valid figure of the lane, or lacks some that were planned; empty if it has all. A lane whose
// payloads were wrong has none either, and that is no reason.
std::string failure_to_measure(const TransferSeries&, std::uint32_t lane);

// By the sentence of netpipe/devices/host/payload.hpp.
WrongBytes wrong_bytes_of(const std::string& sentence);

}  // namespace npgpu::model

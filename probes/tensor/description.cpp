#include "npgpu/probe_description.hpp"

namespace npgpu {

const Joined<ProbeDescription> tensor_description(
    {.name = "tensor",
     .summary = "products of small matrices by tensor cores, by type and instruction",
     .question = ProbeQuestion::tensor_power,
     .unit_rates = {{{}, "tensor {} by {}", "products of tensor cores, two operations a multiply-add"}}});

}  // namespace npgpu

#include <fmt/format.h>

#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

class TensorDescription final : public ProbeDescription {
 public:
  TensorDescription()
      : ProbeDescription({.name = "tensor",
                          .summary = "products of small matrices by tensor cores, by type and instruction",
                          .question = ProbeQuestion::tensor_power}) {}
  std::vector<UnitRate> unit_rates(const ProbeCase& c, const Layout&) const override {
    return {{fmt::format("tensor {} by {}", npgpu::name(c.type), npgpu::name(c.operation)),
             "products of tensor cores, two operations a multiply-add"}};
  }
};

}  // namespace
}  // namespace npgpu

NPGPU_REGISTERED(ProbeDescription, npgpu::TensorDescription)

#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

// Of one group of warps: the cycles from a product to the next, n columns wide, where it is waited for or not.
template <Operation operation, Form form, Space space, std::uint32_t n>
bool of_group(const ProbeCase& c, const Shape& s) {
  return c.operation == operation && c.type == DataType::fp16 && c.form == form && c.space == space && s.n == n &&
         s.blocks == 1 && s.threads == 128;
}
double fp16_product(const ProbeCase& c, const Shape& s) {
  return 2.0 * 64 * s.n * (c.operation == Operation::wgmma_sparse ? 32 : 16);
}
// Of all units, by what the numbers are.
template <Operation operation, DataType type, Space space, Operands operands>
bool of_all_groups(const ProbeCase& c, const Shape& s) {
  return c.operation == operation && c.type == type && c.form == Form::streaming && c.space == space && s.blocks > 1 &&
         s.operands == operands;
}

template <Form form, Space space, std::uint32_t n, Operation operation = Operation::wgmma>
UnitRate group_cycles(const char* name) {
  return {.name = name,
          .meaning = form == Form::dependent ? "a product of 64 rows, from its issue until its sums can be read"
                                             : "from a product to the next, which adds to the same sums",
          .of = of_group<operation, form, space, n>,
          .step = fp16_product};
}
template <DataType type, Operands operands, Operation operation = Operation::wgmma, Space space = Space::shared>
UnitRate group_rate(const char* name) {
  return {.name = name,
          .meaning = operands == Operands::zeros ? "products of zeros, two operations a multiply-add"
                                                 : "products of random numbers, two operations a multiply-add",
          .of = of_all_groups<operation, type, space, operands>};
}
constexpr Form is_waited_for = Form::dependent, is_not = Form::streaming;
constexpr Operation is_sparse = Operation::wgmma_sparse, in_halves = Operation::wgmma_fp16;

}  // namespace

const Joined<ProbeDescription> wgmma_description(
    {.name = "wgmma",
     .summary = "products of a warp group by columns of B: latency, A from shared memory or registers, sparse A",
     .axes = {.columns = true},
     .is_usual = false,
     .unit_rates = {
         group_cycles<is_waited_for, Space::shared, 8>("wgmma latency, n 8"),
         group_cycles<is_waited_for, Space::shared, 64>("wgmma latency, n 64"),
         group_cycles<is_waited_for, Space::shared, 128>("wgmma latency, n 128"),
         group_cycles<is_waited_for, Space::shared, 256>("wgmma latency, n 256"),
         group_cycles<is_waited_for, Space::registers, 64>("wgmma latency, A in registers, n 64"),
         group_cycles<is_waited_for, Space::registers, 256>("wgmma latency, A in registers, n 256"),
         group_cycles<is_not, Space::shared, 8>("wgmma interval, n 8"),
         group_cycles<is_not, Space::shared, 64>("wgmma interval, n 64"),
         group_cycles<is_not, Space::shared, 128>("wgmma interval, n 128"),
         group_cycles<is_not, Space::shared, 256>("wgmma interval, n 256"),
         group_cycles<is_not, Space::registers, 64>("wgmma interval, A in registers, n 64"),
         group_cycles<is_not, Space::registers, 256>("wgmma interval, A in registers, n 256"),
         group_cycles<is_not, Space::shared, 256, is_sparse>("wgmma interval, sparse, n 256"),
         group_cycles<is_not, Space::registers, 256, is_sparse>("wgmma interval, sparse, A in registers, n 256"),
         group_rate<DataType::fp16, Operands::zeros>("wgmma fp16, zeros"),
         group_rate<DataType::fp16, Operands::random>("wgmma fp16, random"),
         group_rate<DataType::fp16, Operands::random, Operation::wgmma, Space::registers>(
             "wgmma fp16, A in registers, random"),
         group_rate<DataType::fp8, Operands::random>("wgmma fp8, random"),
         group_rate<DataType::fp8, Operands::random, in_halves>("wgmma fp8, sums in fp16, random"),
         group_rate<DataType::fp16, Operands::random, in_halves>("wgmma fp16, sums in fp16, random"),
         group_rate<DataType::fp16, Operands::zeros, is_sparse>("wgmma fp16, sparse, zeros"),
         group_rate<DataType::fp16, Operands::zeros, is_sparse, Space::registers>(
             "wgmma fp16, sparse, A in registers, zeros"),
         group_rate<DataType::fp16, Operands::random, is_sparse>("wgmma fp16, sparse, random"),
         group_rate<DataType::fp16, Operands::random, is_sparse, Space::registers>(
             "wgmma fp16, sparse, A in registers, random")}});

}  // namespace npgpu

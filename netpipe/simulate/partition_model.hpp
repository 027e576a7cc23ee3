// Veneva & Imamura 2025: the tridiagonal partition method on an RTX 2080 Ti, with their coefficients. Sizes in
// unknowns, times as they fit them, in ms. It reproduces their tables; predictions for other devices do not use it.
#pragma once

#include <cstdint>
#include <span>

namespace npgpu::models::partition {

constexpr double tau_ms = 0.004448;         // to create a stream on its RTX 2080 Ti
double sum_ms(double size);                 // (4)
double overhead_ms(double size, double n);  // (7): the small form up to 1e6, the big one above
double overhead_ms(double streamed_ms, double non_streamed_ms, double sum_ms, double n);  // (5), from measured times
double streamed_ms(double non_streamed_ms, double sum_ms, double overhead_ms, double n);  // (2) less (1)
double gain_ms(double sum_ms, double overhead_ms, double n);                              // (n-1)/n sum - overhead
double creation_optimum(double sum_ms);  // sqrt(sum/tau), the rule of Gomez-Luna et al. 2012 as Table I has it
// (6): the candidate with the largest gain; 1 if none has any. Table IV comes out only if 1 is evaluated
// like the others, where (7) is negative for small sizes.
std::uint32_t optimum(double size, std::span<const std::uint32_t> candidates);

}  // namespace npgpu::models::partition

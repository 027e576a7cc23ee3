// 128-bit registers, 32 of them. A multiply-add overwrites what it adds to: b is copied first, which is no step of the
// chain.
#define NPGPU_ISA neon
#if defined(__aarch64__)
#define NPGPU_TARGET
#define NPGPU_REGISTER "+w"
#define NPGPU_REGISTER_BYTES 16
#define NPGPU_MAX_ILP 16
#define NPGPU_MAX_ILP_INT 14
#endif
#include "probes/host/simd_isa.hpp"

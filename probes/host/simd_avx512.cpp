// 512-bit registers, 32 of them.
#define NPGPU_ISA avx512
#if defined(__x86_64__)
#define NPGPU_TARGET __attribute__((target("avx512f")))
#define NPGPU_REGISTER "+v"
#define NPGPU_REGISTER_BYTES 64
#define NPGPU_MAX_ILP 16
#define NPGPU_MAX_ILP_INT 16
#endif
#include "probes/host/simd_isa.hpp"

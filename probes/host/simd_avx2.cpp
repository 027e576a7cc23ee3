// 256-bit registers, 16 of them: 14 chains, a and b.
#define NPGPU_ISA avx2
#if defined(__x86_64__)
#define NPGPU_TARGET __attribute__((target("avx2,fma")))
#define NPGPU_REGISTER "+x"
#define NPGPU_REGISTER_BYTES 32
#define NPGPU_MAX_ILP 14
#define NPGPU_MAX_ILP_INT 14
#endif
#include "probes/host/simd_isa.hpp"

// One element per instruction. On x86 the instruction is FMA3's, which has 16 registers: 14 chains, a and b. Of 16
// integer registers, one is the stack's and one counts; a and b take two.
#define NPGPU_ISA scalar
#if defined(__x86_64__)
#define NPGPU_TARGET __attribute__((target("fma")))
#define NPGPU_REGISTER "+x"
#elif defined(__aarch64__)
#define NPGPU_TARGET
#define NPGPU_REGISTER "+w"
#endif
#define NPGPU_REGISTER_BYTES 0
#define NPGPU_MAX_ILP 14
#define NPGPU_MAX_ILP_INT 10
#include "probes/host/simd_isa.hpp"

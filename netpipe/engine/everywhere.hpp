// Functions of the host that kernels call, too: NPGPU_EVERYWHERE before them. Headers with them need no CUDA.
#pragma once

#ifdef __CUDACC__
#define NPGPU_EVERYWHERE __host__ __device__
#else
#define NPGPU_EVERYWHERE
#endif

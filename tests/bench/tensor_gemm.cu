// What cuBLASLt reaches with tensor cores for a product of two square matrices, type by type: what `npgpu probe tensor`
// is compared with. Prints the best of the algorithms that the library proposes, over several runs each.
//
//   npgpu_bench_tensor [rows]        8192 rows if not given
#include <cublasLt.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s failed\n", what);
  std::exit(1);
}
void check(cudaError_t e, const char* what) { check(e == cudaSuccess, what); }
void check(cublasStatus_t s, const char* what) { check(s == CUBLAS_STATUS_SUCCESS, what); }

struct Type {
  const char* name;
  cudaDataType_t in, out;
  cublasComputeType_t compute;
  cudaDataType_t scale;
  std::size_t in_bytes, out_bytes;
};

constexpr Type types[] = {
    {"fp16", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 2, 2},
    {"bf16", CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, 2, 2},
    {"tf32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, 4, 4},
    {"fp8", CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, 1, 2},
    {"int8", CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I, 1, 4},
    {"fp64", CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F, 8, 8},
};

// Small numbers of both signs, in any type: random bits would hold what is no number.
__global__ void fill(unsigned char* bytes, std::size_t elements, int type) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < elements;
       i += std::size_t{gridDim.x} * blockDim.x) {
    const int v = static_cast<int>((i * 2654435761u >> 7) % 7) - 3;
    constexpr unsigned char fp8[] = {0xC4, 0xC0, 0xB8, 0, 0x38, 0x40, 0x44};  // E4M3, -3 .. 3
    constexpr unsigned short fp16[] = {0xC200, 0xC000, 0xBC00, 0, 0x3C00, 0x4000, 0x4200};
    constexpr unsigned short bf16[] = {0xC040, 0xC000, 0xBF80, 0, 0x3F80, 0x4000, 0x4040};
    if (type == CUDA_R_8I) reinterpret_cast<signed char*>(bytes)[i] = static_cast<signed char>(v);
    else if (type == CUDA_R_8F_E4M3) bytes[i] = fp8[v + 3];
    else if (type == CUDA_R_16F) reinterpret_cast<unsigned short*>(bytes)[i] = fp16[v + 3];
    else if (type == CUDA_R_16BF) reinterpret_cast<unsigned short*>(bytes)[i] = bf16[v + 3];
    else if (type == CUDA_R_32F) reinterpret_cast<float*>(bytes)[i] = static_cast<float>(v);
    else reinterpret_cast<double*>(bytes)[i] = v;
  }
}

double best_tflops(cublasLtHandle_t lt, const Type& type, int n) {
  const std::size_t elements = std::size_t(n) * n;
  constexpr std::size_t workspace_bytes = 64 << 20;
  void *a = nullptr, *b = nullptr, *c = nullptr, *workspace = nullptr;
  check(cudaMalloc(&a, elements * type.in_bytes), "cudaMalloc");
  check(cudaMalloc(&b, elements * type.in_bytes), "cudaMalloc");
  check(cudaMalloc(&c, elements * type.out_bytes), "cudaMalloc");
  check(cudaMalloc(&workspace, workspace_bytes), "cudaMalloc");
  for (void* one : {a, b}) fill<<<1024, 256>>>(static_cast<unsigned char*>(one), elements, type.in);
  cublasLtMatmulDesc_t product;
  check(cublasLtMatmulDescCreate(&product, type.compute, type.scale), "describing the product");
  const cublasOperation_t transposed = CUBLAS_OP_T;  // FP8 and INT8 take no other
  check(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed), "transa");
  cublasLtMatrixLayout_t in, out;
  check(cublasLtMatrixLayoutCreate(&in, type.in, n, n, n), "layout");
  check(cublasLtMatrixLayoutCreate(&out, type.out, n, n, n), "layout");
  cublasLtMatmulPreference_t preference;
  check(cublasLtMatmulPreferenceCreate(&preference), "preference");
  check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                                             sizeof workspace_bytes),
        "workspace");
  cublasLtMatmulHeuristicResult_t proposed[8];
  int count = 0;
  check(cublasLtMatmulAlgoGetHeuristic(lt, product, in, in, out, out, preference, 8, proposed, &count), "heuristic");
  const double one_d = 1, zero_d = 0;
  const float one_f = 1, zero_f = 0;
  const int one_i = 1, zero_i = 0;
  const void* const one = type.scale == CUDA_R_64F   ? static_cast<const void*>(&one_d)
                          : type.scale == CUDA_R_32I ? static_cast<const void*>(&one_i)
                                                     : &one_f;
  const void* const zero = type.scale == CUDA_R_64F   ? static_cast<const void*>(&zero_d)
                           : type.scale == CUDA_R_32I ? static_cast<const void*>(&zero_i)
                                                      : &zero_f;
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  double best = 0;
  for (int i = 0; i < count; ++i) {
    std::vector<float> times;
    for (int run = 0; run < 8; ++run) {
      check(cudaEventRecord(begin), "record");
      if (cublasLtMatmul(lt, product, one, a, in, b, in, zero, c, out, c, out, &proposed[i].algo, workspace,
                         workspace_bytes, nullptr) != CUBLAS_STATUS_SUCCESS)
        break;
      check(cudaEventRecord(end), "record");
      check(cudaEventSynchronize(end), "the product");
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin, end), "elapsed");
      times.push_back(ms);
    }
    if (times.empty()) continue;
    std::sort(times.begin(), times.end());
    best = std::max(best, 2.0 * n * n * n / times[times.size() / 2] * 1e-9);
  }
  for (void* p : {a, b, c, workspace}) check(cudaFree(p), "cudaFree");
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 8192;
  cublasLtHandle_t lt;
  check(cublasLtCreate(&lt), "cublasLtCreate");
  std::printf("cuBLASLt %zu, %d rows: TFLOP/s or TOP/s, median of 8 runs of the best algorithm\n", cublasLtGetVersion(),
              n);
  for (const Type& type : types) std::printf("%-5s %8.1f\n", type.name, best_tflops(lt, type, n));
}

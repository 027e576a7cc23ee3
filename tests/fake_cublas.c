// A library in the place of cuBLAS and cuBLASLt that multiplies nothing. What it answers is in FAKE_CUBLAS: "lies" (all
// went well), "refuses" (no handle), "fails" (every product), "greedy" (a proposal that wants more workspace than there
// is), "none" and "negative" (so many proposals), "nameless" (no version).
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int is(const char* what) {
  const char* const set = getenv("FAKE_CUBLAS");
  return set && strcmp(set, what) == 0;
}
static int made(void** what) {
  static int thing;
  *what = &thing;
  return 0;
}

int cublasCreate_v2(void** handle) { return is("refuses") ? 1 : made(handle); }
int cublasDestroy_v2(void* handle) { return (void)handle, 0; }
int cublasSetStream_v2(void* handle, void* stream) { return (void)handle, (void)stream, 0; }
int cublasSetWorkspace_v2(void* handle, void* at, size_t bytes) { return (void)handle, (void)at, (void)bytes, 0; }
int cublasSetMathMode(void* handle, int mode) { return (void)handle, (void)mode, 0; }
int cublasGetProperty(int part, int* value) {
  if (is("nameless")) return 7;
  *value = part;
  return 0;
}
int cublasSgemm_v2(void) { return is("fails") ? 13 : 0; }  // whatever it is given
int cublasDgemm_v2(void) { return cublasSgemm_v2(); }

int cublasLtCreate(void** handle) { return cublasCreate_v2(handle); }
int cublasLtDestroy(void* handle) { return (void)handle, 0; }
size_t cublasLtGetVersion(void) { return is("nameless") ? 0 : 130002; }
int cublasLtMatmulDescCreate(void** product, int compute, int scale) {
  return (void)compute, (void)scale, made(product);
}
int cublasLtMatmulDescSetAttribute(void) { return 0; }
int cublasLtMatmulDescDestroy(void* product) { return (void)product, 0; }
int cublasLtMatrixLayoutCreate(void** layout) { return made(layout); }
int cublasLtMatrixLayoutDestroy(void* layout) { return (void)layout, 0; }
int cublasLtMatmulPreferenceCreate(void** preference) { return made(preference); }
int cublasLtMatmulPreferenceSetAttribute(void) { return 0; }
int cublasLtMatmulPreferenceDestroy(void* preference) { return (void)preference, 0; }

struct Proposal {  // as cuBLASLt lays it out
  uint64_t algorithm[8];
  size_t workspace_bytes;
  int status;
};
int cublasLtMatmulAlgoGetHeuristic(void* handle, void* product, void* a, void* b, void* c, void* d, void* preference,
                                   int wanted, struct Proposal* first, int* count) {
  (void)handle, (void)product, (void)a, (void)b, (void)c, (void)d, (void)preference, (void)wanted;
  *count = is("none") ? 0 : is("negative") ? -1 : 1;
  if (is("greedy")) first->workspace_bytes = (size_t)1 << 40;
  return 0;
}
int cublasLtMatmul(void) { return is("fails") ? 13 : 0; }

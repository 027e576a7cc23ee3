// A library in the place of NCCL, which does nothing: for what is said of a library that is too old, lacks a
// function, or answers what cannot be. Asked for its log, the whole one says what it would have chosen.
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {

#ifdef NPGPU_FAKE_whole
void ncclResetDebugInit() {
  const char* const level = std::getenv("NCCL_DEBUG");
  const char* const path = std::getenv("NCCL_DEBUG_FILE");
  if (!level || std::strcmp(level, "INFO") != 0 || !path) return;
  std::FILE* const log = std::fopen(path, "w");
  if (!log) return;
  std::fputs(
      "vm:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct\n"
      "vm:1:1 [0] NCCL INFO AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}\n",
      log);
  std::fclose(log);
}
#endif

int ncclGetVersion(int* version) {
#ifdef NPGPU_FAKE_hostile
  const char* const set = std::getenv("FAKE_NCCL_VERSION");  // none: it fails, and does not say why
  if (!set) return 9999;
  *version = std::atoi(set);
#elif defined NPGPU_FAKE_old
  *version = 21003;
#else
  *version = 22809;
#endif
  return 0;
}
#ifdef NPGPU_FAKE_hostile
const char* ncclGetErrorString(int) { return nullptr; }
const char* ncclGetLastError(void*) { return nullptr; }
#else
const char* ncclGetErrorString(int) { return "unhandled system error"; }
const char* ncclGetLastError(void*) { return "socketStartConnect failed"; }
#endif

#define NPGPU_FAKE(name) \
  int name() { return 2; }
NPGPU_FAKE(ncclCommInitAll)
NPGPU_FAKE(ncclCommDestroy)
NPGPU_FAKE(ncclCommAbort)
NPGPU_FAKE(ncclCommGetAsyncError)
NPGPU_FAKE(ncclGroupStart)
NPGPU_FAKE(ncclGroupEnd)
NPGPU_FAKE(ncclAllReduce)
NPGPU_FAKE(ncclReduceScatter)
NPGPU_FAKE(ncclAllGather)
NPGPU_FAKE(ncclBroadcast)
NPGPU_FAKE(ncclReduce)
NPGPU_FAKE(ncclSend)
#ifndef NPGPU_FAKE_partial
NPGPU_FAKE(ncclRecv)
#endif
}

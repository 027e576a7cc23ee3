// A library in the place of NCCL, which does nothing: for what is said of a library that is too old, or lacks a
// function.
extern "C" {

int ncclGetVersion(int* version) {
#ifdef NPGPU_FAKE_old
  *version = 21003;
#else
  *version = 22809;
#endif
  return 0;
}
const char* ncclGetErrorString(int) { return "unhandled system error"; }
const char* ncclGetLastError(void*) { return "socketStartConnect failed"; }

#define NPGPU_FAKE(name) \
  int name() { return 2; }
NPGPU_FAKE(ncclGetUniqueId)
NPGPU_FAKE(ncclCommInitAll)
NPGPU_FAKE(ncclCommInitRank)
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

// The advice in Python, with CuPy or PyTorch.
#include "netpipe/report/forecast_code.hpp"

namespace npgpu {

namespace {

constexpr const char* python_sizes = R"(
# Of the whole job; of a chunk, and the last one may be smaller; of the whole kernel, alone on the GPU.
bytes_in, bytes_out = @in@, @out@
chunk_in, chunk_out = @chunk_in@, @chunk_out@
chunks, streams = @chunks@, @streams@
kernel_ms = @kernel_ms@


def part(chunk, each, whole):
    """First byte of a chunk, and the byte behind its last one."""
    return min(whole, chunk * each), min(whole, (chunk + 1) * each)


def share(chunk):
    """Of the whole kernel, what a chunk's takes."""
    begin, end = part(chunk, chunk_in, bytes_in) if bytes_in else part(chunk, chunk_out, bytes_out)
    return (end - begin) / (bytes_in or bytes_out) if bytes_in or bytes_out else 1 / chunks
)";

constexpr const char* python_breadth_first = R"(

def run():
    """A chunk in each stream: all copies in, then all kernels, then all copies out."""
    for chunk in range(chunks):
        copy_in(chunk)
    for chunk in range(chunks):
        kernel(chunk)
    for chunk in range(chunks):
        copy_out(chunk)
)";

constexpr const char* python_depth_first = R"(

def run():
    """Chunks take turns in the streams: one's buffers are free when its stream comes to the next."""
    for chunk in range(chunks):
        copy_in(chunk)
        kernel(chunk)
        copy_out(chunk)
)";

constexpr const char* python_tail = R"(

if __name__ == "__main__":
    ms = []
    for _ in range(20):
        synchronize()
        begin = time.perf_counter()
        run()
        synchronize()
        ms.append(1e3 * (time.perf_counter() - begin))
    print(f"{statistics.median(ms):.4g} ms (median of 20); predicted @predicted@, and @whole@ in one stream")
)";

constexpr const char* cupy_head = R"(@about@
# Python and CuPy: python3 overlap.py
import statistics
import time

import cupy
from cupy.cuda import runtime
)";
constexpr const char* cupy_parts = R"(

# Stands for your kernel: keeps the whole GPU busy for a time. Yours reads the chunk's input and writes its output.
busy = cupy.RawKernel(r"""
extern "C" __global__ void busy(const char* in, char* out, unsigned long long nanoseconds) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - begin < nanoseconds);
}""", "busy")
properties = runtime.getDeviceProperties(runtime.getDevice())
blocks = properties["multiProcessorCount"] * (properties["maxThreadsPerMultiProcessor"] // 1024)

to_device, to_host = runtime.memcpyHostToDevice, runtime.memcpyDeviceToHost

# Pinned memory of the host: copies of other memory do not overlap with kernels. On the GPU, buffers for each stream.
host_in, host_out = (cupy.cuda.alloc_pinned_memory(max(size, 1)) for size in (bytes_in, bytes_out))
of_streams = [(cupy.cuda.Stream(non_blocking=True), cupy.empty(max(chunk_in, 1), cupy.uint8),
               cupy.empty(max(chunk_out, 1), cupy.uint8)) for _ in range(streams)]


def copy_in(chunk):
    stream, device_in, _ = of_streams[chunk % streams]
    begin, end = part(chunk, chunk_in, bytes_in)
    if end > begin:
        runtime.memcpyAsync(device_in.data.ptr, host_in.ptr + begin, end - begin, to_device, stream.ptr)


def kernel(chunk):
    stream, device_in, device_out = of_streams[chunk % streams]
    with stream:
        busy((blocks,), (1024,), (device_in, device_out, cupy.uint64(share(chunk) * kernel_ms * 1e6)))


def copy_out(chunk):
    stream, _, device_out = of_streams[chunk % streams]
    begin, end = part(chunk, chunk_out, bytes_out)
    if end > begin:
        runtime.memcpyAsync(host_out.ptr + begin, device_out.data.ptr, end - begin, to_host, stream.ptr)


def synchronize():
    runtime.deviceSynchronize()
)";

constexpr const char* torch_head = R"(@about@
# Python and PyTorch: python3 overlap.py
import statistics
import time

import torch
)";
constexpr const char* torch_parts = R"(
# Pinned memory of the host: copies of other memory do not overlap with kernels. On the GPU, buffers for each stream.
host_in, host_out = (torch.empty(max(size, 1), dtype=torch.uint8, pin_memory=True) for size in (bytes_in, bytes_out))
of_streams = [(torch.cuda.Stream(), torch.empty(max(chunk_in, 1), dtype=torch.uint8, device="cuda"),
               torch.empty(max(chunk_out, 1), dtype=torch.uint8, device="cuda")) for _ in range(streams)]


def cycles_of_a_ms():
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(2):  # the first time it is slower
        begin.record()
        torch.cuda._sleep(10_000_000)
        end.record()
        end.synchronize()
    return 10_000_000 / begin.elapsed_time(end)


cycles = cycles_of_a_ms() * kernel_ms
kernel_done = torch.cuda.Event()


def copy_in(chunk):
    stream, device_in, _ = of_streams[chunk % streams]
    begin, end = part(chunk, chunk_in, bytes_in)
    if end > begin:
        with torch.cuda.stream(stream):
            device_in[:end - begin].copy_(host_in[begin:end], non_blocking=True)


def kernel(chunk):
    """Stands for yours, which reads the chunk's input and writes its output. Kernels that fill the GPU run one after
    the other; this one fills one block, and is made to."""
    stream, device_in, device_out = of_streams[chunk % streams]
    with torch.cuda.stream(stream):
        stream.wait_event(kernel_done)
        torch.cuda._sleep(int(share(chunk) * cycles))
        kernel_done.record(stream)


def copy_out(chunk):
    stream, _, device_out = of_streams[chunk % streams]
    begin, end = part(chunk, chunk_out, bytes_out)
    if end > begin:
        with torch.cuda.stream(stream):
            host_out[begin:end].copy_(device_out[:end - begin], non_blocking=True)


def synchronize():
    torch.cuda.synchronize()
)";

CodeTemplate python_code(const char* imports, const char* parts) {
  return {std::string(imports) + python_sizes + parts, python_breadth_first, python_depth_first, python_tail, "#"};
}

}  // namespace

CodeTemplate cupy_code() { return python_code(cupy_head, cupy_parts); }
CodeTemplate torch_code() { return python_code(torch_head, torch_parts); }

}  // namespace npgpu

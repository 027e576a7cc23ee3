// The advice as a program, which a developer copies and puts a kernel of their own into: templates, whose @words@ are
// replaced.
#include <fmt/format.h>

#include <string>

#include "netpipe/report/format.hpp"
#include "npgpu/report/report.hpp"

namespace npgpu {

namespace {

struct CodeTemplate {
  std::string head;                        // up to how a job is made of copies and kernels
  std::string breadth_first, depth_first;  // the job, in either order
  std::string tail;                        // what makes the buffers, and times the whole job
  std::string both, whole;                 // what times the split job too, and compares; or says that it was not split
  const char* comment;                     // that a line of comment begins with
};

// ---- plain CUDA C++ ----

constexpr const char* cuda_head = R"(@about@
// nvcc -O3 -arch=native -o overlap overlap.cu && ./overlap
@include@ <cuda_runtime.h>

@include@ <algorithm>
@include@ <chrono>
@include@ <cstddef>
@include@ <cstdio>
@include@ <cstdlib>
@include@ <vector>

#define CHECK(call)                                                        \
  do {                                                                     \
    const cudaError_t error = (call);                                      \
    if (error != cudaSuccess) {                                            \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));  \
      std::exit(1);                                                        \
    }                                                                      \
  } while (false)

// The sizes of the whole job; the time of the whole kernel, alone on the GPU.
constexpr std::size_t bytes_in = @in@, bytes_out = @out@;
constexpr double kernel_ms = @kernel_ms@;

// Stands for your kernel: keeps the whole GPU busy for the chunk's share of the time. Yours reads `in` and writes `out`,
// and may need to know where in the job its chunk begins.
__global__ void kernel(const char* in, char* out, unsigned long long nanoseconds) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - begin < nanoseconds);
  if (in == nullptr && out == nullptr && now == 0) std::printf(" ");  // both are used
}

void launch(const char* in, char* out, double share, cudaStream_t stream) {
  static const int blocks = [] {
    int device = 0, multiprocessors = 0, of_each = 0;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_each, kernel, 1024, 0));
    return multiprocessors * of_each;
  }();
  kernel<<<blocks, 1024, 0, stream>>>(in, out, static_cast<unsigned long long>(share * kernel_ms * 1e6));
  CHECK(cudaGetLastError());
}

struct Job {
  std::size_t chunks, chunk_in, chunk_out;  // the last chunk may be smaller
  char *host_in, *host_out;    // pinned: copies of other memory do not overlap with kernels
  std::vector<char*> in, out;  // on the GPU, a pair for each stream
  std::vector<cudaStream_t> streams;
};

std::size_t bytes_of(std::size_t chunk, std::size_t each, std::size_t all) {
  return std::min(each, all - std::min(all, chunk * each));
}
double share_of(const Job& job, std::size_t chunk) {
  const std::size_t all = bytes_in ? bytes_in : bytes_out, each = bytes_in ? job.chunk_in : job.chunk_out;
  return static_cast<double>(bytes_of(chunk, each, all)) / static_cast<double>(all);
}
void copy_in(const Job& job, std::size_t chunk) {
  const std::size_t s = chunk % job.streams.size(), bytes = bytes_of(chunk, job.chunk_in, bytes_in);
  if (bytes) CHECK(cudaMemcpyAsync(job.in[s], job.host_in + chunk * job.chunk_in, bytes, cudaMemcpyHostToDevice, job.streams[s]));
}
void compute(const Job& job, std::size_t chunk) {
  const std::size_t s = chunk % job.streams.size();
  launch(job.in[s], job.out[s], share_of(job, chunk), job.streams[s]);
}
void copy_out(const Job& job, std::size_t chunk) {
  const std::size_t s = chunk % job.streams.size(), bytes = bytes_of(chunk, job.chunk_out, bytes_out);
  if (bytes) CHECK(cudaMemcpyAsync(job.host_out + chunk * job.chunk_out, job.out[s], bytes, cudaMemcpyDeviceToHost, job.streams[s]));
}

)";

constexpr const char* cuda_breadth_first =
    R"(// A chunk in each stream: all copies in, then all kernels, then all copies out.
void run(const Job& job) {
  for (std::size_t i = 0; i < job.chunks; ++i) copy_in(job, i);
  for (std::size_t i = 0; i < job.chunks; ++i) compute(job, i);
  for (std::size_t i = 0; i < job.chunks; ++i) copy_out(job, i);
}
)";
constexpr const char* cuda_depth_first =
    R"(// Chunks take turns in the streams: one's buffers are free when its stream comes to the next.
void run(const Job& job) {
  for (std::size_t i = 0; i < job.chunks; ++i) {
    copy_in(job, i);
    compute(job, i);
    copy_out(job, i);
  }
}
)";

constexpr const char* cuda_tail = R"(
// The median of 20 runs, in ms; buffers and streams are made before.
double time_of(Job job, int streams) {
  for (int s = 0; s < streams; ++s) {
    job.in.emplace_back(), job.out.emplace_back(), job.streams.emplace_back();
    CHECK(cudaMalloc(reinterpret_cast<void**>(&job.in.back()), std::max<std::size_t>(job.chunk_in, 1)));
    CHECK(cudaMalloc(reinterpret_cast<void**>(&job.out.back()), std::max<std::size_t>(job.chunk_out, 1)));
    CHECK(cudaStreamCreateWithFlags(&job.streams.back(), cudaStreamNonBlocking));
  }
  std::vector<double> ms;
  for (int i = 0; i < 20; ++i) {
    CHECK(cudaDeviceSynchronize());
    const auto begin = std::chrono::steady_clock::now();
    run(job);
    CHECK(cudaDeviceSynchronize());
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(ms.begin(), ms.end());
  for (int s = 0; s < streams; ++s) {
    CHECK(cudaFree(job.in[s]));
    CHECK(cudaFree(job.out[s]));
    CHECK(cudaStreamDestroy(job.streams[s]));
  }
  return ms[ms.size() / 2];
}

int main() {
  Job job{};
  CHECK(cudaMallocHost(reinterpret_cast<void**>(&job.host_in), std::max<std::size_t>(bytes_in, 1)));
  CHECK(cudaMallocHost(reinterpret_cast<void**>(&job.host_out), std::max<std::size_t>(bytes_out, 1)));
  job.chunks = 1, job.chunk_in = bytes_in, job.chunk_out = bytes_out;
  const double whole = time_of(job, 1);
)";
constexpr const char* cuda_both = R"(  job.chunks = @chunks@, job.chunk_in = @chunk_in@, job.chunk_out = @chunk_out@;
  const double split = time_of(job, @streams@);
  std::printf("split %.4g ms (predicted @predicted@), whole %.4g ms (predicted @whole@), medians of 20\n", split, whole);
  std::printf("%s is faster, %.2f times\n", split < whole ? "split" : "whole", split < whole ? whole / split : split / whole);
}
)";
constexpr const char* cuda_whole =
    R"(  std::printf("whole %.4g ms (predicted @whole@), median of 20; to split it gains less than 1 %%\n", whole);
}
)";

// ---- Python, with CuPy or PyTorch ----

constexpr const char* python_sizes = R"(
# The sizes of the whole job; the time of the whole kernel, alone on the GPU. cut() sets chunks, streams, and the
# bytes of a chunk (the last chunk may be smaller).
bytes_in, bytes_out = @in@, @out@
kernel_ms = @kernel_ms@

def part(chunk, each, whole):
    """First byte of a chunk, and the byte behind its last one."""
    return min(whole, chunk * each), min(whole, (chunk + 1) * each)

def share(chunk):
    """Of the whole kernel, what a chunk's takes."""
    begin, end = part(chunk, chunk_in, bytes_in) if bytes_in else part(chunk, chunk_out, bytes_out)
    return (end - begin) / (bytes_in or bytes_out)
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

def time_of(*form):
    """The median of 20 runs, in ms; buffers and streams are made before."""
    cut(*form)
    ms = []
    for _ in range(20):
        synchronize()
        begin = time.perf_counter()
        run()
        synchronize()
        ms.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(ms)

if __name__ == "__main__":
    whole = time_of(1, 1, bytes_in, bytes_out)
)";
constexpr const char* python_both = R"(    split = time_of(@chunks@, @streams@, @chunk_in@, @chunk_out@)
    print(f"split {split:.4g} ms (predicted @predicted@), whole {whole:.4g} ms (predicted @whole@), medians of 20")
    print(f"{'split' if split < whole else 'whole'} is faster, {max(split, whole) / min(split, whole):.2f} times")
)";
constexpr const char* python_whole =
    R"(    print(f"whole {whole:.4g} ms (predicted @whole@), median of 20; to split it gains less than 1 %")
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

# Pinned memory of the host: copies of other memory do not overlap with kernels.
host_in, host_out = (cupy.cuda.alloc_pinned_memory(max(size, 1)) for size in (bytes_in, bytes_out))

def cut(*form):
    """Into chunks and streams, each stream with buffers of its own on the GPU."""
    global chunks, streams, chunk_in, chunk_out, of_streams
    chunks, streams, chunk_in, chunk_out = form
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
# Pinned memory of the host: copies of other memory do not overlap with kernels.
host_in, host_out = (torch.empty(max(size, 1), dtype=torch.uint8, pin_memory=True) for size in (bytes_in, bytes_out))

def cut(*form):
    """Into chunks and streams, each stream with buffers of its own on the GPU."""
    global chunks, streams, chunk_in, chunk_out, of_streams
    chunks, streams, chunk_in, chunk_out = form
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
  return {std::string(imports) + python_sizes + parts,
          python_breadth_first,
          python_depth_first,
          python_tail,
          python_both,
          python_whole,
          "#"};
}

std::string with(std::string text, std::string_view word, const std::string& value) {
  const std::string mark = fmt::format("@{}@", word);
  for (std::size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, mark.size(), value);
  return text;
}

}  // namespace

void forecast_code(std::ostream& out, const ForecastReport& of, Language language) {
  const SplitTime& a = of.advice.advised;
  const Buffers buffers = buffers_of(of.job, a.chunks, a.streams);
  const auto& candidates = of.forecast.prediction.candidates;
  const double whole_us = candidates.empty() ? not_measured : candidates.front().run.total.count() * 1e6;
  const CodeTemplate code =
      language == Language::cupy ? python_code(cupy_head, cupy_parts)
      : language == Language::torch
          ? python_code(torch_head, torch_parts)
          : CodeTemplate{cuda_head, cuda_breadth_first, cuda_depth_first, cuda_tail, cuda_both, cuda_whole, "//"};
  std::string text = code.head + (a.order == Order::depth_first ? code.depth_first : code.breadth_first) + code.tail +
                     (a.chunks > 1 ? code.both : code.whole);
  text = with(text, "include", "#include");  // here it would be this file's
  text =
      with(text, "about",
           fmt::format("{0} {1} in, a kernel of {2:g} ms, {3} out, for {4}.\n{0} npgpu predict advises {5}, {6}.{7}",
                       code.comment, size_text(of.job.in_bytes), of.job.kernel.count() * 1e3,
                       size_text(of.job.out_bytes), one_line(of.costs->device_name),
                       split_time_text(of.job, a.chunks, a.streams, a.run.total.count() * 1e6, whole_us), name(a.order),
                       language == Language::torch
                           ? "\n# The calls of PyTorch are counted: they take longer than the driver's own."
                           : ""));
  text = with(text, "in", std::to_string(of.job.in_bytes));
  text = with(text, "out", std::to_string(of.job.out_bytes));
  text = with(text, "chunk_in", std::to_string(buffers.in_bytes));
  text = with(text, "chunk_out", std::to_string(buffers.out_bytes));
  text = with(text, "kernel_ms", fmt::format("{}", of.job.kernel.count() * 1e3));
  text = with(text, "chunks", std::to_string(a.chunks));
  text = with(text, "streams", std::to_string(a.streams));
  text = with(text, "predicted", short_time_text(a.run.total.count() * 1e6));
  out << with(text, "whole", short_time_text(whole_us));
}

}  // namespace npgpu

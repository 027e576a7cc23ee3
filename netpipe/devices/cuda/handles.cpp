#include "netpipe/devices/cuda/handles.hpp"

#include <fmt/format.h>

#include "netpipe/devices/cuda/clearing.hpp"
#include "netpipe/devices/cuda/peers.hpp"

namespace npgpu::cuda {

Stream::Stream(unsigned flags) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, flags), "creating a stream");
  stream_.reset(stream);
}

Stream stream_of(int ordinal) {
  make_current(ordinal);
  return Stream();
}

Event::Event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "creating an event");
  event_.reset(event);
}

Seconds Event::between(const Event& begin, const Event& end) {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, begin.get(), end.get()), "reading the time between two events");
  return Seconds{static_cast<double>(ms) * 1e-3};
}

namespace {

cudaError_t allocate(Memory kind, void** data, std::uint64_t bytes) {
  switch (kind) {
    case Memory::device: return cudaMalloc(data, bytes);
    case Memory::pinned: return cudaHostAlloc(data, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
    case Memory::write_combined:
      return cudaHostAlloc(data, bytes, cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined);
    case Memory::managed: return cudaMallocManaged(data, bytes, cudaMemAttachGlobal);
    case Memory::pageable: break;
  }
  return cudaErrorInvalidValue;  // the runtime has no pageable memory to give
}

}  // namespace

Buffer::Buffer(Memory kind, std::uint64_t bytes, Owner owner) : bytes_(bytes) {
  if (owner == Owner::second_process) {
    data_ = {allocate_in_second_process(current_ordinal, bytes), BufferFree{kind, owner, bytes, current_ordinal}};
    return;
  }
  void* data = nullptr;
  check(allocate(kind, &data, bytes), fmt::format("allocating {} bytes of {} memory", bytes, name(kind)));
  data_ = {static_cast<std::byte*>(data), BufferFree{kind, owner, bytes, current_ordinal}};
}

void BufferFree::operator()(std::byte* data) const {
  if (kind == Memory::pinned || kind == Memory::write_combined)
    return complain(cudaFreeHost(data), "freeing pinned host memory");
  if (owner == Owner::second_process) free_in_second_process(data);
  else complain(cudaFree(data), "freeing device memory");
  if (ordinal >= 0) note_freed(ordinal, bytes);
}

namespace {

#if CUDART_VERSION >= 13000
cudaMemLocation place_of(bool host, int ordinal) {
  return host ? cudaMemLocation{cudaMemLocationTypeHost, 0} : cudaMemLocation{cudaMemLocationTypeDevice, ordinal};
}
cudaError_t prefetch(const void* managed, std::uint64_t bytes, bool to_host, int ordinal, cudaStream_t stream) {
  return cudaMemPrefetchAsync(managed, bytes, place_of(to_host, ordinal), 0, stream);
}
#else
int place_of(bool host, int ordinal) { return host ? cudaCpuDeviceId : ordinal; }
cudaError_t prefetch(const void* managed, std::uint64_t bytes, bool to_host, int ordinal, cudaStream_t stream) {
  return cudaMemPrefetchAsync(managed, bytes, place_of(to_host, ordinal), stream);
}
#endif

}  // namespace

void prefetch_to_host(const void* managed, std::uint64_t bytes, int ordinal, cudaStream_t stream) {
  int concurrent = 0;
  check(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, ordinal),
        "asking for concurrent managed access");
  if (!concurrent) return;  // such a device moves all managed memory itself, at every launch
  check(prefetch(managed, bytes, true, ordinal, stream), "prefetching managed memory to the host");
}

void prefetch_to_device(const void* managed, std::uint64_t bytes, int ordinal, cudaStream_t stream) {
  check(prefetch(managed, bytes, false, ordinal, stream), "prefetching managed memory to the device");
}

void advise(const void* managed, std::uint64_t bytes, cudaMemoryAdvise advice, bool host, int ordinal) {
  check(cudaMemAdvise(managed, bytes, advice, place_of(host, ordinal)), "advising the driver on managed memory");
}

}  // namespace npgpu::cuda

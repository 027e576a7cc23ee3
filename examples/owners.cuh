// What streams.cu takes from the CUDA runtime, each with an owner that gives it back.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <string>

#include "npgpu/vocabulary/units.hpp"

namespace example {

inline void check(cudaError_t result, const char* what) {
  if (result != cudaSuccess)
    throw npgpu::Error(npgpu::ErrorKind::failed, std::string(what) + ": " + cudaGetErrorString(result));
}

template <auto release> struct Release {
  template <class T> void operator()(T* thing) const { release(thing); }
};

using Stream = std::unique_ptr<CUstream_st, Release<cudaStreamDestroy>>;
inline Stream make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
  return Stream(stream);
}

using Event = std::unique_ptr<CUevent_st, Release<cudaEventDestroy>>;
inline Event make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "creating an event");
  return Event(event);
}

template <class T> using Pinned = std::unique_ptr<T[], Release<cudaFreeHost>>;
template <class T> Pinned<T> make_pinned(std::size_t count) {
  void* first = nullptr;
  check(cudaMallocHost(&first, count * sizeof(T)), "taking pinned memory");
  return Pinned<T>(static_cast<T*>(first));
}

template <class T> using OnDevice = std::unique_ptr<T[], Release<cudaFree>>;
template <class T> OnDevice<T> make_on_device(std::size_t count) {
  void* first = nullptr;
  check(cudaMalloc(&first, count * sizeof(T)), "taking device memory");
  return OnDevice<T>(static_cast<T*>(first));
}

}  // namespace example

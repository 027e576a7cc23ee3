// GPUs that were there and have stopped answering: fallen off the bus, or waiting for a reset.
#pragma once

#include <optional>
#include <string>

namespace npgpu::cuda {

struct Loss {
  std::string device;    // "cuda:1"
  std::string evidence;  // "NVML: GPU is lost"
};

// Of the GPUs of the inventory: the calling thread's current one first, then the others. Nothing before the inventory
// is made. Takes some milliseconds on a GPU that answers; call it where something has failed.
std::optional<Loss> find_loss();

}  // namespace npgpu::cuda

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

#include "netpipe/devices/cuda/check.hpp"
#include "npgpu/error.hpp"

int main(int argc, char** argv) {
  if (const std::string why = npgpu::cuda::why_no_device(); !why.empty()) {
    std::printf("skipped: %s\n", why.c_str());
    return npgpu::exit_code::nothing;
  }
  return doctest::Context(argc, argv).run();
}

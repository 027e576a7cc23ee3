#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "netpipe/devices/cuda/check.hpp"
#include "npgpu/error.hpp"
#include "npgpu/probe.hpp"

namespace {

// For busy_test.cpp, which starts this program again: kernels of some 20 ms back to back on all of the GPU, and a byte
// to standard output when the first has run, until that pipe is closed.
int keep_busy() {
  using namespace npgpu;
  const Probe& compute = find_probe("compute", "cuda:0");
  const ProbeCase c = compute.cases("cuda:0").front();
  const Layout layout = compute.context(c).layout;
  const ProbeStep step{c, {.blocks = 2 * layout.units, .threads = layout.max_threads_per_block, .ilp = 8}};
  const auto runner = compute.open({&step, 1});
  runner->prepare(step);
  std::vector<ProbeSample> samples;
  do {
    samples.clear();
    runner->run(2'000, samples);
  } while (write(STDOUT_FILENO, ".", 1) == 1);
  return exit_code::done;
}

}  // namespace

int main(int argc, char** argv) {
  if (const std::string why = npgpu::cuda::why_no_device(); !why.empty()) {
    std::printf("skipped: %s\n", why.c_str());
    return npgpu::exit_code::nothing;
  }
  if (argc == 2 && argv[1] == std::string_view("--keep-busy")) return keep_busy();
  return doctest::Context(argc, argv).run();
}

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "netpipe/devices/cuda/check.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/transfer.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace {

using namespace npgpu;

// For busy_test.cpp and neighbours.py, which start this program again: it works until its standard output is closed,
// and writes a byte there whenever it has done some 20 ms of work.
template <class K> int keep_running(const Backend<K>& backend, const Step<K>& step, std::uint64_t repeats) {
  const auto runner = backend.open({&step, 1});
  runner->prepare(step);
  std::vector<typename K::Sample> samples;
  do {
    samples.clear();
    runner->run(repeats, samples);
  } while (write(STDOUT_FILENO, ".", 1) == 1);
  return exit_code::done;
}

// "compute": on all of the GPU; "memory": reads as fast as it can; "copy": over the link, both ways by turns.
int keep_busy(std::string_view how) {
  if (how == "copy") {
    TransferCase c = case_on("cudaMemcpy", "cuda:0", Direction::h2d);
    c.pattern = Pattern::pingpong;
    return keep_running<Transfers>(*find_module("cudaMemcpy"), {c, {64 * MiB}}, 8);
  }
  const Probe& probe = find_probe(how == "memory" ? "bandwidth" : "compute", "cuda:0");
  const auto cases = probe.cases("cuda:0");
  const auto c = how == "memory" ? *std::ranges::find(cases, Operation::read, &ProbeCase::operation) : cases.front();
  const Layout layout = probe.context(c).layout;
  Shape shape{.blocks = 2 * layout.units, .threads = layout.max_threads_per_block, .ilp = 8};
  if (how == "memory") shape = {.blocks = 2 * layout.units, .threads = 512, .ilp = 4, .access_bytes = 16, .bytes = GiB};
  return keep_running<Probes>(probe, {c, shape}, how == "memory" ? 80 : 2'000);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && argv[1] == npgpu::devices::second_process_word)
    return npgpu::devices::serve_as_second_process().value_or(npgpu::exit_code::nothing);
  if (const std::string why = npgpu::cuda::why_no_device(); !why.empty()) {
    std::printf("skipped: %s\n", why.c_str());
    return npgpu::exit_code::nothing;
  }
  if (argc >= 2 && argv[1] == std::string_view("--keep-busy")) return keep_busy(argc > 2 ? argv[2] : "compute");
  return doctest::Context(argc, argv).run();
}

// Does the timed path cost anything? Each row alternates a loop written by hand with the engine and its channel, in one
// process, with the same repeats and the same buffers (the time of a small copy depends on where they lie), and prints
// the median of the rounds of each and their ratio. Not a test: it needs a quiet machine.
//
//   npgpu_bench [rounds]     default 7
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/engine/transfer_runner.hpp"
#include "netpipe/modules/cuda/copy_channel.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/units.hpp"

using namespace npgpu;
using cuda::check;

namespace {

int rounds = 7;

// What a bare loop copies between: the channel's own buffers, of each lane. Empty for modules that keep theirs.
struct Ends {
  void* to;
  const void* from;
};

struct Row {
  const char* name;
  TransferCase question;
  std::uint64_t bytes;
  std::uint64_t repeats;
  int trials;
  std::function<Seconds(std::uint64_t repeats, const std::vector<Ends>&)> bare;  // one trial, in all
};

double median_of(std::vector<double> values) { return median(values); }

// Median over trials of one operation's time.
double bare_us(const Row& row, const std::vector<Ends>& ends) {
  if (!ends.empty()) check(cudaDeviceSynchronize(), "starting from an idle device, as prepare() leaves it");
  row.bare(row.repeats, ends);  // warm
  std::vector<double> us;
  for (int i = 0; i < row.trials; ++i)
    us.push_back(microseconds(row.bare(row.repeats, ends)) / static_cast<double>(row.repeats));
  return median_of(us);
}

double engine_us(const Row& row, Runner<Transfers>& runner) {
  const auto schedule = classic_schedule({.trials = row.trials, .fixed_repeats = row.repeats});
  const auto point = measure(runner, *schedule, {row.question, {row.bytes}}, {});
  if (!point->mismatch.empty()) throw Error(ErrorKind::failed, point->mismatch);
  std::vector<double> us;
  const std::size_t each = lanes(row.question).size();
  for (std::size_t i = 0; i < point->samples.size(); i += each)
    us.push_back(microseconds(Transfers::timed(row.question, std::span(point->samples).subspan(i, each))) /
                 static_cast<double>(row.repeats));
  return median_of(us);
}

void compare(const Row& row) {
  const Module* module = find_module(row.question.module);
  if (!module) {
    std::printf("%-44s left out: module %s is not in this build\n", row.name, row.question.module.c_str());
    return;
  }
  std::vector<Ends> ends;
  const Step<Transfers> step{row.question, {row.bytes}};
  const auto runner = transfer_runner(
      [&](const TransferCase& lane, std::uint64_t max_bytes) {
        auto channel = module->open_lane(lane, max_bytes);
        if (const auto* buffers = dynamic_cast<const cuda::CopyBuffers*>(channel.get()))
          ends.push_back({buffers->target(), buffers->source()});
        return channel;
      },
      {&step, 1});
  engine_us(row, *runner);
  bare_us(row, ends);
  std::vector<double> bare, engine, ratio;
  for (int i = 0; i < rounds; ++i) {
    bare.push_back(bare_us(row, ends));
    engine.push_back(engine_us(row, *runner));
    ratio.push_back(engine.back() / bare.back());
  }
  const auto [least, most] = std::minmax_element(ratio.begin(), ratio.end());
  const double ways = row.question.pattern == Pattern::duplex ? 2 : 1;
  const double gb = ways * static_cast<double>(row.bytes) / 1e3;
  std::printf("%-44s bare %12.4f us  npgpu %12.4f us  ratio %.4f (%.4f..%.4f)  %.3f and %.3f GB/s\n", row.name,
              median_of(bare), median_of(engine), median_of(ratio), *least, *most, gb / median_of(bare),
              gb / median_of(engine));
  std::fflush(stdout);
}

template <class Copy, class Settle> Seconds timed(std::uint64_t repeats, Copy copy, Settle settle) {
  const Seconds begin = steady_clock().now();
  for (std::uint64_t i = 0; i < repeats; ++i) copy();
  settle();
  return steady_clock().now() - begin;
}

void default_stream() { check(cudaStreamSynchronize(nullptr), "settling"); }

TransferCase of(const char* module, Direction d, Memory m, bool async = false) {
  TransferCase c = case_on(module, devices::default_device(), d);
  c.memory = m;
  c.async = async;
  return c;
}

CUdeviceptr address(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }

void small_copies() {
  const cuda::Stream own;
  const cudaStream_t s = own.get();
  const cuda::Driver& driver = cuda::driver();
  const auto settle = [s] { check(cudaStreamSynchronize(s), "settling"); };
  using E = const std::vector<Ends>&;
  constexpr std::uint64_t repeats = 4000;
  constexpr auto pinned = Memory::pinned;
  const Row rows[] = {
      {"cudaMemcpy h2d 8 B", of("cudaMemcpy", Direction::h2d, pinned), 8, repeats, 5,
       [=](auto n, E e) {
         const auto [to, from] = e[0];
         return timed(
             n, [=] { check(cudaMemcpy(to, from, 8, cudaMemcpyHostToDevice), "copy"); }, default_stream);
       }},
      {"cudaMemcpy d2h 8 B", of("cudaMemcpy", Direction::d2h, pinned), 8, repeats, 5,
       [=](auto n, E e) {
         const auto [to, from] = e[0];
         return timed(
             n, [=] { check(cudaMemcpy(to, from, 8, cudaMemcpyDeviceToHost), "copy"); }, default_stream);
       }},
      {"cuMemcpyHtoD 8 B", of("cuMemcpy", Direction::h2d, pinned), 8, repeats, 5,
       [=](auto n, E e) {
         const auto [to, from] = e[0];
         return timed(
             n, [=] { check(driver.cuMemcpyHtoD(address(to), from, 8), "copy"); }, default_stream);
       }},
      {"cuMemcpyDtoH 8 B", of("cuMemcpy", Direction::d2h, pinned), 8, repeats, 5,
       [=](auto n, E e) {
         const auto [to, from] = e[0];
         return timed(
             n, [=] { check(driver.cuMemcpyDtoH(to, address(from), 8), "copy"); }, default_stream);
       }},
      {"cudaMemcpyAsync h2d 8 B", of("cudaMemcpy", Direction::h2d, pinned, true), 8, repeats, 5,
       [=](auto n, E e) {
         const auto [to, from] = e[0];
         return timed(
             n, [=] { check(cudaMemcpyAsync(to, from, 8, cudaMemcpyHostToDevice, s), "copy"); }, settle);
       }},
      {"cudaMemcpyAsync d2h 8 B", of("cudaMemcpy", Direction::d2h, pinned, true), 8, repeats, 5,
       [=](auto n, E e) {
         const auto [to, from] = e[0];
         return timed(
             n, [=] { check(cudaMemcpyAsync(to, from, 8, cudaMemcpyDeviceToHost, s), "copy"); }, settle);
       }},
      {"cuMemcpyHtoDAsync 8 B", of("cuMemcpy", Direction::h2d, pinned, true), 8, repeats, 5,
       [=](auto n, E e) {
         const auto [to, from] = e[0];
         return timed(
             n, [=] { check(driver.cuMemcpyHtoDAsync(address(to), from, 8, s), "copy"); }, settle);
       }},
      {"cuMemcpyDtoHAsync 8 B", of("cuMemcpy", Direction::d2h, pinned, true), 8, repeats, 5,
       [=](auto n, E e) {
         const auto [to, from] = e[0];
         return timed(
             n, [=] { check(driver.cuMemcpyDtoHAsync(to, address(from), 8, s), "copy"); }, settle);
       }},
  };
  for (const Row& row : rows) compare(row);
}

void pageable_copies() {
  constexpr std::uint64_t bytes = 64 * MiB;
  for (const Direction d : {Direction::h2d, Direction::d2h})
    compare({d == Direction::h2d ? "cudaMemcpy h2d pageable 64 MiB" : "cudaMemcpy d2h pageable 64 MiB",
             of("cudaMemcpy", d, Memory::pageable), bytes, 8, 5, [d](auto n, const auto& e) {
               const auto [to, from] = e[0];
               const auto kind = d == Direction::h2d ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
               return timed(
                   n, [=] { check(cudaMemcpy(to, from, bytes, kind), "copy"); }, default_stream);
             }});
}

// One stream a direction, events around each; the longer of both.
void large_copies() {
  constexpr std::uint64_t bytes = 512 * MiB;
  struct Way {
    cuda::Stream stream;
    cuda::Event begin, end;
  };
  std::vector<Way> ways(2);
  const auto bare = [&ways](auto n, const std::vector<Ends>& ends) {
    for (std::size_t w = 0; w < ends.size(); ++w) ways[w].begin.record(ways[w].stream.get());
    for (std::uint64_t i = 0; i < n; ++i)
      for (std::size_t w = 0; w < ends.size(); ++w)
        check(cudaMemcpyAsync(ends[w].to, ends[w].from, bytes, cudaMemcpyDefault, ways[w].stream.get()), "copy");
    for (std::size_t w = 0; w < ends.size(); ++w) ways[w].end.record(ways[w].stream.get());
    Seconds longest{0};
    for (std::size_t w = 0; w < ends.size(); ++w) {
      ways[w].stream.synchronize();
      longest = std::max(longest, cuda::Event::between(ways[w].begin, ways[w].end));
    }
    return longest;
  };
  TransferCase c = of("cudaMemcpy", Direction::h2d, Memory::pinned, true);
  c.timing = Timing::gated;
  compare({"h2d pinned 512 MiB gated", c, bytes, 4, 3, bare});
  c.pattern = Pattern::duplex;
  compare({"duplex pinned 512 MiB gated", c, bytes, 4, 3, bare});
}

// The C library's function, as the module calls it: not a store that the compiler makes of it.
void host_copies() {
  static char to[64], from[64];
  static void* (*volatile opaque)(void*, const void*, std::size_t) = std::memcpy;
  compare({"memcpy 8 B", case_on("memcpy", "host", Direction::h2h), 8, 2'000'000, 5, [](auto n, const auto&) {
             auto* const copy = opaque;
             return timed(
                 n, [copy] { copy(to, from, 8); }, [] {});
           }});
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc > 1) rounds = std::max(5, std::atoi(argv[1]));
  host_copies();
  if (const std::string why = cuda::why_no_device(); !why.empty()) {
    std::printf("the rest is left out: %s\n", why.c_str());
    return exit_code::nothing;
  }
  cuda::make_current(0);
  small_copies();
  pageable_copies();
  large_copies();
  return exit_code::done;
} catch (const Error& e) {
  std::fprintf(stderr, "npgpu_bench: %s\n", e.what());
  return exit_code_of(e.kind());
}

// Damages a trace in every way that chance finds, reads it, derives what its probes say and continues it: every
// outcome but a crash is fine. HDF5 may crash in the child process that reads; this process sees no damaged file.
//
//   fuzz_trace TRACE SCRATCH ROUNDS [SEED] [--bare]
//
// Cuts TRACE at ROUNDS lengths (every length, if it has fewer bytes), then flips, overwrites, copies and zeroes bytes
// in ROUNDS copies. Prints how many were read, how many refused and for which reasons. --bare reads without the child
// process, which shows what HDF5 alone would do.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <span>
#include <string>

#include "netpipe/trace/decode.hpp"
#include "npgpu/model/derive.hpp"
#include "npgpu/vocabulary/trace.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace {

std::string damage(std::string bytes, std::mt19937_64& random) {
  const auto somewhere = [&] { return random() % bytes.size(); };
  for (auto wounds = 1 + random() % 4; wounds > 0; --wounds) {
    // Most of a trace's structure stands near its beginning.
    const auto at = random() % 2 ? somewhere() : somewhere() % std::min<std::size_t>(bytes.size(), 8192);
    const auto length = std::min<std::size_t>(1 + random() % 16, bytes.size() - at);
    switch (random() % 5) {
      case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8)); break;
      case 1: bytes[at] = static_cast<char>(random()); break;
      case 2: std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), length, '\0'); break;
      case 3: std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), length, '\xff'); break;
      case 4:
        std::memmove(bytes.data() + at, bytes.data() + std::min(somewhere(), bytes.size() - length), length);
        break;
    }
  }
  return bytes;
}

// The reason without its numbers and names, so that equal ones are counted together.
std::string kind_of(const std::string& reason) {
  std::string kind;
  bool quoted = false;
  for (const char c : reason) {
    if (c == '\'') quoted = !quoted;
    if (!quoted && (c < '0' || c > '9')) kind += c;
  }
  return kind.substr(0, 60);
}

// As --resume does.
void continue_trace(const std::string& path) {
  npgpu::TraceWriter writer(path, npgpu::IfExists::append, npgpu::read_trace(path, npgpu::Guard::child).root, {},
                            npgpu::Guard::child);
  npgpu::TransferSeries series;
  series.schedule = "fuzz";
  npgpu::Visit<npgpu::Transfers> visit;
  visit.axes.bytes = 8;
  npgpu::TransferSample sample;
  sample.repeats = 1;
  writer.add<npgpu::Transfers>(writer.begin<npgpu::Transfers>(series), visit, std::span(&sample, 1));
  writer.checkpoint();
  writer.finish();
}

}  // namespace

int main(int argc, char** argv) {
  npgpu::skip_hdf5_cleanup_at_exit();
  const bool bare = argc > 1 && std::strcmp(argv[argc - 1], "--bare") == 0;
  if (bare) --argc;
  if (argc < 4) return std::fprintf(stderr, "usage: fuzz_trace TRACE SCRATCH ROUNDS [SEED] [--bare]\n"), 2;
  const std::string scratch = argv[2];
  const std::size_t rounds = std::strtoull(argv[3], nullptr, 10);
  std::mt19937_64 random(argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 1);
  std::ifstream source(argv[1], std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(source), {}};
  if (whole.empty()) return std::fprintf(stderr, "fuzz_trace: %s cannot be read\n", argv[1]), 2;

  std::map<std::string, std::size_t> reasons;
  double slowest = 0;
  const auto attempt = [&](const std::string& bytes) {
    const auto begin = std::chrono::steady_clock::now();
    try {
      if (bare) {
        for (const npgpu::Trace& run : npgpu::trace::decode(std::as_bytes(std::span(bytes)), scratch).runs)
          npgpu::derive(run);
      } else {
        std::ofstream(scratch, std::ios::binary) << bytes;
        npgpu::derive(npgpu::read_trace(scratch, npgpu::Guard::child));
        continue_trace(scratch);
      }
      ++reasons["read"];
    } catch (const npgpu::Error& e) {
      const std::string reason = kind_of(std::string(e.what()).substr(scratch.size() + 2));
      ++reasons["refused: " + reason];
    }
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (took > slowest) std::ofstream(scratch + ".slowest", std::ios::binary) << bytes;
    slowest = std::max(slowest, took);
  };
  for (std::size_t i = 0; i < std::min(rounds, whole.size()); ++i)
    attempt(whole.substr(0, whole.size() * i / std::min(rounds, whole.size())));
  for (std::size_t i = 0; i < rounds; ++i) {
    const std::string damaged = damage(whole, random);
    if (bare) std::ofstream(scratch, std::ios::binary) << damaged;  // the last one is the one that crashed
    attempt(damaged);
  }
  for (const auto& [reason, count] : reasons) std::printf("%7zu  %s\n", count, reason.c_str());
  std::printf("the slowest took %.3f s: %s.slowest\n", slowest, scratch.c_str());
  return 0;
}

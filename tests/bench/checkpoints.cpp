// What saving costs: a run of busy points against the real writer.
//
//   npgpu_bench_checkpoints TRACE [POINTS [WORK_MS [SAMPLES [POINTS_A_SERIES]]]]      2000 points of 20 ms, 10 samples,
//   50 a series
//
// TRACE says which disk is meant; it must not exist. The target is a share of the wall time below 1 %. Not a test: a
// machine that is busy with something else may miss it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/trace.hpp"
#include "npgpu/vocabulary/units.hpp"

using namespace npgpu;

namespace {

void compute_for(Seconds time) {
  const Seconds end = steady_clock().now() + time;
  while (steady_clock().now() < end) {
  }
}

void bench(const std::string& path, std::uint64_t points, Seconds work, std::size_t samples, std::uint64_t a_series) {
  const Seconds begin = steady_clock().now();
  TraceWriter writer(path, IfExists::refuse, {}, {});
  std::size_t series = 0;
  Seconds oldest = begin, longest_unsaved{0}, adding{0};
  for (std::uint64_t i = 0; i < points; ++i) {
    if (i % a_series == 0) {
      TransferSeries header;
      header.question.module = "bench";
      header.schedule = "series " + std::to_string(i / a_series);
      series = writer.begin<Transfers>(header);
    }
    compute_for(work);
    Visit<Transfers> visit;
    visit.axes.bytes = 1 + i % a_series;
    std::vector<TransferSample> trials(samples);
    for (std::size_t t = 0; t < samples; ++t) {
      trials[t].trial = static_cast<std::uint32_t>(t);
      trials[t].repeats = 1000;
      trials[t].host_us = static_cast<double>(std::rand());
    }
    const Seconds added = steady_clock().now();
    writer.add<Transfers>(series, visit, trials);
    adding += steady_clock().now() - added;
    if (writer.checkpoint_if_due()) {
      longest_unsaved = std::max(longest_unsaved, steady_clock().now() - oldest);
      oldest = steady_clock().now();
    }
  }
  writer.finish();
  const Seconds wall = steady_clock().now() - begin;
  const Seconds before = steady_clock().now();
  read_trace(path);
  const Seconds reading = steady_clock().now() - before;
  const double saving = writer.time_saving().count();
  const auto saves = static_cast<double>(writer.checkpoints());
  std::printf("points            %llu of %.0f ms, %zu samples each, %llu series\n",
              static_cast<unsigned long long>(points), work.count() * 1e3, samples,
              static_cast<unsigned long long>((points + a_series - 1) / a_series));
  std::printf("file              %.3f MB\n", static_cast<double>(std::filesystem::file_size(path)) / 1e6);
  std::printf("checkpoints       %.0f, %.2f ms each\n", saves, saving / saves * 1e3);
  std::printf("saving            %.3f s of %.1f s: %.2f %%\n", saving, wall.count(), 100 * saving / wall.count());
  std::printf("adding a point    %.1f us\n", adding.count() / static_cast<double>(points) * 1e6);
  std::printf("longest unsaved   %.2f s\n", longest_unsaved.count());
  std::printf("reading it        %.1f ms\n", reading.count() * 1e3);
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, double otherwise) { return argc > i ? std::atof(argv[i]) : otherwise; };
  if (argc < 2)
    return std::fprintf(stderr,
                        "usage: npgpu_bench_checkpoints TRACE [POINTS [WORK_MS [SAMPLES [POINTS_A_SERIES]]]]\n"),
           2;
  try {
    bench(argv[1], static_cast<std::uint64_t>(number(2, 2000)), Seconds{number(3, 20) * 1e-3},
          static_cast<std::size_t>(number(4, 10)), static_cast<std::uint64_t>(number(5, 50)));
  } catch (const Error& e) {
    std::fprintf(stderr, "npgpu_bench_checkpoints: %s\n", e.what());
    return exit_code_of(e.kind());
  }
  return 0;
}

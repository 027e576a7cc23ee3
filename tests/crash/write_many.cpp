// A run without devices: adds points to a trace as fast as it is told, and says what is saved.
//
//   write_many TRACE [--points N] [--series N] [--work-us N] [--eager]
//
// Continues TRACE if it is there. Each point has 10 samples and costs --work-us of computing. The writer's own policy
// decides when to save; with --eager every point is saved at once. As soon as points are on disk, one line each goes to
// standard output: "saved <series> <bytes>". For replay.py and kill9.py, which look whether that is true.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "npgpu/clock.hpp"
#include "npgpu/error.hpp"
#include "npgpu/trace.hpp"

namespace {

using namespace npgpu;

struct Options {
  std::string trace;
  std::uint64_t points = 55;
  std::uint64_t series = 4;
  Seconds work{0.001};
  bool eager = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0; };
    if (word == "--points") options.points = number();
    else if (word == "--series") options.series = number();
    else if (word == "--work-us") options.work = from_microseconds(static_cast<double>(number()));
    else if (word == "--eager") options.eager = true;
    else options.trace = word;
  }
  return options;
}

void compute_for(Seconds time) {
  const Seconds end = steady_clock().now() + time;
  while (steady_clock().now() < end) {
  }
}

using Names = std::vector<std::pair<std::size_t, std::uint64_t>>;  // series and bytes

void announce(Names& points) {
  std::string text;
  for (const auto& [series, bytes] : points)
    text += "saved " + std::to_string(series) + " " + std::to_string(bytes) + "\n";
  points.clear();
  if (!text.empty() && ::write(STDOUT_FILENO, text.data(), text.size()) < 0) std::exit(1);
}

void run(const Options& options) {
  TraceRoot root;
  root.run_uuid = "write-many";
  TraceWriter writer(options.trace, IfExists::resume, root, {{"host", {{"cores", std::int64_t{2}}}}});
  Names unsaved;
  for (std::uint64_t s = 0; s < options.series; ++s) {
    TransferSeries header;
    header.question.module = "write_many";
    header.schedule = "series " + std::to_string(s);
    const std::size_t series = writer.begin<Transfers>(header);
    for (std::uint64_t bytes = 1; bytes <= options.points; ++bytes) {
      if (writer.has<Transfers>(series, {bytes})) continue;
      compute_for(options.work);
      TransferPoint point;
      point.axes.bytes = bytes;
      std::vector<TransferSample> samples(10);
      for (std::uint32_t trial = 0; trial < samples.size(); ++trial) {
        samples[trial].trial = trial;
        samples[trial].repeats = bytes;
        samples[trial].host_us = static_cast<double>(bytes) + 0.1 * trial;
      }
      writer.add<Transfers>(series, point, samples);
      unsaved.emplace_back(series, bytes);
      if (options.eager) writer.checkpoint();
      if (options.eager || writer.checkpoint_if_due()) announce(unsaved);
    }
  }
  writer.finish();
  announce(unsaved);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
  } catch (const npgpu::Error& e) {
    std::fprintf(stderr, "write_many: %s\n", e.what());
    return npgpu::exit_code_of(e.kind());
  }
  return 0;
}

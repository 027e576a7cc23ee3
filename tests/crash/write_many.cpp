// A run without devices: adds visits to a trace as fast as it is told, and says what is saved.
//
//   write_many TRACE [--points N] [--series N] [--rounds N] [--work-us N] [--eager]
//
// Continues TRACE if it is there. Each visit has 10 samples and costs --work-us of computing. The writer's own policy
// decides when to save; with --eager every visit is saved at once. As soon as visits are on disk, one line each goes to
// standard output: "saved <series> <bytes> <round>". For replay.py and kill9.py, which look whether that is true.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/trace.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace {

using namespace npgpu;

struct Options {
  std::string trace;
  std::uint64_t points = 28;
  std::uint64_t series = 4;
  std::uint32_t rounds = 2;
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
    else if (word == "--rounds") options.rounds = static_cast<std::uint32_t>(number());
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

struct Name {
  std::size_t series;
  std::uint64_t bytes;
  std::uint32_t round;
};

void announce(std::vector<Name>& visits) {
  std::string text;
  for (const Name& visit : visits)
    text += "saved " + std::to_string(visit.series) + " " + std::to_string(visit.bytes) + " " +
            std::to_string(visit.round) + "\n";
  visits.clear();
  if (!text.empty() && ::write(STDOUT_FILENO, text.data(), text.size()) < 0) std::exit(1);
}

void run(const Options& options) {
  TraceRoot root;
  root.run_uuid = "write-many";
  TraceWriter writer(options.trace, IfExists::resume, root, {{"host", {{"cores", std::int64_t{2}}}}});
  std::vector<Name> unsaved;
  std::vector<std::size_t> all;
  for (std::uint32_t round = 0; round < options.rounds; ++round)
    for (std::uint64_t s = 0; s < options.series; ++s) {
      if (round == 0) {
        TransferSeries header;
        header.question.module = "write_many";
        header.schedule = "series " + std::to_string(s);
        all.push_back(writer.begin<Transfers>(header));
      }
      const std::size_t series = all[s];
      for (std::uint64_t bytes = 1; bytes <= options.points; ++bytes) {
        if (writer.has<Transfers>(series, {bytes}, round)) continue;
        compute_for(options.work);
        Visit<Transfers> visit;
        visit.axes.bytes = bytes;
        visit.round = round;
        std::vector<TransferSample> samples(10);
        for (std::uint32_t trial = 0; trial < samples.size(); ++trial) {
          samples[trial].trial = trial;
          samples[trial].repeats = bytes;
          samples[trial].host_us = static_cast<double>(bytes) + 0.1 * trial;
        }
        writer.add<Transfers>(series, visit, samples);
        unsaved.push_back({series, bytes, round});
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

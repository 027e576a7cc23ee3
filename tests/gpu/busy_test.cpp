// Probes and jobs while another process keeps the GPU busy: slower, and right. Work that no stream orders shows here: a
// clearing in the default stream once came after the kernel whose records it was to clear memory for.
#include <doctest/doctest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "npgpu/vocabulary/job.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/units.hpp"

extern char** environ;

namespace busy_test {

using namespace npgpu;

namespace {

// This program again, as main.cpp's keep_busy().
class BusyProcess {
 public:
  BusyProcess() {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    std::string program = "/proc/self/exe", option = "--keep-busy";
    char* arguments[] = {program.data(), option.data(), nullptr};
    REQUIRE(posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    from_it_ = ends[0];
    char byte = 0;
    REQUIRE(read(from_it_, &byte, 1) == 1);  // its first kernel has run
  }
  ~BusyProcess() {
    close(from_it_);
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  bool is_there() const { return waitpid(pid_, nullptr, WNOHANG) == 0; }

 private:
  pid_t pid_ = 0;
  int from_it_ = -1;
};

}  // namespace

TEST_CASE("probes beside another process that computes find every block's record, and right results") {
  const BusyProcess busy;
  for (int again = 0; again < 5; ++again)
    for (const char* name : {"compute", "bandwidth", "latency"}) {
      CAPTURE(name);
      const Probe& probe = find_probe(name, "cuda:0");
      for (const ProbeCase& c : probe.cases("cuda:0")) {
        const std::string what = title(c);
        CAPTURE(what);
        // The largest grid whose blocks leave records: new memory for them in each runner.
        const std::uint32_t units = probe.context(c).layout.units;
        ProbeStep step{c, {.blocks = 32 * units, .threads = 1, .ilp = 1}};
        if (c.probe == "bandwidth") step.axes = {.blocks = units, .threads = 64, .access_bytes = 4, .bytes = 4 * MiB};
        if (c.probe == "latency")
          step.axes = {.access_bytes = c.space == Space::global ? 8u : 4u, .bytes = 16 * KiB, .one_block_per_sm = 1};
        const auto runner = probe.open({&step, 1});
        std::vector<ProbeSample> samples;
        REQUIRE_NOTHROW(runner->prepare(step));
        REQUIRE_NOTHROW(runner->run(3, samples));
        CHECK(runner->check(samples).value_or("") == "");
      }
    }
  CHECK(busy.is_there());
}

TEST_CASE("jobs beside another process that computes leave exact results") {
  const BusyProcess busy;
  JobStep step{{.device = "cuda:0"},
               {.bytes_in = MiB, .bytes_out = MiB, .kernel_bytes = MiB, .iterations = 3, .chunks = 4, .streams = 4}};
  for (const Gating gating : {Gating::open, Gating::gated}) {
    step.question.gating = gating;
    for (int again = 0; again < 5; ++again) {
      const auto runner = find_job_backend("cuda:0").open({&step, 1});
      std::vector<JobSample> samples;
      runner->prepare(step);
      for (int run = 0; run < 3; ++run) {
        runner->run(1, samples);
        CHECK(runner->check({}).value_or("") == "");
      }
    }
  }
  CHECK(busy.is_there());
}

}  // namespace busy_test

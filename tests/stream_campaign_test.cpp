// Jobs in streams, from a plan into a trace: a device made for the purpose, whose times and failures are given.
#include "netpipe/cli/stream_campaign.hpp"

#include <doctest/doctest.h>

#include "tests/made_trace.hpp"

using namespace npgpu;
using namespace npgpu::cli;

namespace {

struct Made {
  Workload fails = Workload::none;  // of this workload every job fails, but of none
  bool opens = true;
  int runs = 0;
};

// Copies take 1 ms; a kernel 1 us an iteration.
class MadeRunner final : public Runner<Jobs> {
 public:
  explicit MadeRunner(Made& made) : made_(made) {}
  void prepare(const JobCase& c, const JobShape& job) override {
    if (c.workload != Workload::none && c.workload == made_.fails) throw Error(ErrorKind::failed, "it broke");
    job_ = job;
  }
  JobTimes run() override {
    ++made_.runs;
    JobTimes ran;
    ran.host = Seconds{(job_.bytes_in + job_.bytes_out ? 1e-3 : 0) +
                       (job_.kernel_bytes ? 1e-6 : 0) * static_cast<double>(job_.iterations)};
    return ran;
  }
  std::optional<std::string> intact() override { return std::nullopt; }
  const Clock& clock() const override { return steady_clock(); }
  std::string binding() const override { return "made"; }

 private:
  Made& made_;
  JobShape job_;
};

class MadeBackend final : public Backend<Jobs> {
 public:
  explicit MadeBackend(Made& made) : made_(made) {}
  std::string_view kind() const override { return "made"; }
  std::vector<DeviceInfo> devices() const override { return {}; }
  std::uint64_t cache_bytes(const std::string&) const override { return 0; }
  MemoryNeed needs(const std::string&, std::span<const JobStep>) const override { return {}; }
  MemoryNeed available(const std::string&) const override { return {}; }
  std::unique_ptr<Runner<Jobs>> open(const std::string&, std::span<const JobStep>) const override {
    if (!made_.opens) throw Error(ErrorKind::failed, "out of memory");
    return std::make_unique<MadeRunner>(made_);
  }

 private:
  Made& made_;
};

PlannedJob planned(Workload workload, std::uint32_t chunks, double ratio = 0) {
  JobCase c{.device = "made:0", .workload = workload};
  return {{c,
           {.bytes_in = 1 * MiB,
            .bytes_out = 1 * MiB,
            .kernel_bytes = 1 * MiB,
            .iterations = 7,
            .chunks = chunks,
            .streams = chunks}},
          ratio};
}

struct Result {
  Campaign campaign;
  Trace trace;
};

Result run(const std::filesystem::path& path, Made& made, std::vector<PlannedJob> jobs,
           IfExists if_exists = IfExists::refuse) {
  const MadeBackend backend(made);
  DeviceInfo device;
  device.id = "made:0";
  device.simulated = true;  // nothing to warm up
  const PlannedStreams plan{&backend, device, std::move(jobs), {}};
  Result ran;
  const MakeSchedule schedule = [] { return classic_schedule({.trials = 2}); };
  std::uint64_t trials = 0;
  TraceWriter writer(path, if_exists, root_of("x"), {});
  Progress progress(true, Seconds{1});
  run_jobs(plan, {.make_schedule = schedule,
                  .result = ran.campaign,
                  .writer = writer,
                  .progress = progress,
                  .trials = trials,
                  .save = [] {},
                  .note =
                      [&](const std::string& title, const std::string& why, const std::function<void()>& set_error) {
                        ran.campaign.failures.push_back(title + ": " + why);
                        set_error();
                      }});
  writer.finish();
  ran.trace = read_trace(path);
  return ran;
}

}  // namespace

TEST_CASE("jobs go from case to case in the plan's order, and their trials are numbered through") {
  const ScratchFolder folder;
  Made made;
  const Result ran = run(folder / "t.h5", made,
                         {planned(Workload::memory, 1), planned(Workload::compute, 4), planned(Workload::memory, 2)});
  CHECK(ran.campaign.measured == 3);
  REQUIRE(ran.trace.of<Jobs>().size() == 2);
  const JobSeries& memory = ran.trace.of<Jobs>()[0];
  const JobSeries& compute = ran.trace.of<Jobs>()[1];
  CHECK(memory.question.workload == Workload::memory);
  CHECK(memory.binding == "made");
  REQUIRE(memory.points.size() == 2);
  CHECK(memory.points[1].job.chunks == 2);
  REQUIRE(compute.samples.size() == 2);
  CHECK(memory.samples[1].number == 1);
  CHECK(compute.samples[0].number == 2);
  CHECK(memory.samples[2].number == 4);
}

TEST_CASE("iterations of a ratio are chosen once a workload, and a continued trace keeps its own") {
  const ScratchFolder folder;
  Made made;
  // Twice the copies' millisecond, at 1 us an iteration.
  const Result first =
      run(folder / "t.h5", made, {planned(Workload::compute, 1, 2.0), planned(Workload::compute, 2, 2.0)});
  REQUIRE(first.trace.of<Jobs>().size() == 1);
  CHECK(first.trace.of<Jobs>()[0].points.at(0).job.iterations == 2000);
  CHECK(first.trace.of<Jobs>()[0].points.at(1).job.iterations == 2000);
  const int calibrated = made.runs;

  // A third cut, by a ratio that would now give something else: the trace's iterations stay, and nothing is calibrated.
  made.runs = 0;
  const Result second =
      run(folder / "t.h5", made,
          {planned(Workload::compute, 1, 3.0), planned(Workload::compute, 2, 3.0), planned(Workload::compute, 4, 3.0)},
          IfExists::resume);
  CHECK(second.campaign.kept == 2);
  CHECK(second.campaign.measured == 1);
  CHECK(second.trace.of<Jobs>().at(0).points.at(2).job.iterations == 2000);
  CHECK(made.runs < calibrated);
}

TEST_CASE("a case that fails is given up, once, and the rest carries on") {
  const ScratchFolder folder;
  Made made;
  made.fails = Workload::memory;
  const Result ran = run(folder / "t.h5", made,
                         {planned(Workload::memory, 1), planned(Workload::compute, 4), planned(Workload::memory, 2)});
  CHECK(ran.campaign.measured == 1);
  REQUIRE(ran.campaign.failures.size() == 1);
  CHECK(ran.campaign.failures[0].find("1 chunk in 1 stream: it broke") != std::string::npos);
  CHECK(ran.trace.of<Jobs>().at(0).error.find("it broke") != std::string::npos);
  CHECK(ran.trace.of<Jobs>().at(1).error.empty());
}

TEST_CASE("a device that does not open is said of every case") {
  const ScratchFolder folder;
  Made made;
  made.opens = false;
  const Result ran = run(folder / "t.h5", made, {planned(Workload::memory, 1), planned(Workload::compute, 4)});
  CHECK(ran.campaign.measured == 0);
  CHECK(ran.campaign.failures.size() == 2);
  CHECK(ran.trace.of<Jobs>().at(1).error == "out of memory");
}

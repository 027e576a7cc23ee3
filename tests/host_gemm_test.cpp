// Products of matrices by a BLAS of the host: the library's threads, found and pinned, and results that are right.
// Where there is no BLAS, what needs one is skipped.
#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>

#include "netpipe/devices/host/facts.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "probes/gemm/blas.hpp"
#include "probes/gemm/gemm.hpp"

namespace host_gemm_test {

using namespace npgpu;

namespace {

bool there_is_none() {
  if (!blas().why_not.empty()) MESSAGE("skipped: " << blas().why_not);
  return !blas().why_not.empty();
}

// A thread that is always at work.
class Busy {
 public:
  Busy() {
    while (!id_) std::this_thread::yield();
  }
  ~Busy() {
    stop_ = true;
    thread_.join();
  }
  int id() const { return id_; }

 private:
  std::atomic<int> id_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_{[this] {
    id_ = static_cast<int>(gettid());
    while (!stop_) continue;
  }};
};

}  // namespace

TEST_CASE("threads at work: by what they ran between two looks, the busiest, in the order of their making") {
  const std::vector<ThreadTime> before{{10, 5}, {11, 1}, {12, 0}},
      after{{10, 6}, {11, 2}, {12, 0.05}, {13, 0.9}, {14, 1}};
  CHECK(threads_at_work(before, after, 10, 1.0, 9) == std::vector{11, 13, 14});
  CHECK(threads_at_work(before, after, 10, 1.0, 2) == std::vector{11, 14});
  CHECK(threads_at_work(before, after, 99, 1.0, 1) == std::vector{10});
  CHECK(threads_at_work(before, after, 10, 1.0, 0).empty());
  CHECK(threads_at_work(before, after, 0, 20.0, 9).empty());
}

TEST_CASE("a thread's time is counted while it runs, and it goes where it is sent") {
  const Busy busy;
  const auto ran = [&] {
    for (const ThreadTime& t : thread_times())
      if (t.id == busy.id()) return t.ran_s;
    FAIL("the thread is not in the list");
    return 0.0;
  };
  const double first = ran();
  for (int i = 0; i < 1000 && ran() < first + 0.01; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(ran() > first);
  for (const unsigned cpu : host::core_cpus()) {
    REQUIRE(host::pin_other_thread(busy.id(), cpu));
    int on = -1;
    for (int i = 0; i < 1000 && on != static_cast<int>(cpu); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      on = host::last_cpu(busy.id());
    }
    CHECK(on == static_cast<int>(cpu));
  }
  CHECK_FALSE(host::pin_other_thread(0x7ffffff0, 0));
  CHECK(host::last_cpu(0x7ffffff0) == -1);
}

TEST_CASE("products by a BLAS: right for sizes of every kind, on one core and on all") {
  if (there_is_none()) return;
  const Probe& probe = find_probe("gemm", "host");
  const auto cores = static_cast<std::uint32_t>(host::core_cpus().size());
  const auto cases = probe.cases("host");
  REQUIRE(cases.size() == 2);
  for (const ProbeCase& c : cases) {
    CHECK(probe.context(c).library == blas().text);
    const ProbeStep one{c, gemm::square(1)};
    const auto runner = probe.open({&one, 1});  // for the smallest: it grows
    for (const auto& [m, n, k] : {std::array{1u, 1u, 1u}, {64u, 64u, 64u}, {129u, 77u, 300u}, {5u, 400u, 2u}})
      for (const std::uint32_t blocks : std::set{1u, cores}) {
        ProbeStep step{c, {}};
        step.axes.m = m, step.axes.n = n, step.axes.k = k, step.axes.blocks = blocks;
        if (probe.refuses(step)) continue;  // a library of which the number of threads cannot be set
        const std::string what = text_of(step.axes);
        CAPTURE(what);
        runner->prepare(step);
        CHECK(runner->work() == 2.0 * m * n * k);
        std::vector<ProbeSample> samples;
        CHECK(runner->run(3, samples));
        CHECK(samples.at(0).host_us > 0);
        CHECK(samples[0].units >= 1);
        CHECK(samples[0].units <= blocks);
        CHECK(runner->check(samples).value_or("") == "");
        CHECK(samples[0].intact == 1);
      }
    // Transposed, with another alpha, and with C read, of matrices of which no two dimensions are alike; even and odd
    // repeats, after which C holds other numbers.
    for (const Ops ops : {Ops::nn, Ops::nt, Ops::tn, Ops::tt})
      for (const std::int32_t beta : {0, 1, -1})
        for (const Operands operands : {Operands::usual, Operands::zeros, Operands::random})
          for (const std::uint64_t repeats : {3u, 4u}) {
            ProbeStep step{c, {.blocks = cores, .m = 65, .n = 37, .k = 203}};
            step.axes.ops = ops, step.axes.alpha = -2, step.axes.beta = beta, step.axes.operands = operands;
            const std::string what = text_of(step.axes);
            CAPTURE(what);
            REQUIRE(probe.refuses(step).value_or("") == "");
            runner->prepare(step);
            std::vector<ProbeSample> samples;
            CHECK(runner->run(repeats, samples));
            CHECK(runner->check(samples).value_or("") == "");
          }
  }
}

TEST_CASE("what cannot be is refused, in words") {
  if (there_is_none()) return;
  const Probe& probe = find_probe("gemm", "host");
  const ProbeCase c = probe.cases("host").front();
  Shape shape = gemm::square(64, 2);
  CHECK(probe.refuses({c, shape})->find("not copied") != std::string::npos);
  shape = gemm::square(64);
  shape.blocks = 100000;
  CHECK(probe.refuses({c, shape})->find("100000 blocks") == 0);
  ProbeCase other = c;
  other.type = DataType::bf16;
  CHECK(probe.refuses_case(other).has_value());
  for (const Shape& s : probe.shapes(c)) CHECK(probe.refuses({c, s}).value_or("") == "");
}

}  // namespace host_gemm_test

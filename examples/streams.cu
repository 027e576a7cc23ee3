// Takes npgpu's advice. Three jobs run unsplit, then in as many streams as a trace of this GPU advises, and in other
// numbers for comparison: what was predicted, what was reached. Every word of every result is compared.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "jobs.cuh"
#include "npgpu/model/predict.hpp"
#include "npgpu/vocabulary/job.hpp"
#include "owners.cuh"

namespace {

using namespace npgpu;
using namespace example;

constexpr std::uint32_t max_streams = 64;

Seconds median(std::vector<Seconds> times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

class Runner {
 public:
  explicit Runner(const Work& work) : work_(work) {
    for (std::size_t i = 0; i < in_words_; ++i) host_in_[i] = Word(i) * 2654435761u;
    for (std::uint32_t s = 0; s < max_streams; ++s) streams_.push_back(make_stream());
  }

  std::uint64_t in_bytes() const { return in_words_ * sizeof(Word); }
  std::uint64_t out_bytes() const { return out_words_ * sizeof(Word); }

  // Alone on the device. The first of two launches keeps it busy until the second is there.
  Seconds kernel(int runs) {
    const Event begin = make_event(), end = make_event();
    std::vector<Seconds> times;
    for (int i = 0; i < runs; ++i) {
      launch(0, work_.blocks, 0);
      check(cudaEventRecord(begin.get(), streams_[0].get()), "recording an event");
      launch(0, work_.blocks, 0);
      check(cudaEventRecord(end.get(), streams_[0].get()), "recording an event");
      check(cudaEventSynchronize(end.get()), "waiting for a kernel");
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin.get(), end.get()), "reading events");
      times.push_back(Seconds{ms * 1e-3});
    }
    return median(times);
  }

  // The whole job in n chunks of whole blocks, one a stream: from the first call until the host has the result.
  Seconds run(std::uint32_t n, Order order) {
    const auto issues = issues_of(
        order,
        {.bytes_in = in_bytes(), .bytes_out = out_bytes(), .kernel_bytes = in_bytes(), .chunks = n, .streams = n});
    check(cudaDeviceSynchronize(), "waiting before a job");
    const auto begin = std::chrono::steady_clock::now();
    for (const Issue& issue : issues) {
      const std::size_t first = work_.blocks * issue.chunk / n, blocks = work_.blocks * (issue.chunk + 1) / n - first;
      const std::size_t in = first * work_.words_in, out = first * work_.words_out;
      switch (issue.stage) {
        case Stage::h2d:
          check(cudaMemcpyAsync(&in_[in], &host_in_[in], blocks * work_.words_in * sizeof(Word), cudaMemcpyHostToDevice,
                                streams_[issue.stream].get()),
                "copying in");
          break;
        case Stage::kernel: launch(first, blocks, issue.stream); break;
        case Stage::d2h:
          check(cudaMemcpyAsync(&host_out_[out], &out_[out], blocks * work_.words_out * sizeof(Word),
                                cudaMemcpyDeviceToHost, streams_[issue.stream].get()),
                "copying out");
      }
    }
    check(cudaDeviceSynchronize(), "waiting for a job");
    return std::chrono::steady_clock::now() - begin;
  }

  // Nothing that an earlier run left can pass for this one's.
  bool right(std::uint32_t n, Order order) {
    // run() waits for the whole device before the job.
    check(cudaMemsetAsync(in_.get(), 0xff, in_bytes(), streams_[0].get()), "spoiling memory");
    check(cudaMemsetAsync(out_.get(), 0xff, out_bytes(), streams_[0].get()), "spoiling memory");
    std::fill_n(host_out_.get(), out_words_, ~Word{0});
    run(n, order);
    const Steps all = steps_.at_once();
    for (std::size_t i = 0; i < out_words_; ++i)
      if (host_out_[i] != work_.expected(host_in_.get(), i, all)) return false;
    return true;
  }

 private:
  void launch(std::size_t first, std::size_t blocks, std::uint32_t stream) {
    work_.kernel<<<unsigned(blocks), threads, 0, streams_[stream].get()>>>(&in_[first * work_.words_in],
                                                                           &out_[first * work_.words_out], steps_);
    check(cudaGetLastError(), "launching a kernel");
  }

  Work work_;
  Steps steps_{1664525, 1013904223, work_.steps};
  std::size_t in_words_ = work_.blocks * work_.words_in, out_words_ = work_.blocks * work_.words_out;
  Pinned<Word> host_in_ = make_pinned<Word>(in_words_), host_out_ = make_pinned<Word>(out_words_);
  OnDevice<Word> in_ = make_on_device<Word>(in_words_), out_ = make_on_device<Word>(out_words_);
  std::vector<Stream> streams_;
};

cudaDeviceProp this_gpu() {
  int count = 0;
  if (const cudaError_t result = cudaGetDeviceCount(&count); result != cudaSuccess || count == 0)
    throw Error(ErrorKind::nothing, std::string("no GPU: ") + cudaGetErrorString(result));
  cudaDeviceProp gpu{};
  check(cudaGetDeviceProperties(&gpu, 0), "asking for the GPU's properties");
  return gpu;
}

// What streams cost on such a GPU. Throws where the trace does not have it.
MeasuredCosts costs_of(const std::string& trace, const std::string& gpu) {
  for (const MeasuredCosts& costs : stream_costs(read_trace(trace)))
    if (costs.device_name == gpu) return costs;
  throw Error(ErrorKind::usage, trace + " does not have the costs of streams on this " + gpu +
                                    ": npgpu streams --experiment overheads measures it");
}

// The job as the forecast sees it. A kernel may need so much of a multiprocessor that it holds fewer of its blocks.
Job job_of(Runner& runner, const Work& work, const MeasuredCosts& costs, const cudaDeviceProp& gpu, int runs) {
  int resident = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, work.kernel, threads, 0), "asking for occupancy");
  return {
      .in_bytes = runner.in_bytes(),
      .out_bytes = runner.out_bytes(),
      .kernel = runner.kernel(runs),
      .blocks = work.blocks,
      .slots = std::min<std::uint64_t>(slots_of(costs, threads), std::uint64_t(resident) * gpu.multiProcessorCount)};
}

// True if all results were right.
bool take_advice(const Work& work, const MeasuredCosts& costs, const cudaDeviceProp& gpu, Order order, int runs) {
  Runner runner(work);
  bool right = runner.right(1, order);  // and the device is awake
  const Job job = job_of(runner, work, costs, gpu, runs);
  const Prediction advice = forecast(job, costs, order, stream_counts(max_streams)).prediction;

  std::vector<std::uint32_t> counts{1, 2, 4, 8, 16, 32, 64, advice.streams};
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  for (const std::uint32_t n : counts) right &= runner.right(n, order);  // and a warm-up
  std::vector<std::vector<Seconds>> times(counts.size());
  for (int run = 0; run < runs; ++run)  // in turn, so that a drift meets all alike
    for (std::size_t i = 0; i < counts.size(); ++i) times[i].push_back(runner.run(counts[i], order));

  std::printf("%s: %.3f MiB in, %zu blocks of %u threads for %.3f ms, %.3f MiB out, %s; results %s\n", work.name,
              double(job.in_bytes) / MiB, work.blocks, threads, job.kernel.count() * 1e3, double(job.out_bytes) / MiB,
              std::string(name(order)).c_str(), right ? "right" : "WRONG");
  std::printf("  streams   predicted   measured   error\n");
  std::size_t best = 0, advised = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double predicted_ms = advice.candidates[counts[i] - 1].run.total.count() * 1e3;
    const double measured_ms = median(times[i]).count() * 1e3;
    if (median(times[i]) < median(times[best])) best = i;
    if (counts[i] == advice.streams) advised = i;
    std::printf("  %7u %8.3f ms %7.3f ms %+6.1f %%%s\n", counts[i], predicted_ms, measured_ms,
                100 * (predicted_ms / measured_ms - 1), counts[i] == advice.streams ? "   advised" : "");
  }
  const double reached = median(times[0]) / median(times[advised]);
  std::printf("  speed-up with %u streams: predicted %.3f, reached %.3f (%+.1f %%); best of these: %.3f with %u\n\n",
              advice.streams, advice.speed_up, reached, 100 * (reached / advice.speed_up - 1),
              median(times[0]) / median(times[best]), counts[best]);
  return right;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string usage =
      "usage: npgpu_example_streams TRACE [breadth-first|depth-first [RUNS]], where TRACE is from npgpu streams "
      "--experiment overheads on this GPU";
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--help") return std::puts(usage.c_str()), exit_code::done;
  const auto order = named<Order>(argc > 2 ? argv[2] : "breadth-first");
  const int runs = argc > 3 ? std::atoi(argv[3]) : 21;
  if (argc < 2 || argc > 4 || !order || *order == Order::independent || runs < 1) throw Error(ErrorKind::usage, usage);

  const cudaDeviceProp gpu = this_gpu();
  const MeasuredCosts costs = costs_of(first, gpu.name);
  std::printf("%s; pinned memory, streams made before, medians of %d runs\n\n", gpu.name, runs);
  bool right = true;
  for (const Work& work : works) right &= take_advice(work, costs, gpu, *order, runs);
  return right ? exit_code::done : exit_code::failed;
} catch (const std::exception& error) {
  std::fprintf(stderr, "npgpu_example_streams: %s\n", error.what());
  const auto* own = dynamic_cast<const Error*>(&error);
  return own ? exit_code_of(own->kind()) : exit_code::failed;
}

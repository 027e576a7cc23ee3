// What calls cost by npgpu's runner, and by loops written by hand in the same process, in turn: medians over rounds.
//   npgpu_bench_calls [rounds]
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <vector>

#include "netpipe/calls/after_free.hpp"
#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/call.hpp"

namespace {

using namespace npgpu;

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void must(cudaError_t result) {
  if (result == cudaSuccess) return;
  fmt::print(stderr, "{}\n", cudaGetErrorString(result));
  std::exit(1);
}

struct Row {
  const char* name;
  Step<Calls> step;
  int repeats;
  std::function<void()> call;  // by hand
};

// us of one call: until the last returns, and until the stream is idle; in a row, or each from an idle device.
std::pair<double, double> by_hand(const Row& row, cudaStream_t stream) {
  double host = 0, done = 0;
  if (row.step.question.spacing == Spacing::back_to_back) {
    const double begin = now_us();
    for (int i = 0; i < row.repeats; ++i) row.call();
    host = now_us() - begin;
    must(cudaStreamSynchronize(stream));
    done = now_us() - begin;
  } else {
    for (int i = 0; i < row.repeats; ++i) {
      const double begin = now_us();
      row.call();
      const double returned = now_us();
      must(cudaStreamSynchronize(stream));
      done += now_us() - begin;
      host += returned - begin;
    }
  }
  return {host / row.repeats, done / row.repeats};
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  const auto gpus = devices::gpus();
  if (gpus.empty()) {
    fmt::print("no GPU: {}\n", devices::why_no_gpu());
    return 77;
  }
  const std::string device = gpus.front().id;
  const Backend<Calls>* backend = nullptr;
  for (const auto& one : backends<Calls>())
    if (one->device_kind() == devices::kind_of(device)) backend = one.get();
  if (!backend) return 77;

  cudaStream_t stream = nullptr;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaEvent_t event = nullptr;
  must(cudaEventCreate(&event));
  const void* kernel = cuda::empty_kernel(0);
  std::uint64_t argument = 0;
  unsigned* counter = nullptr;
  void* arguments[] = {&argument, &counter};
  const auto launch = [&] { must(cudaLaunchKernel(kernel, dim3(1), dim3(1), arguments, 0, stream)); };
  cudaGraph_t graph = nullptr;
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < 64; ++i) launch();
  must(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t executable = nullptr;
  must(cudaGraphInstantiate(&executable, graph, 0));

  const auto on = [&](Call call, Spacing spacing, const CallShape& shape, GraphForm form = GraphForm::none) {
    return Step<Calls>{{device, call, spacing, form}, shape};
  };
  const CallShape one{.blocks = 1}, chain{.blocks = 1, .nodes = 64};
  const std::vector<Row> rows{
      {"launch, alone", on(Call::launch, Spacing::alone, one), 200, launch},
      {"launch, back to back", on(Call::launch, Spacing::back_to_back, one), 500, launch},
      {"event record, back to back", on(Call::event_record, Spacing::back_to_back, {}), 500,
       [&] { must(cudaEventRecord(event, stream)); }},
      {"stream synchronize", on(Call::stream_synchronize, Spacing::back_to_back, {}), 500,
       [&] { must(cudaStreamSynchronize(stream)); }},
      {"chain of 64 one by one, alone", on(Call::launches, Spacing::alone, chain, GraphForm::chain), 20,
       [&] {
         for (int i = 0; i < 64; ++i) launch();
       }},
      {"graph, chain of 64, alone", on(Call::graph_launch, Spacing::alone, chain, GraphForm::chain), 20,
       [&] { must(cudaGraphLaunch(executable, stream)); }},
  };
  std::vector<Step<Calls>> steps;
  for (const Row& row : rows) steps.push_back(row.step);
  const auto runner = backend->open(steps);
  fmt::print("{:<32} {:>10} {:>10} {:>7}   {:>10} {:>10} {:>7}\n", "us per call", "by hand", "npgpu", "ratio",
             "done: hand", "npgpu", "ratio");
  for (const Row& row : rows) {
    runner->prepare(row.step);
    std::vector<double> ratio_host, ratio_done, hand_host, hand_done, ours_host, ours_done;
    for (int round = 0; round < rounds; ++round) {
      std::vector<CallSample> samples;
      (void)runner->run(static_cast<std::uint64_t>(row.repeats), samples);  // leaves the thread on a quiet core
      const auto [host, done] = by_hand(row, stream);
      const double us = samples.back().host_us / row.repeats, done_us = samples.back().done_us / row.repeats;
      hand_host.push_back(host), hand_done.push_back(done), ours_host.push_back(us), ours_done.push_back(done_us);
      ratio_host.push_back(us / host), ratio_done.push_back(done_us / done);
    }
    fmt::print("{:<32} {:>10.3f} {:>10.3f} {:>7.4f}   {:>10.3f} {:>10.3f} {:>7.4f}\n", row.name, median(hand_host),
               median(ours_host), median(ratio_host), median(hand_done), median(ours_done), median(ratio_done));
  }
  return 0;
}

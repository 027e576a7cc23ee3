// The calls of a job, and the streams that take them: pooled or fresh, open or behind a gate, one by one or captured
// into a graph, timed as the case asks. A job may have several parts, with work of the host behind each.
#pragma once

#include <array>
#include <cstring>
#include <functional>
#include <type_traits>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/gate.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "npgpu/vocabulary/job.hpp"

namespace npgpu::cuda {

// One asynchronous call of a job with all that it needs: the timed loop makes it, and decides nothing.
struct Call {
  cudaError_t (*make)(Call&, cudaStream_t) = nullptr;
  const char* what = "";
  Stage stage = Stage::kernel;
  std::uint32_t stream = 0;
  // of a copy
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  cudaMemcpyKind kind = cudaMemcpyDefault;
  // of a launch
  const void* kernel = nullptr;
  dim3 blocks{}, threads{};
  alignas(8) std::array<std::byte, 96> argument{};  // the kernel's only one
  static cudaError_t make_copy(Call& c, cudaStream_t stream) {
    return cudaMemcpyAsync(c.to, c.from, c.bytes, c.kind, stream);
  }
  static cudaError_t make_launch(Call& c, cudaStream_t stream) {
    void* arguments[] = {c.argument.data()};
    return cudaLaunchKernel(c.kernel, c.blocks, c.threads, arguments, 0, stream);
  }
  static Call copying(std::uint32_t stream, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    return {.make = make_copy,
            .what = kind == cudaMemcpyHostToDevice ? "copying a chunk in" : "copying a chunk out",
            .stage = kind == cudaMemcpyHostToDevice ? Stage::h2d : Stage::d2h,
            .stream = stream,
            .to = to,
            .from = from,
            .bytes = bytes,
            .kind = kind};
  }
  // A thread for each of `count`.
  template <class Argument>
  static Call launching(std::uint32_t stream, const void* kernel, std::uint64_t count, std::uint32_t threads,
                        const Argument& argument) {
    static_assert(std::is_trivially_copyable_v<Argument> && sizeof argument <= sizeof Call::argument);
    Call call{.make = make_launch,
              .what = "launching a chunk's kernel",
              .stream = stream,
              .kernel = kernel,
              .blocks = dim3(static_cast<unsigned>((count + threads - 1) / threads)),
              .threads = dim3(threads)};
    std::memcpy(call.argument.data(), &argument, sizeof argument);
    return call;
  }
};

struct PartCalls {
  std::vector<Call> calls;
  std::function<void()> host_work{};  // when the calls' work has ended; may be empty
};

class JobStreams {
 public:
  // How many calls one stream takes behind a gate.
  static std::uint64_t max_calls_behind_gate() {
    constexpr std::uint64_t own = 4;  // the gate, its event and the wait for it, the end's event
    return Gate::capacity() - own;
  }
  // So many streams for runs of this case, those of a pool made where they are missing.
  void prepare(const JobCase& question, std::uint32_t streams) {
    case_ = question;
    graph_ = {};
    fresh_.clear();  // where a run failed
    fresh_.reserve(streams);
    handles_.assign(streams, nullptr);
    if (question.pool == StreamPool::pooled) {
      while (pool_.size() < streams) pool_.emplace_back();
      for (std::uint32_t s = 0; s < streams; ++s) handles_[s] = pool_[s].get();
    }
    if (question.gating == Gating::open && question.issue == Issuing::streams) return;
    while (ends_.size() < streams) ends_.emplace_back();
    if (question.gating != Gating::open && !gate_) gate_.emplace();
  }
  // Captures a job that is a graph, before its first run: these calls, in this order, as they would go to the streams.
  // The streams branch off from the first one, and come together in it again.
  void capture(std::vector<Call>& calls) {
    Capture capture(handles_[0]);
    opened_.record(handles_[0]);
    for (std::size_t s = 1; s < handles_.size(); ++s)
      check(cudaStreamWaitEvent(handles_[s], opened_.get(), 0), "branching off a captured stream");
    issue(calls);
    for (std::size_t s = 1; s < handles_.size(); ++s) {
      ends_[s].record(handles_[s]);
      check(cudaStreamWaitEvent(handles_[0], ends_[s].get(), 0), "joining captured streams");
    }
    graph_ = ExecutableGraph(capture.end());
    check(cudaGraphUpload(graph_.get(), handles_[0]), "uploading a job's graph");
    wait_for_job();
  }
  // Makes the calls and waits for the device, which is idle before; nothing if a gate timed out. Sets the times alone.
  // REQUIRES: one part without host's work, unless streams are pooled and open.
  std::optional<JobSample> run(std::vector<PartCalls>& parts) {
    std::vector<Call>& calls = parts.front().calls;
    if (case_.issue == Issuing::graph) return graph();
    if (case_.gating == Gating::gated) return gated(calls);
    if (case_.gating == Gating::last_stream_free) return last_stream_free(calls);
    return case_.pool == StreamPool::fresh ? fresh(calls) : pooled(parts);
  }
  // The same of a gated case in one stream, a gate for each part and an event wherever one sort of stage follows
  // another; `times` gets those of each part's sorts of stages, by events. The host's time for the calls passes before
  // the gate opens.
  std::optional<JobSample> run_by_stages(std::vector<PartCalls>& parts, std::vector<Stages>& times) {
    times.clear();
    for (const PartCalls& part : parts)
      while (marks_.size() <= part.calls.size()) marks_.emplace_back();
    const Seconds begin = now();
    for (PartCalls& part : parts) {
      const auto one = gated_stages(part.calls);
      if (!one) return std::nullopt;
      times.push_back(*one);
      if (part.host_work) part.host_work();
    }
    JobSample sample;
    sample.host_us = microseconds(now() - begin);
    return sample;
  }

 private:
  // A stream left capturing would take no work any more.
  class Capture {
   public:
    explicit Capture(cudaStream_t stream) : stream_(stream) {
      check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capturing a job");
    }
    ~Capture() {
      cudaGraph_t unfinished = nullptr;
      if (stream_) (void)cudaStreamEndCapture(stream_, &unfinished);
      if (unfinished) complain(cudaGraphDestroy(unfinished), "destroying a graph");
    }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    Graph end() {
      cudaGraph_t graph = nullptr;
      check(cudaStreamEndCapture(std::exchange(stream_, nullptr), &graph), "ending the capture of a job");
      return Graph(graph);
    }

   private:
    cudaStream_t stream_;
  };
  // Behind a closed gate nothing may fail and leave it closed: whatever waits for the device would wait for the
  // time-out.
  struct OpenAtLast {
    Gate& gate;
    ~OpenAtLast() { gate.release(); }
  };
  static Seconds now() { return steady_clock().now(); }
  static void wait_for_job() { check(cudaDeviceSynchronize(), "waiting for a job"); }
  void issue(std::vector<Call>& calls) {
    for (Call& call : calls) check(call.make(call, handles_[call.stream]), call.what);
  }
  static JobSample sample_of(Seconds begin, Seconds issued, Seconds end) {
    JobSample sample;
    sample.host_us = microseconds(end - begin);
    sample.issue_us = microseconds(issued - begin);
    return sample;
  }
  JobSample pooled(std::vector<PartCalls>& parts) {
    const Seconds begin = now();
    Seconds end = begin, issuing{0};
    for (PartCalls& part : parts) {
      issue(part.calls);
      issuing += now() - end;
      wait_for_job();
      if (part.host_work) part.host_work();
      end = now();
    }
    return sample_of(begin, begin + issuing, end);
  }
  JobSample graph() {
    const Seconds begin = now();
    check(cudaGraphLaunch(graph_.get(), handles_[0]), "launching a job's graph");
    const Seconds issued = now();
    wait_for_job();
    return sample_of(begin, issued, now());
  }
  JobSample fresh(std::vector<Call>& calls) {
    fresh_.clear();  // where a run failed
    const Seconds begin = now();
    for (cudaStream_t& handle : handles_) handle = fresh_.emplace_back().get();
    const Seconds created = now();
    issue(calls);
    const Seconds issued = now();
    wait_for_job();
    const Seconds end = now();
    fresh_.clear();
    JobSample sample;
    sample.destroy_us = microseconds(now() - end);
    sample.host_us = microseconds(end - begin);
    sample.create_us = microseconds(created - begin);
    sample.issue_us = microseconds(issued - created);
    return sample;
  }
  // The gate stands in the first stream; the others before `end` wait for an event behind it.
  void hold(std::size_t end) {
    gate_->hold(handles_[0]);
    opened_.record(handles_[0]);
    for (std::size_t s = 1; s < end; ++s)
      check(cudaStreamWaitEvent(handles_[s], opened_.get(), 0), "putting a stream behind the gate");
  }
  std::optional<JobSample> gated(std::vector<Call>& calls) {
    const OpenAtLast release{*gate_};
    hold(handles_.size());
    const Seconds begin = now();
    issue(calls);
    const Seconds issued = now();
    for (std::size_t s = 0; s < handles_.size(); ++s) ends_[s].record(handles_[s]);
    gate_->release();
    wait_for_job();
    JobSample sample = sample_of(begin, issued, now());
    if (gate_->timed_out()) return std::nullopt;
    Seconds last{0};
    for (std::size_t s = 0; s < handles_.size(); ++s) last = std::max(last, Event::between(opened_, ends_[s]));
    sample.device_us = microseconds(last);
    return sample;
  }
  std::optional<Stages> gated_stages(std::vector<Call>& calls) {
    const OpenAtLast release{*gate_};
    cudaStream_t const stream = handles_[0];
    gate_->hold(stream);
    std::vector<Stage> stages;  // that end with mark 1, 2, ...
    marks_[0].record(stream);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      check(calls[i].make(calls[i], stream), calls[i].what);
      if (i + 1 < calls.size() && calls[i + 1].stage == calls[i].stage) continue;
      stages.push_back(calls[i].stage);
      marks_[stages.size()].record(stream);
    }
    gate_->release();
    wait_for_job();
    if (gate_->timed_out()) return std::nullopt;
    Stages sum;
    for (std::size_t i = 0; i < stages.size(); ++i)
      (stages[i] == Stage::h2d      ? sum.h2d
       : stages[i] == Stage::kernel ? sum.kernel
                                    : sum.d2h) += Event::between(marks_[i], marks_[i + 1]);
    return sum;
  }
  std::optional<JobSample> last_stream_free(std::vector<Call>& calls) {
    const OpenAtLast release{*gate_};
    cudaStream_t const free = handles_.back();
    hold(handles_.size() - 1);
    const Seconds begin = now();
    issue(calls);
    const Seconds issued = now();
    Seconds ended = issued;
    for (cudaError_t state = cudaErrorNotReady; state != cudaSuccess;) {
      state = cudaStreamQuery(free);
      ended = now();
      if (state != cudaErrorNotReady) check(state, "asking whether a stream has ended");
      if (ended - issued > last_stream_free_patience) gate_->release();
    }
    (void)cudaGetLastError();  // which "not ready" stays otherwise
    gate_->release();
    wait_for_job();
    if (gate_->timed_out()) return std::nullopt;
    return sample_of(begin, issued, ended);
  }

  JobCase case_;
  std::vector<Stream> pool_;
  std::vector<Stream> fresh_;
  std::vector<cudaStream_t> handles_;  // that the calls of this job go to
  std::vector<Event> ends_;            // of each stream
  std::vector<Event> marks_;           // between stages
  ExecutableGraph graph_;
  Event opened_;
  std::optional<Gate> gate_;  // after the pool, in whose first stream it stands
};

}  // namespace npgpu::cuda

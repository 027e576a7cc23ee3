// Jobs in several queues of OpenCL, timed whole. The timed region holds the calls and nothing else: what to enqueue,
// with which arguments and in which queue, is a list made before. A queue is flushed behind its last command, because
// drivers may keep commands until then.
#include <fmt/format.h>

#include <optional>

#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/host/quiet_core.hpp"
#include "netpipe/devices/opencl/bench.hpp"
#include "netpipe/jobs/opencl_memory.hpp"

namespace npgpu::opencl {

namespace {

struct Command {
  std::uint32_t queue = 0;
  Stage stage = Stage::h2d;
  std::uint64_t at = 0, bytes = 0;  // of a copy: on the device
  void* host = nullptr;
  std::optional<Kernel> kernel{};
  std::size_t items = 0, group = 0;
  bool is_first = false, is_last = false;  // of its queue
};

Seconds now() { return steady_clock().now(); }

class OpenclJobRunner final : public JobRunner {
 public:
  OpenclJobRunner(const Backend<Jobs>& backend, const std::string& id, std::span<const JobStep> steps)
      : JobRunner(backend),
        context_(context_on(id)),
        binding_(binding_near(id)),
        own_(*context_, false),
        memory_(*context_, own_, sizes_for(id, steps)) {
    if (text_fact(find_or_throw(id).info.facts, "device_type") != "CPU") quiet_.emplace();
  }
  void warm_up(Seconds duration) override {
    const Seconds begin = now();
    while (now() - begin < duration) launch();
  }
  Telemetry telemetry() override { return devices::telemetry(context_->id); }
  std::string binding() const override { return binding_.text() + (quiet_ ? "; host times: " + quiet_->text() : ""); }

 private:
  void set_up() override {
    memory_.lay_out(step());
    make_commands();
    queues_.clear();
    if (question().pool == StreamPool::pooled || question().gating != Gating::open) make_queues();
    (void)run_once(Gating::open);  // memory and kernels are at the device before a gate is closed
  }
  void make_queues() {
    // Events have times where they are asked for: behind a gate.
    while (queues_.size() < count_) queues_.emplace_back(*context_, question().gating != Gating::open);
  }
  void make_commands() {
    commands_.clear();
    count_ = streams_of(question().order, job());
    std::vector<std::optional<std::size_t>> last(count_);
    for (const Issue& issue : issues_of(question().order, job())) {
      const ChunkPlaces& p = memory_.chunk(issue.chunk);
      Command c{.queue = issue.stream, .stage = issue.stage};
      if (issue.stage == Stage::kernel) {
        c.kernel.emplace(memory_.kernel_of(p));
        c.group = job().threads;
        c.items = padded(words_of(p.work.bytes), c.group);
      } else if (issue.stage == Stage::h2d) {
        c.at = p.in_at, c.bytes = p.in.bytes, c.host = memory_.host_input(p);
      } else {
        c.at = p.out_at, c.bytes = p.out.bytes, c.host = memory_.host_output(p);
      }
      c.is_first = !last[c.queue];
      last[c.queue] = commands_.size();
      commands_.push_back(std::move(c));
    }
    for (const auto& one : last)
      if (one) commands_[*one].is_last = true;
    first_ = std::vector<Event>(count_);
    last_ = std::vector<Event>(count_);
  }

  std::optional<JobSample> launch() override {
    constexpr int moves = 4;
    if (quiet_ && question().gating != Gating::gated) {
      for (int i = 0; i < moves && quiet_->settle(); ++i) (void)run_once(question().gating);
      if (quiet_->is_shared()) disturbed_by(Cause::core_shared);
    }
    return run_once(question().gating);
  }

  std::optional<JobSample> run_once(Gating gating) {
    memory_.begin_run();
    if (gating != Gating::open) return gated(gating);
    const bool fresh = queues_.empty() || question().pool == StreamPool::fresh;
    if (fresh) queues_.clear();
    const Seconds begin = now();
    if (fresh) make_queues();
    const Seconds created = now();
    for (const Command& command : commands_) enqueue(command, nullptr);
    const Seconds issued = now();
    for (const Queue& queue : queues_) queue.finish();
    const Seconds end = now();
    JobSample sample = sample_of(begin, created, issued, end);
    if (question().pool == StreamPool::fresh) {
      sample.create_us = microseconds(created - begin);
      queues_.clear();
      sample.destroy_us = microseconds(now() - end);
    }
    return sample;
  }

  static JobSample sample_of(Seconds begin, Seconds created, Seconds issued, Seconds end) {
    JobSample sample;
    sample.host_us = microseconds(end - begin);
    sample.issue_us = microseconds(issued - created);
    return sample;
  }

  void enqueue(const Command& c, cl_event* event) const {
    const Library& l = library();
    cl_command_queue const queue = queues_[c.queue].get();
    const cl_mem device = memory_.device().get();
    if (c.stage == Stage::kernel)
      opencl::check(l.clEnqueueNDRangeKernel(queue, c.kernel->get(), 1, nullptr, &c.items, &c.group, 0, nullptr, event),
                    "launching a chunk's kernel");
    else if (c.stage == Stage::h2d)
      opencl::check(l.clEnqueueWriteBuffer(queue, device, CL_FALSE, c.at, c.bytes, c.host, 0, nullptr, event),
                    "copying a chunk in");
    else
      opencl::check(l.clEnqueueReadBuffer(queue, device, CL_FALSE, c.at, c.bytes, c.host, 0, nullptr, event),
                    "copying a chunk out");
    if (c.is_last) opencl::check(l.clFlush(queue), "clFlush");
  }
  void enqueue_recording(const Command& c) {
    if (c.is_first) enqueue(c, first_[c.queue].into());
    else if (c.is_last) enqueue(c, last_[c.queue].into());
    else enqueue(c, nullptr);
  }

  // All queues wait behind the gate, or all but the last.
  std::optional<JobSample> gated(Gating gating) {
    for (std::uint32_t q = 0; q < count_; ++q) first_[q] = Event(), last_[q] = Event();
    if (!gate_) gate_.emplace(*context_, Seconds{10});
    const bool waits_for_last = gating == Gating::last_stream_free;
    gate_->hold(std::span(queues_).first(waits_for_last ? count_ - 1 : count_));
    const struct OpenAtLast {
      Gate& gate;
      ~OpenAtLast() {
        try {
          gate.release();
        } catch (const Error&) {  // what brought us here is the one to report
        }
      }
    } at_last{*gate_};
    const Seconds begin = now();
    for (const Command& command : commands_) enqueue_recording(command);
    const Seconds issued = now();
    Seconds ended = issued;
    if (waits_for_last) {
      const Event& free = last_.back() ? last_.back() : first_.back();
      while (!free.has_ended()) {
        ended = now();
        if (ended - issued > last_stream_free_patience) gate_->release();
      }
      ended = now();
    }
    gate_->release();
    for (const Queue& queue : queues_) queue.finish();
    if (!waits_for_last) ended = now();
    if (gate_->timed_out()) return std::nullopt;
    JobSample sample = sample_of(begin, begin, issued, ended);
    if (!waits_for_last) sample.device_us = microseconds(on_device());
    return sample;
  }
  // From the begin of the first command to the end of the last, by the device's clock.
  Seconds on_device() const {
    std::optional<Seconds> begin, end;
    for (std::uint32_t q = 0; q < count_; ++q) {
      if (!first_[q]) continue;  // of a queue without commands
      const auto b = first_[q].at(CL_PROFILING_COMMAND_START);
      const auto e = (last_[q] ? last_[q] : first_[q]).at(CL_PROFILING_COMMAND_END);
      if (!b || !e) throw Error(ErrorKind::failed, "the driver of " + context_->id + " has no profile of its commands");
      begin = begin ? std::min(*begin, *b) : *b;
      end = end ? std::max(*end, *e) : *e;
    }
    return *end - *begin;
  }
  std::optional<std::string> wrong_result() override { return memory_.wrong_result(); }

  std::shared_ptr<const Context> context_;
  host::Binding binding_;                 // before the buffers, which are allocated under it
  std::optional<host::QuietCore> quiet_;  // of those that the binding leaves
  Queue own_;                             // of everything but the jobs themselves
  JobMemory memory_;
  std::vector<Queue> queues_;
  std::uint32_t count_ = 0;  // of queues
  std::vector<Event> first_, last_;
  std::vector<Command> commands_;
  std::optional<Gate> gate_;
};

class OpenclJobs final : public Backend<Jobs> {
 public:
  std::string_view name() const override { return "jobs"; }
  std::string_view device_kind() const override { return "opencl"; }
  std::string_view summary() const override { return "jobs in queues of OpenCL, timed whole"; }
  std::optional<std::string> refuses(const JobStep& step) const override {
    if (auto why = npgpu::refuses(step)) return why;
    const Facts& facts = find_or_throw(step.question.device).info.facts;
    if (step.question.issue == Issuing::graph) return "--issue graph: graphs are CUDA's: use --issue streams";
    if (const double most = number_fact(facts, "max_work_group_size"); step.axes.threads > most)
      return fmt::format("--threads {}: a work-group of {} has at most {:g}", step.axes.threads, step.question.device,
                         most);
    return std::nullopt;
  }
  MemoryNeed needs(std::span<const JobStep> steps) const override {
    if (steps.empty()) return {};
    const BufferSizes sizes = sizes_for(steps.front().question.device, steps);
    return {sizes.in + sizes.out, sizes.device + sizes.scratch + std::max(sizes.in, sizes.out)};
  }
  MemoryNeed available(const JobCase& c) const override { return {host::free_host_memory(), free_memory(c.device)}; }
  std::unique_ptr<Runner<Jobs>> open(std::span<const JobStep> steps) const override {
    return std::make_unique<OpenclJobRunner>(*this, steps.front().question.device, steps);
  }
};

}  // namespace
}  // namespace npgpu::opencl

NPGPU_REGISTERED(Backend<npgpu::Jobs>, npgpu::opencl::OpenclJobs)

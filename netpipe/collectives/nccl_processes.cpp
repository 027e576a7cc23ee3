#include "netpipe/collectives/nccl_processes.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>

#include "netpipe/collectives/gpu_part.hpp"
#include "netpipe/collectives/nccl_runner.hpp"
#include "netpipe/collectives/process_service.hpp"
#include "netpipe/devices/cuda/second_process.hpp"
#include "netpipe/devices/host/watch.hpp"
#include "netpipe/process/child.hpp"
#include "netpipe/process/pipe.hpp"
#include "npgpu/error.hpp"

namespace npgpu::nccl {

// Where the processes wait for each other before each trial: memory that all see, so that they begin within a
// microsecond.
struct Meeting {
  std::atomic<std::uint32_t> come, number;

  void wait(std::uint32_t all, Seconds patience) {
    const std::uint32_t own = number.load();
    if (come.fetch_add(1) + 1 == all) {
      come = 0;
      number = own + 1;
      return;
    }
    const Seconds begin = steady_clock().now();
    while (number.load() == own)
      if (steady_clock().now() - begin > patience)
        throw Error(ErrorKind::failed, "another GPU's process did not come to begin a trial");
  }
};

namespace {

using process::Descriptor;
using process::get;
using process::put;

// In the processes; standard output stays free for what NCCL prints.
constexpr int requests = 3, replies = 4, shared = 5;

using collectives::PartReply;
using collectives::PartRequest;
using Wanted = PartRequest::Wanted;

Meeting* mapped(int file) {
  void* const memory = ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) throw Error(ErrorKind::failed, "memory that several processes see cannot be made");
  return static_cast<Meeting*>(memory);
}

}  // namespace

// One that this process started.
class OneProcess {
 public:
  OneProcess(const std::string& gpu, int file) : gpu_(gpu) {
    process::Pipe there, back;
    child_ =
        process::started({.words = {"npgpu", std::string(collectives::process_word)},
                          .given = {{there.read_end.get(), requests}, {back.write_end.get(), replies}, {file, shared}}},
                         "the process of " + gpu);
    cuda::count_as_second_process(child_.pid());
    host::count_as_own(child_.pid());
    to_ = std::move(there.write_end);
    from_ = std::move(back.read_end);
  }
  // At the end of its pipe one that is idle ends.
  void dismiss() { to_ = Descriptor(); }
  // One that has not ended some seconds later is killed.
  void await_end() {
    for (int i = 0; i < 200 && !child_.ended(); ++i) ::usleep(50'000);
  }
  void ask(const PartRequest& request) {
    if (!put(to_.get(), request)) fail();
  }
  bool has_answered() const { return process::is_readable(from_.get(), Seconds{0.002}); }
  PartReply answer() {
    PartReply reply;
    if (!get(from_.get(), reply)) fail();
    if (reply.error[0]) throw Error(ErrorKind::failed, fmt::format("in the process of {}, {}", gpu_, reply.error));
    return reply;
  }
  const std::string& gpu() const { return gpu_; }
  long pid() const { return child_.pid(); }

 private:
  [[noreturn]] void fail() {
    throw Error(ErrorKind::failed,
                fmt::format("the process of {} has ended before its time: {}", gpu_, child_.wait().text()));
  }

  std::string gpu_;
  process::Child child_;
  Descriptor to_, from_;
};

EachGpuRunner::EachGpuRunner(std::span<const Step<Collectives>> steps, Seconds patience)
    : gpus_(devices_of(steps.front().question)),
      bytes_(largest(steps)),
      buffers_(steps.front().question.buffers),
      patience_(patience),
      first_(cuda::ordinal_or_throw(gpus_.front()), false) {
  start();
}

EachGpuRunner::~EachGpuRunner() {
  // All are dismissed first: to leave the others, one may wait for them.
  for (const auto& one : processes_) one->dismiss();
  for (const auto& one : processes_) one->await_end();
}

void EachGpuRunner::start() {
  const Descriptor file(::memfd_create("npgpu", MFD_CLOEXEC));
  if (file.get() < 0 || ::ftruncate(file.get(), sizeof(Meeting)) != 0)
    throw Error(ErrorKind::failed, "memory that several processes see cannot be made");
  for (const std::string& gpu : gpus_) processes_.push_back(std::make_unique<OneProcess>(gpu, file.get()));
  PartRequest request;
  request.what = Wanted::open;
  request.ranks = static_cast<std::uint32_t>(gpus_.size());
  request.most_bytes = bytes_;
  request.buffers = buffers_;
  request.patience_s = patience_.count();
  (void)ask(request);
  request.what = Wanted::join;
  request.meeting = collectives::gpu_parts(gpus_.front()).meeting();
  (void)ask(request);
}

std::vector<PartReply> EachGpuRunner::ask(const PartRequest& wanted) {
  try {
    for (std::uint32_t i = 0; i < processes_.size(); ++i) {
      PartRequest request = wanted;
      request.rank = i;
      gpus_[i].copy(request.device, sizeof request.device - 1);
      processes_[i]->ask(request);
    }
    std::vector<std::optional<PartReply>> all(processes_.size());
    // Each of them ends by itself what hangs, but for calls that do not return.
    const Seconds patience = (wanted.what == Wanted::join ? patience_joining : 2 * patience_) + Seconds{10};
    const Seconds begin = steady_clock().now();
    for (std::size_t left = all.size(); left > 0;) {
      for (std::size_t i = 0; i < all.size(); ++i)
        if (!all[i] && processes_[i]->has_answered()) {
          all[i] = processes_[i]->answer();
          --left;
        }
      if (left > 0 && steady_clock().now() - begin > patience)
        for (std::size_t i = 0; i < all.size(); ++i)
          if (!all[i])
            throw Error(ErrorKind::failed,
                        fmt::format("the process of {} does not answer within {:.0f} s", gpus_[i], patience.count()));
    }
    std::vector<PartReply> replies_in_order;
    for (const auto& one : all) replies_in_order.push_back(*one);
    return replies_in_order;
  } catch (const Error&) {
    processes_.clear();  // which kills them
    throw;
  }
}

void EachGpuRunner::prepare(const Step<Collectives>& step) {
  if (processes_.empty()) start();
  step_ = step;
  seed_ += 0xD1B54A32D192ED03;
  (void)ask(collectives::preparing(step, seed_));
}

bool EachGpuRunner::run(std::uint64_t repeats, std::vector<CollectiveSample>& samples) {
  PartRequest request;
  request.what = Wanted::run;
  request.repeats = repeats;
  bool is_valid = true;
  std::uint32_t lane = 0;
  for (const PartReply& reply : ask(request)) {
    samples.push_back(reply.sample);
    samples.back().lane = lane++;
    is_valid = is_valid && reply.is_valid;
  }
  return is_valid;
}

void EachGpuRunner::warm_up(Seconds duration) {
  PartRequest request;
  request.what = Wanted::warm_up;
  request.repeats = 20;
  const Seconds begin = clock().now();
  while (clock().now() - begin < duration) (void)ask(request);
}

std::optional<std::string> EachGpuRunner::check(std::span<CollectiveSample> last_trial) {
  PartRequest request;
  request.what = Wanted::check;
  std::vector<collectives::WrongElements> found;
  for (const PartReply& reply : ask(request)) found.push_back(reply.wrong);
  return collectives::verdict_of(step_, found, last_trial);
}

std::uint64_t EachGpuRunner::max_repeats() const {
  return step_.question.timing == Timing::gated ? fits_behind_gate : 0;
}

long EachGpuRunner::pid(std::size_t gpu) const { return processes_.at(gpu)->pid(); }

// ---- in the process of one GPU -----------------------------------------------------------------------------------

class RankService final : public collectives::ProcessService {
 public:
  int serve() const override {
    std::signal(SIGINT, SIG_IGN);  // a terminal sends it to all; this one ends when the first closes the pipe
    std::signal(SIGTERM, SIG_IGN);
    std::unique_ptr<collectives::GpuPart> part;
    Meeting* meeting = nullptr;
    std::uint32_t ranks = 0;
    Seconds patience{0};
    for (PartRequest request; get(requests, request);) {
      const auto open = [&] {
        meeting = mapped(shared);
        ranks = request.ranks;
        patience = Seconds{request.patience_s};
        return collectives::gpu_parts(request.device).open(request, {}, {patience});
      };
      if (!put(replies, collectives::answer_of(part, request, open, [&] { meeting->wait(ranks, patience); }))) break;
    }
    return exit_code::done;
  }
};

}  // namespace npgpu::nccl

NPGPU_REGISTERED(collectives::ProcessService, npgpu::nccl::RankService)

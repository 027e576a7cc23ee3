#include "netpipe/devices/cuda/second_process.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "netpipe/devices/cuda/background_load.hpp"
#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/host/watch.hpp"
#include "netpipe/process/child.hpp"
#include "netpipe/process/pipe.hpp"
#include "npgpu/device.hpp"

namespace npgpu::cuda {

namespace {

using process::Descriptor;
using process::get;
using process::put;

enum class Wanted { allocate, free, work, rest, hold };

struct Request {
  Wanted what;
  std::int32_t ordinal = 0;
  std::uint64_t bytes = 0;
  std::uint64_t number = 0;  // of an allocation
  Beside beside = Beside::nobody;
};
struct Reply {
  cudaIpcMemHandle_t handle;
  std::uint64_t number;
  char error[256];  // empty: none
};

// How many operations the second process finished: memory that both see, so that to look takes it no time.
class Count {
 public:
  static constexpr int descriptor = 3;  // in the second process

  Count() : Count(Descriptor(::memfd_create("npgpu", MFD_CLOEXEC))) {}
  explicit Count(Descriptor file) : file_(std::move(file)) {
    const bool is_there = file_.get() >= 0 && ::ftruncate(file_.get(), sizeof(std::uint64_t)) == 0;
    void* const memory =
        is_there ? ::mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0)
                 : MAP_FAILED;
    if (memory == MAP_FAILED)
      throw Error(ErrorKind::failed, "memory that a second process sees as well cannot be made");
    count_ = static_cast<std::uint64_t*>(memory);
  }
  Count(const Count&) = delete;
  Count& operator=(const Count&) = delete;
  ~Count() { ::munmap(count_, sizeof(std::uint64_t)); }

  int file() const { return file_.get(); }
  void add(std::uint64_t n) { std::atomic_ref(*count_) += n; }
  std::uint64_t value() const { return std::atomic_ref(*count_); }

 private:
  Descriptor file_;
  std::uint64_t* count_ = nullptr;
};

// What this thread may run on; set again when it goes.
class Affinity {
 public:
  Affinity() { (void)::sched_getaffinity(0, sizeof cpus_, &cpus_); }
  void apply() const { (void)::sched_setaffinity(0, sizeof cpus_, &cpus_); }
  ~Affinity() { apply(); }

 private:
  cpu_set_t cpus_{};
};

// Of all that this process started, those that have ended too: what others did is asked of a driver that looks back.
std::set<long>& process_ids() {
  static std::set<long> all;
  return all;
}
std::mutex& process_ids_mutex() {
  static std::mutex one;
  return one;
}

class SecondProcess {
 public:
  SecondProcess() {
    // The second process inherits what its maker's thread may run on, which may be the one core where times are taken.
    static const Affinity of_the_first_time;
    const Affinity now;
    of_the_first_time.apply();
    process::Pipe there, back;
    child_ = process::started({.words = {"npgpu", std::string(devices::second_process_word)},
                               .given = {{there.read_end.get(), STDIN_FILENO},
                                         {back.write_end.get(), STDOUT_FILENO},
                                         {count_.file(), Count::descriptor}}},
                              "a second process");
    {
      const std::lock_guard lock(process_ids_mutex());
      process_ids().insert(child_.pid());
    }
    host::count_as_own(child_.pid());
    to_ = std::move(there.write_end);
    from_ = std::move(back.read_end);
  }
  ~SecondProcess() {
    to_ = Descriptor();  // at the end of this pipe it ends
    (void)child_.wait();
  }
  SecondProcess(const SecondProcess&) = delete;
  SecondProcess& operator=(const SecondProcess&) = delete;

  std::uint64_t done() const { return count_.value(); }
  Reply ask(const Request& request) {
    Reply reply{};
    if (!put(to_.get(), request) || !get(from_.get(), reply))
      fail_as(ErrorKind::failed, "the second process has ended before its time");
    if (reply.error[0]) fail_as(ErrorKind::failed, fmt::format("in the second process, {}", reply.error));
    return reply;
  }

  std::map<std::byte*, std::uint64_t> numbers;  // of its allocations that are mapped here

 private:
  Count count_;
  process::Child child_;
  Descriptor to_, from_;
};

std::mutex& mutex() {
  static std::mutex one;
  return one;
}
std::unique_ptr<SecondProcess>& second_process() {
  static std::unique_ptr<SecondProcess> one;
  return one;
}

}  // namespace

std::byte* allocate_in_second_process(int ordinal, std::uint64_t bytes) {
  const std::lock_guard lock(mutex());
  auto& process = second_process();
  if (!process) process = std::make_unique<SecondProcess>();
  const Reply reply = process->ask({.what = Wanted::allocate, .ordinal = ordinal, .bytes = bytes});
  make_current(ordinal);
  void* data = nullptr;
  check(cudaIpcOpenMemHandle(&data, reply.handle, cudaIpcMemLazyEnablePeerAccess),
        "mapping the memory of a second process (CUDA IPC)");
  auto* const memory = static_cast<std::byte*>(data);
  process->numbers[memory] = reply.number;
  return memory;
}

void free_in_second_process(std::byte* memory) noexcept {
  try {
    const std::lock_guard lock(mutex());
    auto& process = second_process();
    if (!process) return;
    complain(cudaIpcCloseMemHandle(memory), "giving back the memory of a second process");
    const auto found = process->numbers.find(memory);
    if (found == process->numbers.end()) return;
    (void)process->ask({.what = Wanted::free, .number = found->second});
    process->numbers.erase(found);
  } catch (const std::exception& e) {
    fmt::print(stderr, "npgpu: {}\n", e.what());
  }
}

void count_as_second_process(long pid) {
  const std::lock_guard lock(process_ids_mutex());
  process_ids().insert(pid);
}

bool is_second_process(long pid) {
  const std::lock_guard lock(process_ids_mutex());
  return process_ids().contains(pid);
}

namespace {

class CudaCompanion final : public Companion {
 public:
  explicit CudaCompanion(int ordinal) : ordinal_(ordinal) { work(Beside::idle); }
  void work(Beside beside) override {
    (void)process_.ask({.what = Wanted::work, .ordinal = ordinal_, .beside = beside});
  }
  void rest() override { (void)process_.ask({.what = Wanted::rest, .ordinal = ordinal_}); }
  void hold(std::uint64_t bytes) override {
    (void)process_.ask({.what = Wanted::hold, .ordinal = ordinal_, .bytes = bytes});
  }
  std::uint64_t done() const override { return process_.done(); }

 private:
  int ordinal_;
  SecondProcess process_;
};

// What the second process has and does.
class Service {
 public:
  // Fills the reply; throws Error.
  void answer(const Request& request, Reply& reply) {
    switch (request.what) {
      case Wanted::allocate: return allocate(request, reply);
      case Wanted::free: return free(request.number);
      case Wanted::work: return begin(request);
      case Wanted::rest: return end();
      case Wanted::hold: return hold(request);
    }
  }
  // What was begun goes on until there is something to read: a request, or the end of the first process.
  void go_on() {
    if (!now_) return;
    while (!process::is_readable(STDIN_FILENO, Seconds{0})) count_->add(now_->once());
  }

 private:
  void allocate(const Request& request, Reply& reply) {
    make_current(request.ordinal);
    void* data = nullptr;
    check(cudaMalloc(&data, request.bytes), fmt::format("allocating {} bytes of device memory", request.bytes));
    memory_[++last_] = data;
    reply.number = last_;
    check(cudaIpcGetMemHandle(&reply.handle, data), "sharing memory with another process (CUDA IPC)");
  }
  void free(std::uint64_t number) {
    const auto found = memory_.find(number);
    if (found == memory_.end()) return;
    check(cudaFree(found->second), "freeing device memory");
    memory_.erase(found);
  }
  void hold(const Request& request) {
    make_current(request.ordinal);
    check(cudaFree(std::exchange(held_, nullptr)), "freeing device memory");
    if (request.bytes)
      check(cudaMalloc(&held_, request.bytes), fmt::format("allocating {} bytes of device memory", request.bytes));
  }
  void begin(const Request& request) {
    make_current(request.ordinal);
    // Its waits leave the processor to others.
    check(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync), "asking for waits that sleep");
    if (!is_working(request.beside)) return check(cudaFree(nullptr), "making a context");
    if (!count_) count_.emplace(Descriptor(Count::descriptor));
    auto& deed = deeds_[request.beside];
    if (!deed) deed = deed_on(request.ordinal, request.beside);
    while (deed->once() == 0) {
    }
    now_ = deed.get();
  }
  void end() {
    if (now_) count_->add(now_->finish());
    now_ = nullptr;
  }

  std::map<std::uint64_t, void*> memory_;
  std::uint64_t last_ = 0;
  void* held_ = nullptr;
  std::optional<Count> count_;
  std::map<Beside, std::unique_ptr<BackgroundLoad>> deeds_;
  BackgroundLoad* now_ = nullptr;
};

}  // namespace

std::unique_ptr<Companion> companion_on(int ordinal) { return std::make_unique<CudaCompanion>(ordinal); }

int serve() {
  std::signal(SIGINT, SIG_IGN);  // a terminal sends it to both; this one ends when the other closes the pipe
  std::signal(SIGTERM, SIG_IGN);
  Service service;
  std::string failed;  // while it worked: the answer to the next request
  for (Request request{}; get(STDIN_FILENO, request);) {
    Reply reply{};
    try {
      if (!failed.empty()) throw Error(ErrorKind::failed, std::exchange(failed, {}));
      service.answer(request, reply);
    } catch (const std::exception& e) {
      std::strncpy(reply.error, e.what(), sizeof reply.error - 1);
    }
    if (!put(STDOUT_FILENO, reply)) break;
    try {
      service.go_on();
    } catch (const std::exception& e) {
      failed = e.what();
    }
  }
  return exit_code::done;
}

}  // namespace npgpu::cuda

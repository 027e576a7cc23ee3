#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/peers.hpp"
#include "netpipe/devices/host/watch.hpp"
#include "netpipe/process/child.hpp"
#include "netpipe/process/descriptor.hpp"
#include "npgpu/vocabulary/device.hpp"

namespace npgpu::cuda {

namespace {

using process::Descriptor;
using process::get;
using process::put;

enum class Wanted { allocate, free };

struct Request {
  Wanted what;
  std::int32_t ordinal = 0;
  std::uint64_t bytes = 0;
  std::uint64_t number = 0;  // of an allocation
};
struct Reply {
  cudaIpcMemHandle_t handle;
  std::uint64_t number;
  char error[256];  // empty: none
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

// The process that this one started, kept when it has ended: what others did is asked of a driver that looks back.
std::atomic<long> process_id{-1};

class SecondProcess {
 public:
  SecondProcess() {
    // The second process inherits what its maker's thread may run on, which may be the one core where times are taken.
    static const Affinity of_the_first_time;
    const Affinity now;
    of_the_first_time.apply();
    process::Pipe there, back;
    child_ = process::started({.words = {"npgpu", std::string(devices::second_process_word)},
                               .given = {{there.read_end.get(), STDIN_FILENO}, {back.write_end.get(), STDOUT_FILENO}}},
                              "a second process");
    process_id = child_.pid();
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

  Reply ask(const Request& request) {
    Reply reply{};
    if (!put(to_.get(), request) || !get(from_.get(), reply))
      fail_as(ErrorKind::failed, "the second process has ended before its time");
    if (reply.error[0]) fail_as(ErrorKind::failed, fmt::format("in the second process, {}", reply.error));
    return reply;
  }

  std::map<std::byte*, std::uint64_t> numbers;  // of its allocations that are mapped here

 private:
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

bool is_second_process(long pid) { return pid == process_id; }

namespace {

// What the second process has and does.
class Service {
 public:
  // Fills the reply; throws Error.
  void answer(const Request& request, Reply& reply) {
    switch (request.what) {
      case Wanted::allocate: return allocate(request, reply);
      case Wanted::free: return free(request.number);
    }
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

  std::map<std::uint64_t, void*> memory_;
  std::uint64_t last_ = 0;
};

}  // namespace

int serve() {
  std::signal(SIGINT, SIG_IGN);  // a terminal sends it to both; this one ends when the other closes the pipe
  std::signal(SIGTERM, SIG_IGN);
  Service service;
  for (Request request{}; get(STDIN_FILENO, request);) {
    Reply reply{};
    try {
      service.answer(request, reply);
    } catch (const std::exception& e) {
      std::strncpy(reply.error, e.what(), sizeof reply.error - 1);
    }
    if (!put(STDOUT_FILENO, reply)) break;
  }
  return exit_code::done;
}

}  // namespace npgpu::cuda

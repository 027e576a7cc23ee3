#include "netpipe/devices/cuda/second_process.hpp"

#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>

#include "netpipe/devices/cuda/check.hpp"
#include "npgpu/device.hpp"

namespace npgpu::cuda {

namespace {

struct Request {
  std::uint64_t bytes;   // 0: free `number`
  std::uint64_t number;  // of an allocation
  std::int32_t ordinal;
};
struct Reply {
  cudaIpcMemHandle_t handle;
  std::uint64_t number;
  char error[256];  // empty: none
};

// False where the other end is gone.
template <class T> bool put(int to, const T& value) {
  const auto* at = reinterpret_cast<const char*>(&value);
  for (std::size_t left = sizeof value; left > 0;) {
    const ssize_t n = ::write(to, at, left);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    left -= static_cast<std::size_t>(n);
  }
  return true;
}
template <class T> bool get(int from, T& value) {
  auto* at = reinterpret_cast<char*>(&value);
  for (std::size_t left = sizeof value; left > 0;) {
    const ssize_t n = ::read(from, at, left);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    left -= static_cast<std::size_t>(n);
  }
  return true;
}

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

struct Pipe {
  Pipe() : Pipe(made()) {}
  Descriptor read, write;

 private:
  struct Ends {
    int fds[2];
  };
  static Ends made() {
    Ends ends{};
    if (::pipe2(ends.fds, O_CLOEXEC)) throw Error(ErrorKind::failed, "a pipe to a second process cannot be made");
    return ends;
  }
  explicit Pipe(Ends ends) : read(ends.fds[0]), write(ends.fds[1]) {}
};

class SecondProcess {
 public:
  SecondProcess() {
    Pipe there, back;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, there.read.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, back.write.get(), STDOUT_FILENO);
    std::string name = "npgpu", word(devices::second_process_word);
    char* arguments[] = {name.data(), word.data(), nullptr};
    const int error = ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
      throw Error(ErrorKind::failed,
                  fmt::format("a second process cannot be started: {}", std::generic_category().message(error)));
    to_ = std::make_unique<Descriptor>(std::move(there.write));
    from_ = std::make_unique<Descriptor>(std::move(back.read));
  }
  ~SecondProcess() {
    to_->close();
    int status = 0;
    ::waitpid(pid_, &status, 0);
  }
  SecondProcess(const SecondProcess&) = delete;
  SecondProcess& operator=(const SecondProcess&) = delete;

  long pid() const { return pid_; }
  Reply ask(const Request& request) {
    Reply reply{};
    const auto before = std::signal(SIGPIPE, SIG_IGN);
    const bool answered = put(to_->get(), request) && get(from_->get(), reply);
    std::signal(SIGPIPE, before);
    if (!answered) throw Error(ErrorKind::failed, "the second process, whose memory was to be used, has ended");
    if (reply.error[0]) throw Error(ErrorKind::failed, fmt::format("in the second process, {}", reply.error));
    return reply;
  }

  std::map<std::byte*, std::uint64_t> numbers;  // of its allocations that are mapped here

 private:
  pid_t pid_ = 0;
  std::unique_ptr<Descriptor> to_, from_;
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
  const Reply reply = process->ask({.bytes = bytes, .number = 0, .ordinal = ordinal});
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
    (void)process->ask({.bytes = 0, .number = found->second, .ordinal = 0});
    process->numbers.erase(found);
  } catch (const std::exception& e) {
    fmt::print(stderr, "npgpu: {}\n", e.what());
  }
}

long second_process_id() {
  const std::lock_guard lock(mutex());
  return second_process() ? second_process()->pid() : 0;
}

int serve_memory() {
  std::signal(SIGINT, SIG_IGN);  // a terminal sends it to both; this one ends when the other closes the pipe
  std::signal(SIGTERM, SIG_IGN);
  std::map<std::uint64_t, void*> memory;
  std::uint64_t last = 0;
  for (Request request{}; get(STDIN_FILENO, request);) {
    Reply reply{};
    try {
      if (request.bytes) {
        make_current(request.ordinal);
        void* data = nullptr;
        check(cudaMalloc(&data, request.bytes), fmt::format("allocating {} bytes of device memory", request.bytes));
        memory[++last] = data;
        reply.number = last;
        check(cudaIpcGetMemHandle(&reply.handle, data), "sharing memory with another process (CUDA IPC)");
      } else if (const auto found = memory.find(request.number); found != memory.end()) {
        check(cudaFree(found->second), "freeing device memory");
        memory.erase(found);
      }
    } catch (const std::exception& e) {
      std::strncpy(reply.error, e.what(), sizeof reply.error - 1);
    }
    if (!put(STDOUT_FILENO, reply)) break;
  }
  return exit_code::done;
}

}  // namespace npgpu::cuda

// An application without a GPU, to be recorded: steps of a pageable copy, two kernels and a wait, as CUPTI would report
// them. fake_app [exit CODE] [kill] [fork] [slow] [none] [million]
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "fake_cupti.hpp"

namespace {

constexpr std::uint64_t us = 1000, ms = 1000 * us, epoch = 1'700'000'000'000'000'000;

// A step of 17.2 ms: the host copies from pageable memory for 10.1 ms, launches two kernels of 3.5 ms, and waits.
std::uint64_t step(std::uint64_t at, std::uint32_t number) {
  const std::uint32_t c = 10 * number;
  at += 20 * us + number % 3 * us;  // the application's own work
  fake::call({at, at + 10'110 * us, c}, 1);
  fake::copy({at + 10 * us, at + 10'100 * us, c}, 64ull << 20, 1, 3);
  at += 10'110 * us;
  fake::call({at, at + us, c + 1}, 0);  // of no interest
  fake::call({at + us, at + 6 * us, c + 2}, 2);
  fake::call({at + 2 * us, at + 5 * us, c + 3}, 5, true);  // the driver's, within the runtime's
  fake::kernel({at + 8 * us, at + 3508 * us, c + 3}, "_Z4axpyPfS_f", 4096, 256);
  fake::call({at + 10 * us, at + 14 * us, c + 4}, 2);
  fake::kernel({at + 3510 * us, at + 7010 * us, c + 4}, "a \"name\", with\nescapes \xff", 132, 1024);
  fake::call({at + 20 * us, at + 7020 * us, c + 5}, 3);
  fake::wait({at + 20 * us, at + 7020 * us, c + 5}, 3);
  return at + 7030 * us;
}

}  // namespace

int main(int count, char** words) {
  const auto has = [&](const char* word) {
    for (int i = 1; i < count; ++i)
      if (std::strcmp(words[i], word) == 0) return true;
    return false;
  };
  if (has("none")) return 0;
  pid_t child = -1;
  if (has("fork")) child = fork();  // before CUDA is used: each has a recording of its own
  fake::begin();
  std::uint64_t at = epoch + (child == 0 ? 5 * ms : 0);
  if (has("million"))
    for (std::uint32_t i = 0; i < 1'000'000; ++i)
      fake::kernel({at + i * us, at + i * us + 500, i + 1}, "_Z4axpyPfS_f", 1, 32);
  else
    for (std::uint32_t i = 1; i <= 20; ++i) at = step(at, i);
  fake::copy({0, 0, 1}, 8, 2, 3);  // without a time
  if (has("kill")) {
    usleep(800'000);  // long enough for what is complete to be written
    raise(SIGKILL);
  }
  if (has("crash")) {
    usleep(800'000);
    abort();
  }
  if (has("slow")) sleep(20);
  if (child > 0) waitpid(child, nullptr, 0);
  if (count > 2 && std::strcmp(words[1], "exit") == 0) return std::atoi(words[2]);
  return 0;
}

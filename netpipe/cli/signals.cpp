#include "netpipe/cli/signals.hpp"

#include <csignal>
#include <ctime>

namespace npgpu::cli {

namespace {

volatile std::sig_atomic_t stop = 0;
volatile std::sig_atomic_t save = 0;

// `timeout` and batch systems signal the process and then its group, so that one wish to stop comes twice. Who asks
// again after a second is in a hurry: the program ends at once.
void on_stop(int signal) {
  static volatile std::sig_atomic_t first_s = 0;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const auto second = static_cast<std::sig_atomic_t>(now.tv_sec);
  if (stop && second - first_s > 1) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  if (!stop) first_s = second;
  stop = 1;
}
void on_save(int) { save = 1; }

void install(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signal, &action, nullptr);
}

}  // namespace

void catch_signals() {
  // SA_RESTART: a checkpoint in progress must not fail with EINTR.
  install(SIGTERM, on_stop, SA_RESTART);
  install(SIGINT, on_stop, SA_RESTART);
  install(SIGXCPU, on_stop, SA_RESTART);  // the soft limit of processor time; the hard one ends the program
  struct sigaction hangup {};
  if (sigaction(SIGHUP, nullptr, &hangup) != 0 || hangup.sa_handler != SIG_IGN) install(SIGHUP, on_stop, SA_RESTART);
  install(SIGUSR1, on_save, SA_RESTART);
  install(SIGPIPE, SIG_IGN, 0);
  install(SIGXFSZ, SIG_IGN, 0);
}

bool stop_asked() { return stop != 0; }

bool save_asked() {
  if (!save) return false;
  save = 0;
  return true;
}

}  // namespace npgpu::cli

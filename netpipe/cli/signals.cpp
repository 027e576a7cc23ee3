#include "netpipe/cli/signals.hpp"

#include <csignal>

namespace npgpu::cli {

namespace {

volatile std::sig_atomic_t stop = 0;
volatile std::sig_atomic_t save = 0;

void on_stop(int) { stop = 1; }
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
  install(SIGTERM, on_stop, SA_RESTART | SA_RESETHAND);
  install(SIGINT, on_stop, SA_RESTART | SA_RESETHAND);
  struct sigaction hangup {};
  if (sigaction(SIGHUP, nullptr, &hangup) != 0 || hangup.sa_handler != SIG_IGN)
    install(SIGHUP, on_stop, SA_RESTART | SA_RESETHAND);
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

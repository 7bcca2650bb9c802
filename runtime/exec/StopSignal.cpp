//===- StopSignal.cpp - ending a run in good order ------------------------===//

#include "runtime/exec/StopSignal.h"

#include <ctime>

using namespace zerograph;

namespace {
volatile std::sig_atomic_t stop_requested = 0;
volatile std::sig_atomic_t seconds_of_request = 0;

std::sig_atomic_t secondsNow() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::sig_atomic_t(now.tv_sec);
}

/// A signal may come twice at once: `timeout` and a terminal's group send it
/// to the process and to its group. Only a later one means impatience.
extern "C" void requestStop(int number) {
  std::sig_atomic_t now = secondsNow();
  if (stop_requested == 0) {
    stop_requested = number;
    seconds_of_request = now;
  } else if (now - seconds_of_request > 1) {
    signal(number, SIG_DFL);
    raise(number);
  }
}
} // namespace

StopSignal::StopSignal() {
  stop_requested = 0;
  struct sigaction action = {};
  action.sa_handler = requestStop;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &action, &before[i]);
    // One that was to be ignored stays so: `nohup`, background jobs.
    if (before[i].sa_handler == SIG_IGN) {
      sigaction(kSignals[i], &before[i], nullptr);
    }
  }
}

StopSignal::~StopSignal() {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &before[i], nullptr);
  }
}

int StopSignal::number() { return stop_requested; }

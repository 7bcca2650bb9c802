//===- StopSignal.cpp - ending a run in good order ------------------------===//

#include "runtime/exec/StopSignal.h"

using namespace zerograph;

namespace {
volatile std::sig_atomic_t stop_requested = 0;

extern "C" void requestStop(int number) { stop_requested = number; }
} // namespace

StopSignal::StopSignal() {
  stop_requested = 0;
  struct sigaction action = {};
  action.sa_handler = requestStop;
  action.sa_flags = int(SA_RESETHAND) | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &interrupt_before);
  sigaction(SIGTERM, &action, &terminate_before);
  // One that was to be ignored stays so: `nohup`, background jobs.
  if (interrupt_before.sa_handler == SIG_IGN) {
    sigaction(SIGINT, &interrupt_before, nullptr);
  }
  if (terminate_before.sa_handler == SIG_IGN) {
    sigaction(SIGTERM, &terminate_before, nullptr);
  }
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &interrupt_before, nullptr);
  sigaction(SIGTERM, &terminate_before, nullptr);
}

int StopSignal::number() const { return stop_requested; }

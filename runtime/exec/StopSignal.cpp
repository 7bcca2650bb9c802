//===- StopSignal.cpp - ending a run in good order ------------------------===//

#include "runtime/exec/StopSignal.h"

using namespace zerograph;

namespace {
volatile std::sig_atomic_t stop_requested = 0;

extern "C" void requestStop(int) { stop_requested = 1; }
} // namespace

StopSignal::StopSignal() {
  stop_requested = 0;
  struct sigaction action = {};
  action.sa_handler = requestStop;
  action.sa_flags = int(SA_RESETHAND) | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &before);
}

StopSignal::~StopSignal() { sigaction(SIGINT, &before, nullptr); }

bool StopSignal::requested() const { return stop_requested != 0; }

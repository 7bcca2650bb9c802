//===- StopSignal.cpp - ending a run in good order ------------------------===//

#include "runtime/exec/StopSignal.h"

#include "runtime/io/NewFile.h"

#include <ctime>
#include <unistd.h>

using namespace zerograph;

namespace {
volatile std::sig_atomic_t stop_requested = 0;
volatile std::sig_atomic_t seconds_of_request = 0;
volatile std::sig_atomic_t says_so = 1;

std::sig_atomic_t secondsNow() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::sig_atomic_t(now.tv_sec);
}

/// Handles a signal. It may come twice at once: `timeout` and a terminal's
/// group send it to the process and to its group. Only a later one means
/// impatience.
extern "C" void requestStop(int number) {
  std::sig_atomic_t now = secondsNow();
  if (stop_requested == 0) {
    seconds_of_request = now; // first: a second signal may come in between
    stop_requested = number;
    // The text has a line of its own, whatever the terminal shows.
    constexpr char text[] = "\nnote: stopping after this step or the next; a "
                            "second signal ends at once and saves nothing\n";
    [[maybe_unused]] ssize_t written =
        says_so != 0 ? write(2, text, sizeof(text) - 1) : 0;
  } else if (now - seconds_of_request > 1) {
    removeTemporaries();
    signal(number, SIG_DFL);
    raise(number);
  }
}
} // namespace

StopSignal::StopSignal(bool speaks) {
  says_so = speaks;
  stop_requested = 0;
  struct sigaction action = {};
  action.sa_handler = requestStop;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &action, &before[i]);
    // A signal that was to be ignored stays so: `nohup`, background jobs.
    if (before[i].sa_handler == SIG_IGN) {
      sigaction(kSignals[i], &before[i], nullptr);
    }
  }
}

StopSignal::~StopSignal() {
  if (kept) {
    return;
  }
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &before[i], nullptr);
  }
}

void StopSignal::keep() {
  kept = true;
  says_so = 0;
}

int StopSignal::number() { return stop_requested; }

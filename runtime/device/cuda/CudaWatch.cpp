//===- CudaWatch.cpp - how far streams have come --------------------------===//

#include "runtime/device/cuda/CudaWatch.h"

#include <algorithm>
#include <sys/prctl.h>
#include <thread>

using namespace zerograph;

namespace {

/// Most steps are over soon: at first the thread looks without a break.
constexpr auto kEager = std::chrono::microseconds(200);
constexpr auto kPause = std::chrono::microseconds(50);

} // namespace

void CudaWatch::add(CUstream stream, CudaMark mark) {
  auto found =
      std::find_if(streams.begin(), streams.end(),
                   [&](const Marks &marks) { return marks.stream == stream; });
  if (found == streams.end()) {
    found = streams.insert(streams.end(), Marks{stream, {}});
  }
  found->marks.push_back(std::move(mark));
}

void CudaWatch::begin() {
  ahead = 0;
  for (Marks &marks : streams) {
    marks.recorded = marks.passed = 0;
  }
}

void CudaWatch::recorded(CUstream stream) {
  for (Marks &marks : streams) {
    if (marks.stream == stream) {
      ahead += marks.marks[marks.recorded++].given;
    }
  }
}

/// Returns, of the marks that are due, the one that comes first in the program.
const CudaMark *CudaWatch::firstDue() const {
  const CudaMark *first = nullptr;
  for (const Marks &marks : streams) {
    const CudaMark *due = marks.due();
    if (due && (!first || due->first < first->first)) {
      first = due;
    }
  }
  return first;
}

/// Goes past the marks that were passed; whether there were any.
absl::Status CudaWatch::look(bool &moved) {
  for (Marks &marks : streams) {
    while (const CudaMark *due = marks.due()) {
      CUresult result = api.cuEventQuery(due->event);
      if (result == CUDA_ERROR_NOT_READY) {
        for (Operation *operation : due->operations) {
          ZG_RETURN_IF_ERROR(operation->check());
        }
        break;
      }
      ZG_RETURN_IF_ERROR(cudaStatus(api, result, "cuEventQuery"));
      ahead -= due->given;
      ++marks.passed;
      moved = true;
    }
  }
  return absl::OkStatus();
}

CudaUndone CudaWatch::await(Clock::duration deadline, uint64_t most) {
  if (ahead <= most) {
    return {};
  }
  // By default the kernel may end a pause 50 us late.
  prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0);
  Clock::time_point last_move = Clock::now();
  while (ahead > most) {
    bool moved = false;
    absl::Status status = look(moved);
    Clock::time_point now = Clock::now();
    last_move = moved ? now : last_move;
    if (status.ok() && now - last_move > deadline) {
      status = absl::DeadlineExceededError(
          absl::StrCat("the GPU finished nothing for ",
                       std::chrono::duration<double>(deadline).count(), " s"));
    }
    if (!status.ok()) {
      return {status, firstDue()->first, firstDue()->last};
    }
    if (!moved && now - last_move > kEager) {
      std::this_thread::sleep_for(kPause);
    }
  }
  return {};
}
